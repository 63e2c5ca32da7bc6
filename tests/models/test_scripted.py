"""The scripted model plays its file exactly, so that tests and authors of clients can rely on it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pilothouse_agent.kernel.messages import ErrorInfo, ImageBlock, ThinkingBlock, ToolCall, Usage
from pilothouse_agent.kernel.request import Delta, Failed, Finished, ModelRequest, ToolSpec
from pilothouse_agent.models.scripted.provider import ScriptedModel
from support.asking import Seen, ask, assistant, failure, model_request, seen, tool_result, user

Write = Callable[..., str]


@pytest.fixture
def script(tmp_path: Path) -> Write:
    """Writes turns into a script and gives its model id."""

    def write(*turns: Any, name: str = "script.json") -> str:
        path = tmp_path / name
        path.write_text(json.dumps({"turns": turns}), encoding="utf-8")
        return f"scripted/{path}"

    return write


async def test_a_turn_gives_thinking_text_and_calls_in_this_order(script: Write) -> None:
    call = {"id": "c1", "name": "read_file", "arguments": {"path": "a.py"}}
    model = script({"thinking": "Hm.", "text": ["Reading ", "a.py"], "calls": [call, {"name": "now"}]})
    assert await ask(ScriptedModel(), model_request(model=model)) == [
        Delta("thinking", 0, "Hm."),
        Delta("text", 1, "Reading "),
        Delta("text", 1, "a.py"),
        Delta("toolCall", 2, "", "c1", "read_file"),
        Delta("toolCall", 2, '{"pat', "c1", "read_file"),
        Delta("toolCall", 2, 'h":"a', "c1", "read_file"),
        Delta("toolCall", 2, '.py"}', "c1", "read_file"),
        Delta("toolCall", 3, "", None, "now"),
        Delta("toolCall", 3, "{", None, "now"),
        Delta("toolCall", 3, "}", None, "now"),
        Finished("toolUse"),
    ]


TURNS: dict[str, tuple[Any, Seen]] = {
    "text": ({"text": "Done."}, Seen("Done.")),
    "nothing": ({}, Seen()),
    "one text many times": ({"text": "ab", "deltas": 3}, Seen("ababab")),
    "raw arguments": (
        {"calls": [{"name": "read", "argumentsText": '{"pa'}]},
        Seen(calls=(("", "read", '{"pa'),), end="toolUse"),
    ),
    "a label of its own": (
        {"calls": [{"name": "read"}], "stop": "length"},
        Seen(calls=(("", "read", "{}"),), end="length"),
    ),
    "usage": (
        {"text": "a", "usage": {"input": 9, "output": 2, "cacheRead": 4}},
        Seen("a", usage=Usage(input=9, output=2, cache_read=4)),
    ),
    "cut": ({"text": "a", "cut": True}, Seen("a", end="incompleteStream")),
    "cut inside arguments": (
        {"calls": [{"name": "write", "argumentsText": '{"path":"a","con'}], "cut": True},
        Seen(calls=(("", "write", '{"path":"a","con'),), end="incompleteStream"),
    ),
    "error first": ({"text": "a", "error": {"message": "no", "status": 401}}, Seen(end="auth")),
    "error after deltas": (
        {"thinking": "h", "text": ["a", "b"], "error": {"message": "no", "status": 500, "afterDeltas": 2}},
        Seen("a", "h", end="serverError"),
    ),
    "error without status": (
        {"error": {"message": "no", "code": "overloaded_error"}},
        Seen(end="overloaded"),
    ),
    "lone surrogates": ({"text": "a\ud83d"}, Seen("a\ufffd")),
}


@pytest.mark.covers("R097", "R098", "R161", "R185", "K73", "K74", "K76")
@pytest.mark.parametrize("name", TURNS)
async def test_a_turn_is_played_as_written(name: str, script: Write) -> None:
    turn, outcome = TURNS[name]
    assert seen(await ask(ScriptedModel(), model_request(model=script(turn)))) == outcome


@pytest.mark.covers("R160")
async def test_an_error_is_judged_as_a_providers_answer_would_be(script: Write) -> None:
    error = {"message": "slow down", "retryAfter": 3}
    model = script({"error": {**error, "status": 429}}, {"error": {**error, "code": "insufficient_quota"}})
    provider = ScriptedModel()
    first, second = [await ask(provider, model_request(model=model)) for _ in range(2)]
    assert first == [
        Failed(
            ErrorInfo(
                "rateLimit",
                "The scripted model answered 429: slow down."
                " Wait a while, or raise the limits of the account.",
                True,
                429,
                3,
            )
        )
    ]
    assert (failure(second).kind, failure(second).retry_after) == ("quota", None)


async def test_turns_follow_each_other_for_each_session_by_itself(script: Write) -> None:
    provider = ScriptedModel()
    model = script({"text": "1"}, {"text": "2", "repeat": 2}, {"error": {"message": "no"}}, {"text": "4"})
    ends: list[str] = []
    for session in "aabaaaab":
        heard = seen(await ask(provider, model_request(model=model, session_id=session)))
        ends.append(session + (heard.text or heard.end))
    assert ends == ["a1", "a2", "b1", "a2", "aserverError", "a4", "ainvalidRequest", "b2"]


async def test_a_request_beyond_the_last_turn_is_told_so(script: Write) -> None:
    provider, model = ScriptedModel(), script({"text": "1"})
    await ask(provider, model_request(model=model))
    error = failure(await ask(provider, model_request(model=model)))
    path = model.removeprefix("scripted/")
    text = f"The script {path} has ended: it has 1 turns, this was request 2."
    assert error == ErrorInfo("invalidRequest", text)


@pytest.mark.covers("R163", "K77")
async def test_a_stall_is_silent_until_the_idle_limit(script: Write) -> None:
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    provider = ScriptedModel(idle=120.0, sleep=sleep)
    model = script({"text": ["a", "b"], "delayMs": 500, "stall": True})
    events = await ask(provider, model_request(model=model))
    assert seen(events) == Seen("ab", end="timeout")
    assert (waited, failure(events).retryable) == ([0.5, 0.5, 120.0], True)


@pytest.mark.covers("R163")
async def test_a_stall_ends_at_once_when_it_is_cancelled(script: Write) -> None:
    stalled = asyncio.Event()

    async def sleep(seconds: float) -> None:
        stalled.set()
        await asyncio.Event().wait()

    model = script({"stall": True})
    reading = asyncio.create_task(ask(ScriptedModel(sleep=sleep), model_request(model=model)))
    async with asyncio.timeout(5):
        await stalled.wait()
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading


async def test_others_run_while_many_deltas_are_played(script: Write) -> None:
    model = script({"text": "a", "deltas": 1_000})
    ran: list[int] = []
    events: list[Any] = []

    async def other() -> None:
        while len(events) < 1_000:
            ran.append(len(events))
            await asyncio.sleep(0)

    bystander = asyncio.create_task(other())
    async for event in ScriptedModel().stream(model_request(model=model)):
        events.append(event)
    await bystander
    assert len(set(ran)) > 10


async def test_an_expectation_is_checked_against_the_request(script: Write) -> None:
    provider = ScriptedModel()
    model = script(
        {"text": "ok", "expect": {"contains": ["Hello", '"role":"user"'], "excludes": ["Bye"]}},
        {"text": "no", "expect": {"contains": ["Hello", "Bye"], "excludes": ["user"]}},
    )
    request = model_request(user("Hello"), model=model)
    assert seen(await ask(provider, request)) == Seen("ok")
    assert failure(await ask(provider, request)) == ErrorInfo(
        "invalidRequest",
        "Request 2 of the script was expected to contain 'Bye', which is missing;"
        " expected not to contain 'user', which is there.",
    )


BAD_SCRIPTS: dict[str, tuple[Any, str]] = {
    "unknown key": ({"turns": [{}, {"tetx": "a"}]}, 'turn 2: unknown key "tetx"'),
    "unknown key inside": (
        {"turns": [{"calls": [{"name": "a", "args": {}}]}]},
        'turn 1: unknown key "args" in calls.0',
    ),
    "unknown key outside": ({"turns": [], "tasks": []}, 'unknown key "tasks"'),
    "a wrong type": ({"turns": [{"text": 7}]}, "turn 1: text: Input should be a valid list"),
    "two forms of arguments": (
        {"turns": [{"calls": [{"name": "a", "arguments": {}, "argumentsText": ""}]}]},
        "turn 1: calls.0: give either arguments or argumentsText",
    ),
    "deltas without a text": ({"turns": [{"deltas": 3}]}, "turn 1: deltas needs a text that is one string"),
    "two endings": (
        {"turns": [{"cut": True, "stall": True}]},
        "turn 1: error, cut and stall exclude each other",
    ),
    "no turns": ({}, "turns: Field required"),
    "not an object": ([], "an object is expected"),
}


@pytest.mark.parametrize("name", BAD_SCRIPTS)
async def test_a_script_that_cannot_be_played_is_told_where(name: str, tmp_path: Path) -> None:
    content, problem = BAD_SCRIPTS[name]
    path = tmp_path / "bad.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    error = failure(await ask(ScriptedModel(), model_request(model=f"scripted/{path}")))
    assert error == ErrorInfo("invalidRequest", f"The script {path} cannot be played: {problem}.")


async def test_a_script_that_is_no_json_or_not_there_is_told_so(tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    path.write_text('{"turns": [}', encoding="utf-8")
    broken = failure(await ask(ScriptedModel(), model_request(model=f"scripted/{path}")))
    absent = failure(await ask(ScriptedModel(), model_request(model=f"scripted/{tmp_path / 'none'}")))
    assert (broken.kind, absent.kind) == ("invalidRequest", "invalidRequest")
    assert broken.message.startswith(f"The script {path} cannot be played: it is not valid JSON: ")
    assert absent.message == (
        f"The script {tmp_path / 'none'} cannot be played: it cannot be read: No such file or directory."
    )


async def test_every_request_is_logged_in_neutral_form(script: Write, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    model = script({"text": "ok"})
    tools = (ToolSpec("now", "The time.", {"type": "object"}, guidance="g"),)
    thought = ThinkingBlock("Hm.", "sig", None, "anthropic")
    turn = assistant(
        thought, "Yes", ToolCall("c1", "now", {}), ToolCall("c2", "x", None, "{", {}), stop="toolUse"
    )
    result = tool_result("c1", "9:00", ImageBlock("image/png", "iVBO"), name="now")
    request = model_request(user("Hi"), turn, result, model=model, system="Be brief.", tools=tools)
    provider = ScriptedModel(log=log)
    await ask(provider, request)
    await ask(provider, ModelRequest("s2", "summary", model, "", (), ()))

    lines = [json.loads(line) for line in log.read_bytes().splitlines()]
    assert lines == [
        {
            "sessionId": "s1",
            "purpose": "turn",
            "model": model,
            "system": "Be brief.",
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "Hi"}]},
                {
                    "role": "assistant",
                    "content": [
                        {"type": "thinking", "text": "Hm.", "signature": "sig", "origin": "anthropic"},
                        {"type": "text", "text": "Yes"},
                        {"type": "toolCall", "id": "c1", "name": "now", "arguments": {}},
                        {"type": "toolCall", "id": "c2", "name": "x", "argumentsText": "{", "extra": {}},
                    ],
                    "stopReason": "toolUse",
                },
                {
                    "role": "toolResult",
                    "content": [
                        {"type": "text", "text": "9:00"},
                        {"type": "image", "mediaType": "image/png", "data": "iVBO"},
                    ],
                    "toolCallId": "c1",
                    "toolName": "now",
                    "isError": False,
                },
            ],
            "tools": [{"name": "now", "description": "The time.", "parameters": {"type": "object"}}],
        },
        {"sessionId": "s2", "purpose": "summary", "model": model, "system": "", "messages": [], "tools": []},
    ]  # fmt: skip


async def test_a_log_that_cannot_be_written_is_told_so(script: Write, tmp_path: Path) -> None:
    provider = ScriptedModel(log=tmp_path)
    error = failure(await ask(provider, model_request(model=script({"text": "a"}))))
    assert error == ErrorInfo(
        "invalidRequest", f"The script log {tmp_path} cannot be written: Is a directory."
    )
