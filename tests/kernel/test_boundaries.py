"""What the kernel may know of, and how it is extended (B1, B2, B4, B5), read from its source."""

from __future__ import annotations

import ast
import inspect
import sys
from pathlib import Path

import pytest

import pilothouse_agent.kernel
from pilothouse_agent.kernel import errors, events, messages
from pilothouse_agent.kernel.hooks import Hooks

FOLDER = Path(pilothouse_agent.kernel.__path__[0])
MODULES = {path.stem: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.py"))}
KERNEL = "pilothouse_agent.kernel."
CONTRACTS = {
    "abort",
    "errors",
    "events",
    "foreign",
    "hooks",
    "json_types",
    "messages",
    "ports",
    "questions",
    "request",
    "snapshot",
    "tooling",
}
"""What others write against: nouns, seams, and the abort signal with what it guards its callbacks by."""


def imports(module: str) -> set[str]:
    """The modules it names in its imports, in full."""
    found: set[str] = set()
    for node in ast.walk(MODULES[module]):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} has a relative import"
            found.add(node.module or "")
    return found


def kernel_imports(module: str) -> set[str]:
    return {name.removeprefix(KERNEL) for name in imports(module) if name.startswith(KERNEL)}


def attributes(module: str) -> set[str]:
    """Whatever it looks up on anything."""
    return {node.attr for node in ast.walk(MODULES[module]) if isinstance(node, ast.Attribute)}


@pytest.mark.covers("B2")
@pytest.mark.parametrize("module", list(MODULES))
def test_the_kernel_imports_itself_and_the_standard_library_only(module: str) -> None:
    foreign = {
        name
        for name in imports(module)
        if not name.startswith(KERNEL) and name.partition(".")[0] not in sys.stdlib_module_names
    }

    assert foreign == set()


@pytest.mark.covers("B5")
@pytest.mark.parametrize("module", sorted(CONTRACTS))
def test_a_contract_knows_other_contracts_and_nothing_of_what_fulfils_them(module: str) -> None:
    assert kernel_imports(module) - CONTRACTS == set()


@pytest.mark.covers("B2")
def test_no_product_fact_is_in_its_messages_and_events() -> None:
    fields = {name for module in (messages, events) for name in vars(module)}

    assert not {name for name in fields if "theme" in name.lower() or "history" in name.lower()}


@pytest.mark.covers("B1")
def test_what_runs_tools_cannot_reach_the_provider_nor_the_transcript() -> None:
    for module in ("executor", "prepare", "body", "schedule"):
        assert not kernel_imports(module) & {"request", "reply", "pump", "transcript", "loop", "agent"}
        assert not attributes(module) & {"provider", "transcript", "config", "store"}


@pytest.mark.covers("B1", "B4")
def test_what_publishes_events_knows_nothing_else_of_the_agent() -> None:
    assert kernel_imports("bus") == {"events", "foreign"}


@pytest.mark.covers("B1")
def test_the_facts_are_kept_by_one_part_that_drives_none_of_the_others() -> None:
    assert not kernel_imports("state") & {"loop", "agent", "executor", "bus", "reply", "ports"}


@pytest.mark.covers("B5")
def test_nothing_of_the_kernel_is_made_to_be_subclassed() -> None:
    allowed = {"Protocol", "NamedTuple", "Exception", "ToolError", *errors.__all__}
    bases = {
        f"{module}.{node.name}({ast.unparse(base)})": ast.unparse(base)
        for module, tree in MODULES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for base in node.bases
    }
    implemented = {"ToolContext(WriteScope)"}

    assert {
        name for name, base in bases.items() if base not in allowed and name.split(".")[1] not in implemented
    } == set()


@pytest.mark.covers("B4")
def test_listeners_and_hooks_are_given_to_the_agent_in_two_ways() -> None:
    assert list(inspect.signature(Hooks).parameters) == [
        "transform_context",
        "convert_to_llm",
        "before_tool_call",
        "after_tool_result",
        "should_stop_after_turn",
    ]
    assert "hooks" not in kernel_imports("bus")
