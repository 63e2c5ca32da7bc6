"""Permissions in the settings: layers, trust, mistakes."""

from __future__ import annotations

import pytest

from pilothouse_agent.kernel.json_types import JsonObject
from pilothouse_agent.permissions.layers import Layer, PermissionSource
from pilothouse_agent.permissions.permission_config import pipeline_from
from pilothouse_agent.permissions.pipeline import Pipeline
from support.judging import HOME, TOOLS, WORKSPACE, command, touching, verdict

READ = touching("read_file", "read", reads="a")
GREP = touching("grep", "search", reads="a")


def _made(layers: dict[Layer, JsonObject], *, trusted: bool = True) -> tuple[Pipeline, list[str]]:
    sources = [PermissionSource(layer, config) for layer, config in layers.items()]
    return pipeline_from(sources, folders=[WORKSPACE], tools=TOOLS, trusted=trusted, home=HOME)


@pytest.mark.covers("R091")
def test_a_trusted_project_allows_tools_by_name_though_the_user_is_otherwise_asked() -> None:
    made, warnings = _made(
        {
            Layer.USER: {"tools": {"*": "ask"}},
            Layer.PROJECT: {"tools": {"read_file": "allow", "grep": "allow"}},
        }
    )
    assert [made.judge(call).decision for call in (READ, GREP)] == ["allow", "allow"]
    assert made.judge(touching("glob_file", "search", reads="a")).decision == "ask"
    assert warnings == []


@pytest.mark.covers("R091")
def test_a_project_that_is_not_trusted_forbids_but_does_not_allow() -> None:
    project: JsonObject = {
        "tools": {"read_file": "allow", "grep": "deny"},
        "commands": {"make": "allow"},
        "readOnlyCommands": "allow",
    }
    layers: dict[Layer, JsonObject] = {
        Layer.USER: {"tools": {"read_file": "ask"}},
        Layer.PROJECT: project,
    }
    made, warnings = _made(layers, trusted=False)
    assert [made.judge(call).decision for call in (READ, GREP)] == ["ask", "deny"]
    assert verdict(made, "make", "ls") == {"make": "ask", "ls": "ask"}
    assert warnings == [
        "The project settings allow read_file, make, readOnlyCommands; that is ignored because this "
        "workspace is not trusted. Trust the workspace to make it count."
    ]


@pytest.mark.covers("R091", "P1")
@pytest.mark.parametrize("denying", Layer)
def test_a_deny_of_any_layer_holds(denying: Layer) -> None:
    layers: dict[Layer, JsonObject] = {layer: {"commands": {"*": "allow"}} for layer in Layer}
    made, _ = _made({**layers, denying: {"commands": {"rm": "deny"}}})
    assert verdict(made, "rm a", "ls") == {"rm a": "deny", "ls": "allow"}


@pytest.mark.covers("R091")
def test_the_nearest_layer_with_a_rule_decides_between_ask_and_allow() -> None:
    layers: dict[Layer, JsonObject] = {
        Layer.USER: {"commands": {"make": "allow", "ls": "ask", "cat": "allow"}},
        Layer.PROJECT: {"commands": {"make": "ask", "ls": "allow"}},
    }
    made, _ = _made(layers)
    assert verdict(made, "make", "ls", "cat") == {"make": "ask", "ls": "allow", "cat": "allow"}
    made, _ = _made({**layers, Layer.COMMAND_LINE: {"commands": {"make": "allow"}}})
    assert verdict(made, "make") == {"make": "allow"}


def test_a_rule_for_a_command_comes_before_one_for_its_tool() -> None:
    made, _ = _made({Layer.USER: {"tools": {"bash": "ask"}, "commands": {"ls": "allow"}}})
    assert verdict(made, "ls a", "make") == {"ls a": "allow", "make": "ask"}
    made, _ = _made({Layer.USER: {"tools": {"bash": "allow"}, "commands": {"make": "ask"}}})
    assert verdict(made, "ls a > b", "make", "$x") == {"ls a > b": "allow", "make": "ask", "$x": "ask"}


@pytest.mark.covers("R091")
def test_what_has_no_effect_is_reported_and_the_rest_counts() -> None:
    user: JsonObject = {
        "tools": {"read_fil": "deny", "mcp_*": "deny", "grep": "never"},
        "commands": {"make 'x": "allow", "": "deny", "ls": "allow"},
        "paths": {"[z-a]": "deny", "b": {"execute": "deny"}},
        "path": {},
        "readOnlyCommands": True,
    }
    made, warnings = _made({Layer.USER: user, Layer.EDITOR: {"tools": ["read_file"]}})
    assert verdict(made, "ls") == {"ls": "allow"}
    assert warnings == [
        f"In the user settings, permissions.{what}"
        for what in (
            "tools.read_fil: there is no such tool. Did you mean read_file or edit_file?",
            "tools.grep: expected allow, ask or deny.",
            "commands.make 'x: it has a quote that is not closed.",
            "commands.: a pattern for commands needs at least one word.",
            "paths.[z-a]: it has a range of characters that runs backwards.",
            "paths.b: expected allow, ask or deny.",
            "path: there is no such section. Did you mean paths?",
            "readOnlyCommands: expected allow or ask.",
        )
    ] + ["In the editor settings, permissions.tools: expected a table from names to allow, ask or deny."]


def test_the_reason_for_asking_names_the_rule_and_its_layer() -> None:
    made, _ = _made({Layer.PROJECT: {"commands": {"make": "ask"}}})
    assert made.judge(command("make")).reason == "The project rule for commands `make` asks for approval."
