"""What is wrong with settings is said, wherever they come from; and dotted keys reach into objects."""

from __future__ import annotations

import pytest

from pilothouse_agent.kernel.json_types import JsonValue
from pilothouse_agent.permissions.layers import Layer, PermissionSource
from pilothouse_agent.settings.complaints import complaints
from pilothouse_agent.settings.keys import from_environment, parse_assignment
from pilothouse_agent.settings.layered import merged, with_values
from pilothouse_agent.settings.settings import Settings

ADDRESS = "http://127.0.0.1:9/v1"


@pytest.mark.covers("R251")
@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"run.maxTurn": 1}, "run.maxTurn: there is no such setting. Did you mean run.maxTurns?"),
        (
            {"run": {"maxTurns": "abc"}},
            'run.maxTurns: expected a whole number, 1 or more, got "abc". It stays 100.',
        ),
        ({"hooks": {"before": []}}, "hooks: this version runs none, so it has no effect."),
        ({"hooks.before": "x"}, "hooks: this version runs none, so it has no effect."),
        (
            {"permissions": {"tool": {}}},
            "In the command line settings, permissions.tool: there is no such section. Did you mean tools?",
        ),
        (
            {"permissions.tools.bsh": "deny"},
            "In the command line settings, permissions.tools.bsh: there is no such tool. Did you mean bash?",
        ),
        (
            {"providers.mine.format": "openai-chat"},
            "providers.mine.baseUrl: expected the address of the server, so this provider is left out.",
        ),
        ({"providers": 5}, "providers: expected an object, got 5. It is ignored."),
    ],
)
def test_each_value_without_effect_gets_its_sentence(values: dict[str, JsonValue], said: str) -> None:
    assert complaints(values, layer=Layer.COMMAND_LINE) == [said]


@pytest.mark.covers("R251")
def test_what_can_be_used_has_no_complaint() -> None:
    values: dict[str, JsonValue] = {
        "run.maxTurns": 1,
        "providers": {"mine": {"baseUrl": ADDRESS}},
        "providers.mine.format": "openai-chat",
        "permissions.tools.bash": "deny",
    }
    assert complaints(values, layer=Layer.COMMAND_LINE) == []


@pytest.mark.covers("R251")
def test_what_a_layer_below_has_said_counts_and_its_faults_are_not_told_again() -> None:
    below, _ = with_values(Settings(), {"providers": {"mine": {"baseUrl": ADDRESS}, "other": {}}})

    assert complaints({"providers.mine.format": "openai-chat"}, layer=Layer.COMMAND_LINE, over=below) == []


@pytest.mark.covers("R251")
@pytest.mark.parametrize(
    ("name", "value", "meant"),
    [
        ("providers.mine.baseUrl", ADDRESS, {"mine": {"baseUrl": ADDRESS}}),
        ('providers."my.own".baseUrl', ADDRESS, {"my.own": {"baseUrl": ADDRESS}}),
        (
            "providers.mine.models.gpt-4.1.contextWindow",
            8000,
            {"mine": {"models": {"gpt-4.1": {"contextWindow": 8000}}}},
        ),
        ("providers.mine.headers.X-Org.Unit", "a", {"mine": {"headers": {"X-Org.Unit": "a"}}}),
    ],
)
def test_a_dotted_key_reaches_into_the_providers(name: str, value: JsonValue, meant: JsonValue) -> None:
    assert with_values(Settings(), {name: value}) == (Settings(providers={**meant}), [])  # pyright: ignore[reportGeneralTypeIssues]


@pytest.mark.covers("R251")
def test_a_pattern_of_permissions_may_hold_dots() -> None:
    values: dict[str, JsonValue] = {
        "permissions.paths.src/**/*.env.local": "deny",
        'permissions.commands."git push *"': "ask",
        "permissions": {"tools": {"bash": "ask"}},
    }
    assert with_values(Settings(), values) == (
        Settings(
            permissions=(
                PermissionSource(
                    Layer.USER,
                    {
                        "paths": {"src/**/*.env.local": "deny"},
                        "commands": {"git push *": "ask"},
                        "tools": {"bash": "ask"},
                    },
                ),
            )
        ),
        [],
    )


@pytest.mark.covers("R251")
def test_a_dotted_key_of_a_near_layer_changes_that_field_alone_and_an_address_replaces_the_entry() -> None:
    user: dict[str, JsonValue] = {"providers": {"mine": {"baseUrl": ADDRESS, "key": "SENTINEL"}}}
    near: dict[str, JsonValue] = {"providers.mine.connectTimeout": 3}
    elsewhere: dict[str, JsonValue] = {"providers.mine.baseUrl": "https://elsewhere"}

    assert merged({Layer.USER: user, Layer.COMMAND_LINE: near}, trusted=False) == (
        Settings(providers={"mine": {"baseUrl": ADDRESS, "key": "SENTINEL", "connectTimeout": 3}}),
        [],
    )
    assert merged({Layer.USER: user, Layer.COMMAND_LINE: elsewhere}, trusted=False) == (
        Settings(providers={"mine": {"baseUrl": "https://elsewhere"}}),
        [],
    )


@pytest.mark.covers("R251")
@pytest.mark.parametrize(
    ("text", "taken"),
    [
        ("providers.mine.baseUrl=http://a=b", ("providers.mine.baseUrl", "http://a=b")),
        ("providers.mine.connectTimeout=5", ("providers.mine.connectTimeout", 5)),
        ("permissions.tools.bash=deny", ("permissions.tools.bash", "deny")),
    ],
)
def test_an_assignment_may_reach_into_an_object(text: str, taken: tuple[str, JsonValue]) -> None:
    assert parse_assignment(text) == taken


@pytest.mark.covers("R251")
@pytest.mark.parametrize("name", ["providers.", "providers..x", "provider.x.baseUrl", "run.maxTurns.x"])
def test_a_dotted_key_that_leads_nowhere_is_unknown(name: str) -> None:
    with pytest.raises(ValueError, match="there is no such setting"):
        parse_assignment(f"{name}=1")
    assert [said.partition(".")[0] for said in complaints({name: 1}, layer=Layer.USER)] == [
        name.partition(".")[0]
    ]


@pytest.mark.covers("R251")
def test_a_variable_below_an_object_says_how_the_whole_is_given() -> None:
    assert from_environment({"PILOTHOUSE_SET_PROVIDERS_MINE_BASEURL": ADDRESS}) == (
        {},
        [
            "PILOTHOUSE_SET_PROVIDERS_MINE_BASEURL: a variable cannot name what is in providers; "
            "give PILOTHOUSE_SET_PROVIDERS as JSON."
        ],
    )
