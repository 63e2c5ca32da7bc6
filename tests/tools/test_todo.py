"""The todo list and its two tools."""

from __future__ import annotations

import pytest

from pilothouse_agent.kernel.events import Todo, TodoUpdate
from pilothouse_agent.kernel.json_types import JsonObject
from pilothouse_agent.kernel.messages import TextBlock
from pilothouse_agent.kernel.ports import Tool, ToolContext
from pilothouse_agent.kernel.tooling import InvalidArguments, ToolError, ToolResult, Violation
from pilothouse_agent.tools.planning.complete_step import CompleteStepTool
from pilothouse_agent.tools.planning.todo_write import TodoWriteTool
from pilothouse_agent.tools.planning.todos import TodoList
from support.kernel import asks, bench, says
from support.kernel import call as wanted

READ, EDIT, CHECK = "Read the parser", "Edit the parser", "Run the check"


@pytest.fixture
def todos() -> TodoList:
    return TodoList([Todo(READ, "completed"), Todo(EDIT, "in_progress"), Todo(CHECK, "pending")])


async def call(tool: Tool, context: ToolContext, arguments: JsonObject) -> ToolResult:
    return await tool.bind(arguments).execute(context)


async def test_writing_replaces_the_list_and_shows_it(todos: TodoList, context: ToolContext) -> None:
    items: JsonObject = {"todos": [{"content": "a", "status": "in_progress"}, {"content": "b"}]}
    written = (Todo("a", "in_progress"), Todo("b", "pending"))

    assert await call(TodoWriteTool(todos), context, items) == ToolResult(
        (TextBlock("The list is written. 2 of 2 steps are unfinished."),), effects=(TodoUpdate(written),)
    )
    assert todos.todos == written
    assert todos.unfinished() == ["a", "b"]


@pytest.mark.covers("T5")
async def test_a_list_given_as_json_text_is_taken(todos: TodoList, context: ToolContext) -> None:
    await call(TodoWriteTool(todos), context, {"todos": '[{"content": "a", "status": "completed"}]'})

    assert todos.todos == (Todo("a", "completed"),)


@pytest.mark.covers("T5")
def test_every_violation_of_a_list_is_named(todos: TodoList) -> None:
    with pytest.raises(InvalidArguments) as refused:
        TodoWriteTool(todos).bind({"todos": [{"content": ""}, {"content": "a", "status": "done"}]})

    assert [violation.path for violation in refused.value.violations] == ["todos.0.content", "todos.1.status"]


@pytest.mark.parametrize(
    "step", [{"content": EDIT}, {"content": " edit THE  parser"}, {"index": 2}, {"index": "2"}]
)
async def test_a_step_is_completed_by_content_or_number(
    todos: TodoList, context: ToolContext, step: JsonObject
) -> None:
    left = (Todo(READ, "completed"), Todo(EDIT, "completed"), Todo(CHECK, "pending"))

    assert await call(CompleteStepTool(todos), context, step) == ToolResult(
        (TextBlock("Completed: Edit the parser. 1 of 3 steps are unfinished."),), effects=(TodoUpdate(left),)
    )
    assert todos.unfinished() == [CHECK]


async def test_of_equal_steps_the_open_one_is_completed(context: ToolContext) -> None:
    todos = TodoList([Todo("Test", "completed"), Todo("Test", "pending")])
    await call(CompleteStepTool(todos), context, {"content": "Test"})

    assert todos.unfinished() == []


@pytest.mark.parametrize(
    ("step", "named"), [({"content": "Dance"}, "step 'Dance'"), ({"index": 4}, "step 4")]
)
async def test_an_unknown_step_is_an_error_that_lists_the_open_ones(
    todos: TodoList, context: ToolContext, step: JsonObject, named: str
) -> None:
    with pytest.raises(ToolError) as refused:
        await call(CompleteStepTool(todos), context, step)

    assert str(refused.value) == (
        f"There is no {named}. The open steps are:\n2. Edit the parser\n3. Run the check"
    )


async def test_completing_without_a_list_says_how_to_get_one(context: ToolContext) -> None:
    with pytest.raises(
        ToolError, match=r"^There is no step 1\. No step is open; write a list with todo_write"
    ):
        await call(CompleteStepTool(TodoList()), context, {"index": 1})


@pytest.mark.parametrize("step", [{}, {"content": "a", "index": 1}])
def test_a_step_is_named_in_exactly_one_way(todos: TodoList, step: JsonObject) -> None:
    with pytest.raises(InvalidArguments) as refused:
        CompleteStepTool(todos).bind(step)

    assert refused.value.violations == (Violation("", "give either content or index"),)


@pytest.mark.covers("R158")
async def test_a_finished_list_is_no_longer_told_to_the_model(todos: TodoList, context: ToolContext) -> None:
    tool = CompleteStepTool(todos)
    await call(tool, context, {"content": EDIT})
    assert todos.shown() == (
        "1. [completed] Read the parser\n2. [completed] Edit the parser\n3. [pending] Run the check"
    )
    last = await call(tool, context, {"content": CHECK})

    assert last.content == (TextBlock("Completed: Run the check. Nothing is unfinished."),)
    assert todos.unfinished() == []


def test_advice_on_todos_comes_with_the_tool_that_writes_them(todos: TodoList) -> None:
    assert "complete_step" in TodoWriteTool(todos).spec.guidance
    assert CompleteStepTool(todos).spec.guidance == ""


LIST = "1. [completed] Read the parser\n2. [in_progress] Edit the parser\n3. [pending] Run the check"


async def result_of(tool: Tool, arguments: JsonObject) -> str:
    """What the model reads of one call."""
    turns = [asks(wanted("c1", tool.spec.name, arguments)), says("ok")]
    b = bench(*turns, tools=[tool])
    await b.run("Hi")
    return b.shown[2].removeprefix("R c1:")


@pytest.mark.covers("R248")
@pytest.mark.parametrize(
    "items",
    [
        {"todos": [{"content": "", "status": "pending"}]},
        {"todos": [{"content": "a", "status": "done"}]},
        {"todos": "first this, then that"},
        {},
    ],
)
async def test_an_invalid_list_is_refused_together_with_the_list_that_stays(
    todos: TodoList, items: JsonObject
) -> None:
    before = todos.todos

    said = await result_of(TodoWriteTool(todos), items)

    assert said.startswith("The arguments do not fit todo_write, which did not run:\n- todos")
    assert said.endswith(f"\nThe list is now:\n{LIST}!")
    assert todos.todos == before


@pytest.mark.covers("R248")
@pytest.mark.parametrize("step", [{}, {"content": "a", "index": 1}, {"index": 0}, {"index": "two"}])
async def test_a_step_named_wrongly_is_refused_together_with_the_list(
    todos: TodoList, step: JsonObject
) -> None:
    assert (await result_of(CompleteStepTool(todos), step)).endswith(f"\nThe list is now:\n{LIST}!")


@pytest.mark.covers("R248")
async def test_without_a_list_an_error_says_so() -> None:
    said = await result_of(TodoWriteTool(TodoList()), {})

    assert said.endswith("\nThere is no list now.!")


@pytest.mark.covers("R248")
async def test_more_than_one_step_in_progress_is_told_with_the_list(todos: TodoList) -> None:
    items: JsonObject = {"todos": [{"content": name, "status": "in_progress"} for name in ("a", "b")]}

    assert await result_of(TodoWriteTool(todos), items) == (
        "The list is written. 2 of 2 steps are unfinished.\n"
        "2 steps are in progress; work on one at a time.\n"
        "The list is now:\n1. [in_progress] a\n2. [in_progress] b"
    )


@pytest.mark.covers("R248")
async def test_open_steps_that_cannot_be_told_apart_are_told_with_the_list(todos: TodoList) -> None:
    items: JsonObject = {"todos": [{"content": "Test"}, {"content": " test"}, {"content": "a"}]}

    assert await result_of(TodoWriteTool(todos), items) == (
        "The list is written. 3 of 3 steps are unfinished.\n"
        "Some open steps have the same content; name them by number.\n"
        "The list is now:\n1. [pending] Test\n2. [pending]  test\n3. [pending] a"
    )


@pytest.mark.covers("R248")
async def test_a_step_that_was_completed_before_is_told_with_the_list(todos: TodoList) -> None:
    assert await result_of(CompleteStepTool(todos), {"index": 1}) == (
        f"It was completed already: Read the parser.\nThe list is now:\n{LIST}\n"
        "As before, 2 of 3 steps are unfinished."
    )


@pytest.mark.covers("R248")
async def test_an_unknown_step_of_a_finished_list_shows_what_was_done() -> None:
    said = await result_of(CompleteStepTool(TodoList([Todo("a", "completed")])), {"index": 2})

    assert said == (
        "There is no step 2. No step is open; write a list with todo_write first.\n"
        "The list is now:\n1. [completed] a!"
    )
