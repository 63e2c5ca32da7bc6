"""Settings: keys, layers, spellings, and input that is wrong."""

from __future__ import annotations

import math
import re
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pilothouse_agent.kernel.json_types import JsonValue
from pilothouse_agent.permissions.approval_mode import ApprovalMode
from pilothouse_agent.permissions.layers import Layer, PermissionSource
from pilothouse_agent.settings.keys import KEYS, from_environment, parse_assignment
from pilothouse_agent.settings.layered import merged, with_values
from pilothouse_agent.settings.settings import Settings
from pilothouse_agent.settings.toml_file import load_file

DEFAULTS = {
    "model": None,
    "thinking": "off",
    "mode": "ask",
    "run.maxTurns": 100,
    "run.guardBlocks": 3,
    "run.resumes": 3,
    "retry.attempts": 3,
    "retry.baseDelay": 2,
    "retry.maxDelay": 60,
    "retry.maxRetryAfter": 300,
    "model.connectTimeout": 15,
    "model.idleTimeout": 120,
    "tools.parallel": 8,
    "tools.grace": 5,
    "tools.writeLimit": 30,
    "tools.bashTimeout": 120,
    "tools.outputLines": 2000,
    "tools.outputBytes": 51200,
    "tools.schemasInPrompt": False,
    "events.listenerLimit": 30,
    "queue.steering": "one",
    "queue.followUp": "one",
    "edits.closedFiles": "auto",
    "files.encodings": None,
    "approvals.dialog": "auto",
    "trust.folders": (),
    "providers": None,
    "permissions": (),
    "hooks": None,
}


def test_every_key_has_a_field_and_its_default() -> None:
    assert {key.name: getattr(Settings(), key.field) for key in KEYS.values()} == DEFAULTS
    assert {key.field for key in KEYS.values()} == {field.name for field in fields(Settings)}


def test_dotted_and_nested_keys_mean_the_same() -> None:
    dotted: dict[str, JsonValue] = {"run.maxTurns": 5, "queue.steering": "all", "retry.baseDelay": 0.5}
    nested: dict[str, JsonValue] = {
        "run": {"maxTurns": 5},
        "queue": {"steering": "all"},
        "retry": {"baseDelay": 0.5},
    }
    expected = Settings(run_max_turns=5, queue_steering="all", retry_base_delay=0.5)
    assert with_values(Settings(), dotted) == (expected, [])
    assert with_values(Settings(), nested) == (expected, [])


def test_a_section_for_models_can_name_the_model_too() -> None:
    changed = with_values(Settings(), {"model": {"id": "openai/x", "idleTimeout": 9}})
    assert changed == (Settings(model="openai/x", model_idle_timeout=9), [])


def test_values_get_their_types() -> None:
    changed, problems = with_values(Settings(), {"mode": "edits", "run.maxTurns": 5.0, "tools.grace": 1})
    assert problems == []
    assert (changed.mode, changed.run_max_turns, changed.tools_grace) == (ApprovalMode.EDITS, 5, 1.0)
    assert [type(v) for v in (changed.run_max_turns, changed.tools_grace)] == [int, float]


def test_null_counts_as_absent() -> None:
    assert with_values(Settings(), {"run": None, "model": None, "tools": {"grace": None}}) == (Settings(), [])


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("run.maxTurns", "many", 'expected a whole number, 1 or more, got "many". It stays 100.'),
        ("run.maxTurns", 0, "expected a whole number, 1 or more, got 0. It stays 100."),
        ("run.maxTurns", 2.5, "expected a whole number, 1 or more, got 2.5. It stays 100."),
        ("run.maxTurns", True, "expected a whole number, 1 or more, got true. It stays 100."),
        ("run.maxTurns", math.inf, "expected a whole number, 1 or more, got Infinity. It stays 100."),
        ("run.maxTurns", math.nan, "expected a whole number, 1 or more, got NaN. It stays 100."),
        ("tools.grace", 0, "expected a time in seconds, more than 0, got 0. It stays 5."),
        ("tools.grace", -1, "expected a time in seconds, more than 0, got -1. It stays 5."),
        ("tools.grace", math.inf, "expected a time in seconds, more than 0, got Infinity. It stays 5."),
        ("tools.grace", math.nan, "expected a time in seconds, more than 0, got NaN. It stays 5."),
        pytest.param(
            "tools.grace",
            10**5000,
            "expected a time in seconds, more than 0, got a huge number. It stays 5.",
            id="huge",
        ),
        ("queue.steering", "some", 'expected one of one, all, got "some". It stays one.'),
        (
            "mode",
            "readonly",
            'expected one of none, readOnly, ask, edits, all, got "readonly". It stays ask.',
        ),
        ("model", "gpt", 'expected a model as provider/model, got "gpt". It stays unset.'),
        ("providers", ["secret"], "expected an object, got a list. It is ignored."),
        ("run", 5, "there is no such setting."),
        ("run.maxTurn", 5, "there is no such setting. Did you mean run.maxTurns?"),
        ("hoks", {}, "there is no such setting. Did you mean hooks?"),
    ],
)
def test_a_value_that_cannot_be_taken_is_reported_and_the_old_one_stays(
    name: str, value: JsonValue, problem: str
) -> None:
    changed, problems = with_values(Settings(), {name: value, "run.resumes": 7})
    assert (changed, problems) == (Settings(run_resumes=7), [f"{name}: {problem}"])


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text() | st.sampled_from(sorted(KEYS)), inner)
    ),
    max_leaves=10,
)


@pytest.mark.slow
@given(values=st.dictionaries(st.sampled_from([*KEYS, "run", "model", "x"]) | st.text(), _JSON))
@settings(max_examples=60, deadline=None)
def test_nothing_in_the_values_stops_anything(values: dict[str, JsonValue]) -> None:
    changed, problems = with_values(Settings(), values)
    assert changed.run_max_turns >= 1
    assert all(0 < getattr(changed, KEYS[name].field) < math.inf for name in KEYS if name.endswith("Timeout"))
    assert all(problem.endswith((".", "?")) for problem in problems)


def test_the_command_line_wins_over_editor_environment_project_and_user() -> None:
    layers = {layer: {"run.maxTurns": int(layer)} for layer in Layer}
    seen: list[int] = []
    for layer in sorted(Layer, reverse=True):
        result, problems = merged({**layers}, trusted=True)
        assert problems == []
        seen.append(result.run_max_turns)
        del layers[layer]
    assert seen == [Layer.COMMAND_LINE, Layer.EDITOR, Layer.ENVIRONMENT, Layer.PROJECT, Layer.USER]


def test_a_bad_value_of_a_near_layer_leaves_that_of_the_farther_one() -> None:
    result, problems = merged(
        {Layer.EDITOR: {"run": {"maxTurns": "x"}}, Layer.USER: {"run.maxTurns": 7}}, trusted=True
    )
    assert result == Settings(run_max_turns=7)
    assert problems == [
        'In the editor settings, run.maxTurns: expected a whole number, 1 or more, got "x". It stays 7.'
    ]


@pytest.mark.covers("R091")
def test_permissions_of_all_layers_are_kept_side_by_side() -> None:
    result, _ = merged(
        {
            Layer.USER: {"permissions": {"tools": {"bash": "deny"}}},
            Layer.PROJECT: {"permissions": {"tools": {"bash": "allow"}}},
        },
        trusted=True,
    )
    assert result.permissions == (
        PermissionSource(Layer.USER, {"tools": {"bash": "deny"}}),
        PermissionSource(Layer.PROJECT, {"tools": {"bash": "allow"}}),
    )


def test_providers_of_all_layers_add_up() -> None:
    result, _ = merged(
        {
            Layer.USER: {"providers": {"a": {"baseUrl": "1"}, "b": {}}},
            Layer.COMMAND_LINE: {"providers": {"a": {"baseUrl": "2"}}},
        },
        trusted=True,
    )
    assert result.providers == {"a": {"baseUrl": "2"}, "b": {}}


@pytest.mark.covers("R091")
@pytest.mark.parametrize("layer", [Layer.PROJECT, Layer.EDITOR])
def test_a_workspace_that_is_not_trusted_may_only_tighten(layer: Layer) -> None:
    values: dict[str, JsonValue] = {
        "mode": "all",
        "providers": {"x": {}},
        "hooks": {"x": {}},
        "run.maxTurns": 3,
    }
    result, problems = merged({layer: values}, trusted=False)
    refused = "the {} settings may not set this in a workspace that is not trusted."
    assert result == Settings(run_max_turns=3)
    assert problems == [
        f"In the {layer} settings, mode: {refused.format(layer)} It stays ask.",
        f"In the {layer} settings, providers: {refused.format(layer)} It is ignored.",
        f"In the {layer} settings, hooks: {refused.format(layer)} It is ignored.",
    ]
    assert merged({layer: {"mode": "readOnly"}}, trusted=False) == (Settings(mode=ApprovalMode.READ_ONLY), [])
    assert merged({layer: values}, trusted=True)[0].mode is ApprovalMode.ALL


@pytest.mark.covers("R091")
@pytest.mark.parametrize("layer", Layer)
def test_no_workspace_may_say_what_is_trusted(layer: Layer) -> None:
    user: dict[str, JsonValue] = {"trust": {"folders": ["/home/me"]}}
    layers: dict[Layer, dict[str, JsonValue]] = {Layer.USER: user, layer: {"trust.folders": ["/tmp/evil"]}}
    result, problems = merged(layers, trusted=True)
    if layer.comes_from_workspace:
        assert result == Settings(trust_folders=("/home/me",))
        told = (
            f"the {layer} settings may never set this; it may stand in your own config.toml, in the "
            "environment or on the command line."
        )
        assert problems == [f"In the {layer} settings, trust.folders: {told} It is ignored."]
    else:
        assert (result, problems) == (Settings(trust_folders=("/tmp/evil",)), [])


@pytest.mark.parametrize("value", ["/a", ["a"], ["/a", 5], ["./a"], {"/a": True}])
def test_only_whole_paths_can_be_trusted(value: JsonValue) -> None:
    result, (problem,) = with_values(Settings(), {"trust.folders": value})
    assert result == Settings()
    assert problem.startswith("trust.folders: expected a list of absolute paths of folders, got ")


def test_the_environment_spells_keys_with_underscores_in_any_case() -> None:
    environment = {
        "PILOTHOUSE_SET_RUN_MAXTURNS": "5",
        "pilothouse_set_Queue_FollowUp": "all",
        "PILOTHOUSE_SET_MODEL_IDLETIMEOUT": "1.5",
        "PILOTHOUSE_SET_PERMISSIONS": '{"tools": {"bash": "deny"}}',
        "PILOTHOUSE_MODEL": "openai/x",
        "PILOTHOUSE_HOME": "/x",
        "RUN_MAXTURNS": "9",
    }
    assert from_environment(environment) == (
        {
            "model": "openai/x",
            "model.idleTimeout": 1.5,
            "permissions": {"tools": {"bash": "deny"}},
            "run.maxTurns": 5,
            "queue.followUp": "all",
        },
        [],
    )


def test_the_setting_wins_over_the_short_variable_and_an_empty_one_counts_as_absent() -> None:
    both = {"PILOTHOUSE_SET_MODEL": "a/b", "PILOTHOUSE_MODEL": "c/d"}
    assert from_environment(both) == ({"model": "a/b"}, [])
    assert from_environment({"PILOTHOUSE_MODEL": ""}) == ({}, [])


def test_an_unknown_variable_is_reported_with_the_nearest_name() -> None:
    assert from_environment({"PILOTHOUSE_SET_RUN_MAXTURN": "5"}) == (
        {},
        ["PILOTHOUSE_SET_RUN_MAXTURN: there is no such setting. Did you mean RUN_MAXTURNS?"],
    )


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("run.maxTurns=5", "run.maxTurns", 5),
        (" tools.grace = 1.5", "tools.grace", 1.5),
        ("model=scripted/a=b.json", "model", "scripted/a=b.json"),
        ("queue.steering=all", "queue.steering", "all"),
        ('hooks={"x": 1}', "hooks", {"x": 1}),
    ],
)
def test_an_assignment_is_a_key_and_a_value(text: str, name: str, value: JsonValue) -> None:
    assert parse_assignment(text) == (name, value)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("run.maxTurns", "run.maxTurns: expected KEY=VALUE, for example run.maxTurns=5."),
        ("run.maxturns=5", "run.maxturns: there is no such setting. Did you mean run.maxTurns?"),
        ("run.maxTurns=x", 'run.maxTurns: expected a whole number, 1 or more, got "x".'),
        ("run.maxTurns=", 'run.maxTurns: expected a whole number, 1 or more, got "".'),
        ("providers={", 'providers: expected an object, got "{".'),
        ("=5", ": there is no such setting."),
    ],
)
def test_an_assignment_that_makes_no_sense_says_what_was_expected(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(problem)}$"):
        parse_assignment(text)


def test_a_file_is_read_as_toml_with_its_own_spelling(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_bytes(
        b'\xef\xbb\xbfthinking = "high"\r\n"run.maxTurns" = 5\r\n[model]\r\nid = "a/b"\r\n'
        b'[permissions.commands]\r\n"git *" = "allow"\r\n'
    )
    values, problems = load_file(file)
    assert problems == []
    assert with_values(Settings(), values) == (
        Settings(
            model="a/b",
            thinking="high",
            run_max_turns=5,
            permissions=(PermissionSource(Layer.USER, {"commands": {"git *": "allow"}}),),
        ),
        [],
    )


def test_a_missing_file_has_no_settings_and_no_problem(tmp_path: Path) -> None:
    assert load_file(tmp_path / "config.toml") == ({}, [])


def test_a_file_that_cannot_be_used_is_reported(tmp_path: Path) -> None:
    broken, binary = tmp_path / "broken.toml", tmp_path / "binary.toml"
    broken.write_text("model = \n", encoding="utf-8")
    huge = tmp_path / "huge.toml"
    huge.write_text("x = " + "1" * 5000, encoding="utf-8")
    binary.write_bytes(b"model = '\xff'")
    (_, [broken_problem]), (_, [binary_problem]) = load_file(broken), load_file(binary)
    assert broken_problem.startswith(f"{broken} is not valid TOML, so none of its settings count: ")
    assert binary_problem == f"{binary} is not UTF-8 text, so none of its settings count."
    assert load_file(huge)[1][0].startswith(f"{huge} is not valid TOML")
    assert load_file(tmp_path) == ({}, [f"{tmp_path} could not be read: Is a directory."])


def test_dates_in_a_file_are_texts(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text("[providers.x]\nsince = 2024-01-02\nlist = [2024-01-02]\n", encoding="utf-8")
    assert load_file(file) == ({"providers": {"x": {"since": "2024-01-02", "list": ["2024-01-02"]}}}, [])
