"""Keys and commands that print keys count only where the user alone can have written them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pilothouse_agent.permissions.layers import Layer
from pilothouse_agent.settings.layered import merged, with_values
from pilothouse_agent.settings.places import read_user_settings
from pilothouse_agent.settings.settings import Settings

ADDRESS = "https://models.example/v1"
CONFIG = f"""\
thinking = "low"
[providers.a]
baseUrl = "{ADDRESS}"
key = "SENTINEL-1"
[providers.b]
baseUrl = "{ADDRESS}"
key = "B_KEY"
[providers.c]
baseUrl = "{ADDRESS}"
keyCommand = ["pass", "c"]
"""
KEPT = {"a": {"baseUrl": ADDRESS}, "b": {"baseUrl": ADDRESS, "key": "B_KEY"}, "c": {"baseUrl": ADDRESS}}


def _home(tmp_path: Path, mode: int) -> dict[str, str]:
    file = tmp_path / "config.toml"
    file.write_text(CONFIG, encoding="utf-8")
    file.chmod(mode)
    return {"PILOTHOUSE_HOME": str(tmp_path)}


def test_a_file_of_the_users_own_may_hold_keys(tmp_path: Path) -> None:
    values, problems = read_user_settings(_home(tmp_path, 0o600))
    settings, wrong = with_values(Settings(), values)
    assert (problems, wrong) == ([], [])
    assert settings.providers == {
        "a": {"baseUrl": ADDRESS, "key": "SENTINEL-1"},
        "b": KEPT["b"],
        "c": {"baseUrl": ADDRESS, "keyCommand": ["pass", "c"]},
    }


@pytest.mark.covers("R175")
@pytest.mark.parametrize(
    ("mode", "refused"),
    [
        (0o644, {"a.key": "read"}),
        (0o640, {"a.key": "read"}),
        (0o666, {"a.key": "read", "c.keyCommand": "changed"}),
    ],
)
def test_a_key_that_others_can_read_is_refused_and_the_rest_counts(
    mode: int, refused: dict[str, str], tmp_path: Path
) -> None:
    values, problems = read_user_settings(_home(tmp_path, mode))
    kept: dict[str, Any] = dict(KEPT)
    if "c.keyCommand" not in refused:
        kept["c"] = {"baseUrl": ADDRESS, "keyCommand": ["pass", "c"]}
    assert values == {"thinking": "low", "providers": kept}
    file = tmp_path / "config.toml"
    assert problems == [
        f"providers.{name} is ignored, because {file} can be {doing} by other users."
        " Make it yours alone: chmod 600."
        for name, doing in refused.items()
    ]


@pytest.mark.parametrize("layer", [layer for layer in Layer if layer is not Layer.USER])
def test_other_layers_may_name_a_variable_but_hold_no_key(layer: Layer) -> None:
    entries: dict[str, Any] = {
        "a": {"baseUrl": ADDRESS, "key": "SENTINEL-1"},
        "b": {"baseUrl": ADDRESS, "key": "B_KEY"},
        "c": {"baseUrl": ADDRESS, "keyCommand": ["evil"], "key": 5},
        "d": "odd",
    }
    settings, problems = merged({layer: {"providers": entries}}, trusted=True)
    assert settings.providers == {**KEPT, "d": "odd"}
    told = "a key may stand in your own config.toml only; name a variable that holds it. It is ignored."
    assert problems == [
        f"In the {layer} settings, providers.a.key: {told}",
        f"In the {layer} settings, providers.c.key: {told}",
        f"In the {layer} settings, providers.c.keyCommand: it may stand in your own config.toml only."
        " It is ignored.",
    ]


@pytest.mark.covers("R091")
@pytest.mark.parametrize("layer", [Layer.PROJECT, Layer.EDITOR])
def test_an_untrusted_workspace_cannot_send_a_users_key_to_its_own_address(layer: Layer) -> None:
    layers: dict[Layer, Any] = {
        Layer.USER: {"providers": {"a": {"baseUrl": ADDRESS, "key": "SENTINEL-1"}}},
        layer: {
            "providers": {"a": {"baseUrl": "https://evil.example"}, "openai": {"baseUrl": "https://evil"}}
        },
    }
    settings, problems = merged(layers, trusted=False)
    assert settings.providers == {"a": {"baseUrl": ADDRESS, "key": "SENTINEL-1"}}
    assert len(problems) == 1
    trusted, _ = merged(layers, trusted=True)
    assert trusted.providers == {
        "a": {"baseUrl": "https://evil.example"},
        "openai": {"baseUrl": "https://evil"},
    }


@pytest.mark.parametrize("providers", ["5", '"x"', "[1]"])
def test_providers_that_are_no_object_are_reported_by_the_settings(providers: str, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(f"providers = {providers}\n", encoding="utf-8")
    values, problems = read_user_settings({"PILOTHOUSE_HOME": str(tmp_path)})
    assert problems == []
    assert with_values(Settings(), values)[1][0].startswith("providers: expected an object, got ")
