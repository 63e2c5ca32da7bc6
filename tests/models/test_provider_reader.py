"""Presets, settings and environment make the providers; what is wrong is told in sentences."""

from __future__ import annotations

import tomllib
from decimal import Decimal
from importlib.resources import files
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pilothouse_agent.models.chat_completions.dialect import ChatDialect
from pilothouse_agent.models.choosing.presets import PRESETS, Preset
from pilothouse_agent.models.choosing.provider_config import ProviderConfig
from pilothouse_agent.models.choosing.provider_entry import ModelEntry, is_variable
from pilothouse_agent.models.choosing.provider_reader import read_providers, secret_variables
from pilothouse_agent.models.entry import read_entry

ADDRESS = "https://models.example/v1"
LOCAL = ("ollama", "lmstudio", "vllm", "llamacpp")


def _read(environment: dict[str, str] | None = None, **entries: Any) -> tuple[dict[str, ProviderConfig], Any]:
    return read_providers(entries, environment or {})


def _one(name: str, entry: Any, environment: dict[str, str] | None = None) -> ProviderConfig:
    configs, problems = read_providers({name: entry}, environment or {})
    assert problems == []
    return configs[name]


def test_every_preset_is_a_whole_entry() -> None:
    written = tomllib.loads(
        files("pilothouse_agent.models.choosing").joinpath("presets.toml").read_text("utf-8")
    )
    assert {name: read_entry(Preset, entry, name) for name, entry in written.items()} == {
        name: (preset, []) for name, preset in PRESETS.items()
    }
    configs, complaints = read_providers({}, {})
    assert (list(configs), complaints) == (list(PRESETS), [])


def test_the_presets_are_as_documented() -> None:
    configs, _ = read_providers({}, {})
    seen = {config.name: (config.format, config.needs_key, config.key_name) for config in configs.values()}
    assert seen == {
        "openai": ("openai", True, "OPENAI_API_KEY"),
        "openai-chat": ("openai-chat", True, "OPENAI_API_KEY"),
        "anthropic": ("anthropic", True, "ANTHROPIC_API_KEY"),
        "openrouter": ("openai-chat", True, "OPENROUTER_API_KEY"),
        "deepseek": ("openai-chat", True, "DEEPSEEK_API_KEY"),
        "mistral": ("openai-chat", True, "MISTRAL_API_KEY"),
        "groq": ("openai-chat", True, "GROQ_API_KEY"),
        "gemini": ("openai-chat", True, "GEMINI_API_KEY"),
        "ollama": ("openai-chat", False, "OLLAMA_API_KEY"),
        "lmstudio": ("openai-chat", False, "LMSTUDIO_API_KEY"),
        "vllm": ("openai-chat", False, "VLLM_API_KEY"),
        "llamacpp": ("openai-chat", False, "LLAMA_API_KEY"),
    }
    assert [name for name, config in configs.items() if config.on_this_machine] == list(LOCAL)


def test_every_field_of_the_dialect_can_be_set_by_its_name() -> None:
    wanted = ChatDialect(
        token_field="max_completion_tokens", system_role="developer", alternating=True, nine_letter_ids=True
    )
    spelt = {
        "tokenField": "max_completion_tokens",
        "systemRole": "developer",
        "alternating": True,
        "nineLetterIds": True,
    }
    assert _one("x", {"baseUrl": ADDRESS, "dialect": spelt}).dialect == wanted


def test_the_dialect_of_openai_itself_is_not_that_of_other_servers() -> None:
    home = _read()[0]["openai-chat"].dialect
    elsewhere = _read({"OPENAI_BASE_URL": ADDRESS})[0]["openai-chat"].dialect
    assert (home.token_field, elsewhere.token_field) == ("max_completion_tokens", "max_tokens")


def test_a_new_provider_is_what_its_entry_says() -> None:
    entry = {
        "format": "anthropic",
        "baseUrl": ADDRESS,
        "key": "CORP_KEY",
        "headers": {"X-Team": "blue", "X-Token": "${CORP_TOKEN}"},
        "connectTimeout": 3,
        "idleTimeout": 900,
        "models": {"m": {"contextWindow": 8192, "images": False, "inputPrice": "0.1", "outputPrice": 2}},
    }
    assert _one("corp", entry, {"CORP_TOKEN": "t"}) == ProviderConfig(
        "corp",
        "anthropic",
        ADDRESS,
        "providers.corp.baseUrl",
        "CORP_KEY",
        needs_key=True,
        headers={"X-Team": "blue", "X-Token": "t"},
        variables=("CORP_KEY", "CORP_TOKEN"),
        connect=3.0,
        idle=900.0,
        models={
            "m": ModelEntry(
                context_window=8192, images=False, input_price=Decimal("0.1"), output_price=Decimal(2)
            )
        },
    )


def test_an_entry_of_a_presets_name_changes_only_what_it_says() -> None:
    changed = _one("mistral", {"idleTimeout": 5})
    assert (changed.address, changed.key_name, changed.idle) == (
        "https://api.mistral.ai/v1",
        "MISTRAL_API_KEY",
        5.0,
    )
    assert changed.dialect.nine_letter_ids


@pytest.mark.parametrize(
    ("entry", "environment", "address", "named"),
    [
        ({}, {}, "http://127.0.0.1:11434/v1", "OLLAMA_BASE_URL"),
        ({}, {"OLLAMA_HOST": "box:99"}, "http://box:99/v1", "OLLAMA_HOST"),
        ({}, {"OLLAMA_HOST": "https://h/", "OLLAMA_BASE_URL": ""}, "https://h/v1", "OLLAMA_HOST"),
        ({}, {"OLLAMA_BASE_URL": "http://h/x", "OLLAMA_HOST": "box"}, "http://h/x", "OLLAMA_BASE_URL"),
        ({"baseUrl": "h:1"}, {"OLLAMA_HOST": "box"}, "http://h:1/v1", "providers.ollama.baseUrl"),
        ({"baseUrl": "localhost"}, {}, "http://localhost:11434/v1", "providers.ollama.baseUrl"),
        ({"baseUrl": "http://h:x/v1"}, {}, "http://h:x/v1", "providers.ollama.baseUrl"),
        ({"baseUrl": "http://u:p@h"}, {}, "http://u:p@h", "providers.ollama.baseUrl"),
    ],
)
def test_the_nearest_address_counts(
    entry: Any, environment: dict[str, str], address: str, named: str
) -> None:
    config = _one("ollama", entry, environment)
    assert (config.address, config.address_name, config.needs_key) == (address, named, False)


@pytest.mark.covers("R271")
@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("127.0.0.1", "http://127.0.0.1:11434/v1"),
        ("localhost", "http://localhost:11434/v1"),
        ("box", "http://box:11434/v1"),
        ("0.0.0.0", "http://127.0.0.1:11434/v1"),
        ("0.0.0.0:8080", "http://127.0.0.1:8080/v1"),
        ("http://0.0.0.0:8080", "http://127.0.0.1:8080/v1"),
        (":11434", "http://127.0.0.1:11434/v1"),
        (":1", "http://127.0.0.1:1/v1"),
        ("::", "http://127.0.0.1:11434/v1"),
        ("[::]:99", "http://127.0.0.1:99/v1"),
        ("::1", "http://[::1]:11434/v1"),
        ("[::1]", "http://[::1]:11434/v1"),
        ("[::1]:99", "http://[::1]:99/v1"),
        (" 'box' ", "http://box:11434/v1"),
        ("box:words", "http://box:11434/v1"),
        ("box:70000", "http://box:11434/v1"),
        ("http://box", "http://box/v1"),
        ("https://box", "https://box/v1"),
        ("https://box:8443/", "https://box:8443/v1"),
        ("http://box:1/ollama/", "http://box:1/ollama/v1"),
        ("http://box:1/v1", "http://box:1/v1"),
        ("ollama.com", "https://ollama.com/v1"),
    ],
)
def test_the_host_of_ollama_is_read_as_ollama_reads_it(host: str, address: str) -> None:
    config = _one("ollama", {}, {"OLLAMA_HOST": host})
    assert (config.address, config.address_name) == (address, "OLLAMA_HOST")


def test_another_address_needs_no_key_unless_one_is_named() -> None:
    assert not _one("openai", {"baseUrl": ADDRESS}).needs_key
    assert not _read({"OPENAI_BASE_URL": ADDRESS})[0]["openai"].needs_key
    assert _one("openai", {"baseUrl": ADDRESS, "key": "CORP_KEY"}).needs_key
    assert _one("openai", {"baseUrl": ADDRESS, "keyCommand": "pass openai"}).needs_key


@pytest.mark.parametrize(
    ("text", "named"),
    [("OPENAI_API_KEY", True), ("MY_KEY2", True), ("KEY", False), ("sk-Abc", False), ("A_b", False)],
)
def test_a_key_in_capitals_with_underscores_names_a_variable(text: str, named: bool) -> None:
    assert is_variable(text) is named
    config = _one("x", {"baseUrl": ADDRESS, "key": text})
    assert (config.key_name, config.key) == ((text, "") if named else ("", text))


@pytest.mark.covers("R175")
def test_a_config_shows_no_secret_of_its_own() -> None:
    entry = {"baseUrl": ADDRESS, "key": "SENTINEL-1", "headers": {"X-Key": "SENTINEL-2"}}
    assert "SENTINEL" not in repr(_one("x", entry))


def test_the_variables_with_secrets_are_known() -> None:
    entry = {"baseUrl": ADDRESS, "key": "ODD_NAME", "headers": {"X-A": "$OTHER_ODD"}}
    found = secret_variables(_read({"OTHER_ODD": "x"}, x=entry)[0])
    assert found >= {"OPENAI_API_KEY", "ODD_NAME", "OTHER_ODD"}


BAD: dict[str, tuple[Any, list[str]]] = {
    "no object": (5, ["providers.x: expected an object. It is ignored."]),
    "no address": (
        {},
        ["providers.x.baseUrl: expected the address of the server, so this provider is left out."],
    ),
    "wrong kinds": (
        {"baseUrl": ADDRESS, "format": "soap", "idleTimeout": 0, "keyCommand": [], "models": 3},
        [
            "providers.x.format: expected one of openai, openai-chat, anthropic. It is ignored.",
            "providers.x.models: expected an object. It is ignored.",
            "providers.x.keyCommand: expected a text or a list of texts. It is ignored.",
            "providers.x.idleTimeout: expected a time in seconds, more than 0. It is ignored.",
        ],
    ),
    "a misspelt field": (
        {"baseUrl": ADDRESS, "bseUrl": "x"},
        ["providers.x.bseUrl: there is no such setting."],
    ),
    "a model": (
        {"baseUrl": ADDRESS, "models": {"m": {"maxOutput": 0.5, "inputPrice": -1, "prize": 2}}},
        [
            "providers.x.models.m.maxOutput: expected a whole number, 1 or more. It is ignored.",
            "providers.x.models.m.inputPrice: expected an amount of US dollars, 0 or more. It is ignored.",
            "providers.x.models.m.prize: there is no such setting.",
        ],
    ),
    "headers": (
        {"baseUrl": ADDRESS, "headers": {"a b": "1", "Host": "h", "X": "$UNSET_ONE", "Y": "a\nb"}},
        [
            "providers.x.headers.a b: expected the name of a header that is not set otherwise."
            " It is ignored.",
            "providers.x.headers.Host: expected the name of a header that is not set otherwise."
            " It is ignored.",
            "providers.x.headers.X: expected a value of plain characters, or $NAME for a variable that is"
            " set. It is ignored.",
            "providers.x.headers.Y: expected a value of plain characters, or $NAME for a variable that is"
            " set. It is ignored.",
        ],
    ),
    "a dialect": (
        {"baseUrl": ADDRESS, "dialect": {"tokenField": "tokens", "alternating": 1, "x": 2}},
        [
            "providers.x.dialect.tokenField: expected one of max_tokens, max_completion_tokens."
            " It is ignored.",
            "providers.x.dialect.alternating: expected true or false. It is ignored.",
            "providers.x.dialect.x: there is no such setting.",
        ],
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_entry_is_told_and_stops_nothing(name: str) -> None:
    entry, wanted = BAD[name]
    configs, problems = read_providers({"x": entry, "y": {"baseUrl": ADDRESS}}, {})
    assert problems == wanted
    assert "y" in configs


@pytest.mark.parametrize("name", ["scripted", "A", "", "a/b", "-a", "a b"])
def test_a_name_that_cannot_be_one_is_told(name: str) -> None:
    configs, problems = read_providers({name: {"baseUrl": ADDRESS}}, {})
    assert list(configs) == list(PRESETS)
    assert problems == [
        f"providers.{name}: expected a name of small letters, digits, dots and dashes that is not taken."
        " It is ignored."
    ]


_FIELDS = ("format", "baseUrl", "key", "keyCommand", "headers", "models", "dialect", "idleTimeout", "m")
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.just("SENTINEL-9") | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_FIELDS), inner) | st.just(ADDRESS)
    ),
    max_leaves=12,
)


@pytest.mark.slow
@given(entries=st.dictionaries(st.sampled_from(["x", "ollama", "openai"]), _JSON))
@settings(max_examples=200, deadline=None)
def test_whatever_stands_in_the_settings_the_presets_are_there(entries: dict[str, Any]) -> None:
    configs, problems = read_providers(entries, {})
    assert set(configs) >= set(PRESETS)
    assert all(problem.endswith(".") and "SENTINEL" not in problem for problem in problems)
