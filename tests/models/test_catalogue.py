"""What is known of models, from where, and what a request costs."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from pilothouse_agent.kernel.messages import Usage
from pilothouse_agent.kernel.request import ImageLimits, ModelLimits
from pilothouse_agent.models.choosing.catalogue import Catalogue, ModelFacts
from pilothouse_agent.models.choosing.families import Family, converses, family_of
from pilothouse_agent.models.choosing.price_data import (
    Listed,
    PriceData,
    Prices,
    Seller,
    Tariff,
)
from pilothouse_agent.models.choosing.provider_config import ProviderConfig
from pilothouse_agent.models.choosing.provider_reader import read_providers
from pilothouse_agent.models.model_traits import ModelTraits

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
ADDRESS = "https://models.example/v1"
DOLLARS = Prices(Decimal(3), Decimal(15))


def _row(context_window: int | None = None, dollars: Prices = Prices()) -> Listed:  # noqa: B008 - immutable
    tariff = Tariff(dollars.input, dollars.output)
    return Listed("", context_window=context_window, tariffs=(tariff,))


def _data(rows: Mapping[str, Listed]) -> PriceData:
    models = tuple(replace(row, id=name, names=frozenset({name})) for name, row in rows.items())
    return PriceData((Seller("x", re.compile(re.escape(ADDRESS)), models),))


def _configs(**models: Any) -> dict[str, ProviderConfig]:
    entries: dict[str, Any] = {"x": {"baseUrl": ADDRESS, "models": models}, "y": {"baseUrl": "https://y/v1"}}
    configs, problems = read_providers(entries, {})
    assert problems == []
    return configs


async def _catalogue(rows: Mapping[str, Listed], **models: Any) -> Catalogue:
    catalogue = Catalogue(_configs(**models), load=lambda: _data(rows), now=lambda: NOON)
    async with asyncio.timeout(5):
        await catalogue.load()
    return catalogue


async def test_the_users_word_counts_before_family_and_price_data() -> None:
    catalogue = await _catalogue(
        {"gpt-4o": _row(128_000, DOLLARS), "gpt-4o-mini": _row(128_000, DOLLARS)},
        **{"gpt-4o": {"contextWindow": 1000, "images": False, "inputPrice": 1, "outputPrice": "2.5"}},
    )
    assert catalogue.facts("x/gpt-4o") == ModelFacts(
        1000, 16384, images=False, thinking=False, prices=Prices(Decimal(1), Decimal("2.5"))
    )
    assert catalogue.facts("x/gpt-4o-mini") == ModelFacts(
        128_000, 16384, images=True, thinking=False, prices=DOLLARS
    )


@pytest.mark.covers("R298")
@pytest.mark.parametrize(
    ("name", "row", "window"),
    [
        ("gemini-2.5-pro", _row(None), 1_048_576),
        ("gemini-3-pro-preview", _row(None), 1_048_576),
        ("gemini-2.0-flash", _row(None), 1_000_000),
        ("deepseek-chat", _row(64_000), 128_000),
        ("deepseek-reasoner", _row(64_000), 128_000),
        ("gpt-4o", _row(128_000), 128_000),
    ],
)
async def test_the_window_of_a_family_is_known_where_the_price_data_has_none_or_an_old_one(
    name: str, row: Listed, window: int
) -> None:
    assert (await _catalogue({name: row})).traits(f"x/{name}").limits.context_window == window


@pytest.mark.covers("R272")
async def test_what_a_local_server_takes_in_is_not_told_by_the_family() -> None:
    configs, _ = read_providers({"near": {"baseUrl": "http://127.0.0.1:1/v1"}}, {})
    catalogue = Catalogue(configs, load=lambda: _data({}), now=lambda: NOON)
    models = ("near/deepseek-r1:8b", "ollama/deepseek-r1:8b")
    assert [catalogue.facts(model).context_window for model in models] == [None, None]


@pytest.mark.covers("R214")
@pytest.mark.parametrize(
    ("model", "limits"),
    [
        ("anthropic/claude-3-5-haiku-latest", ImageLimits(side=1_568)),
        ("anthropic/claude-opus-4-5", ImageLimits()),
        ("groq/llama-4", ImageLimits(size=3_000_000)),
        ("openai/gpt-5.2", ImageLimits()),
    ],
)
async def test_the_images_that_a_model_takes_are_known_by_its_family_and_its_provider(
    model: str, limits: ImageLimits
) -> None:
    configs, _ = read_providers({}, {})
    assert Catalogue(configs, load=lambda: _data({})).traits(model).limits.images == limits


async def test_of_an_unknown_model_nothing_is_assumed() -> None:
    catalogue = await _catalogue({})
    assert catalogue.facts("x/unheard-of") == ModelFacts()
    assert catalogue.traits("x/unheard-of") == ModelTraits()
    assert catalogue.cost("x/unheard-of", Usage(1, 1)) is None
    assert catalogue.facts("nobody/m") == ModelFacts()


async def test_the_same_model_elsewhere_has_no_price() -> None:
    catalogue = await _catalogue({"m": _row(9, DOLLARS)})
    assert (catalogue.facts("x/m"), catalogue.facts("y/m")) == (ModelFacts(9, prices=DOLLARS), ModelFacts())


async def test_formats_are_told_the_limits_and_what_the_user_capped() -> None:
    catalogue = await _catalogue({"m": _row(9)}, m={"maxOutput": 5, "thinking": False})
    assert catalogue.traits("x/m") == ModelTraits(ModelLimits(9, 5), thinking=False, output_cap=5)
    assert catalogue.traits("x/gpt-4o") == ModelTraits(ModelLimits(None, 16384), thinking=False)


async def test_what_is_known_grows_when_the_price_data_is_there() -> None:
    catalogue = Catalogue(_configs(), load=lambda: _data({"m": _row(9)}), now=lambda: NOON)
    before = catalogue.traits("x/m").limits
    await catalogue.load()
    assert (before, catalogue.traits("x/m").limits) == (ModelLimits(), ModelLimits(9))


async def test_new_settings_count_at_once() -> None:
    catalogue = await _catalogue({}, m={"contextWindow": 1})
    assert catalogue.traits("x/m").limits.context_window == 1
    catalogue.configure(_configs(m={"contextWindow": 2}))
    assert catalogue.traits("x/m").limits.context_window == 2


async def test_price_data_that_cannot_be_loaded_is_done_without(caplog: pytest.LogCaptureFixture) -> None:
    def load() -> PriceData:
        raise FileNotFoundError("no price_data.json")

    catalogue = Catalogue(_configs(m={"contextWindow": 1}), load=load)
    await catalogue.load()
    assert catalogue.traits("x/m").limits.context_window == 1
    assert [record.getMessage() for record in caplog.records] == [
        "The price data cannot be used: no price_data.json"
    ]


USAGES: dict[str, tuple[Usage, str | None]] = {
    "all kinds": (Usage(1_000, 10, cache_read=600, cache_write=300), "0.0017"),
    "no caching": (Usage(1_000_000, 0), "1"),
    "more cached than sent": (Usage(1, 0, cache_read=1_000_000), "0.5"),
    "no output told": (Usage(10), None),
    "nothing told": (Usage(), None),
}


@pytest.mark.parametrize("name", USAGES)
async def test_a_users_prices_are_counted_exactly(name: str) -> None:
    usage, cost = USAGES[name]
    prices = {"inputPrice": 1, "outputPrice": 100, "cacheReadPrice": "0.5", "cacheWritePrice": 1}
    catalogue = await _catalogue({}, m=prices)
    assert catalogue.cost("x/m", usage) == (None if cost is None else Decimal(cost))


async def test_cached_tokens_cost_as_others_where_no_price_says_otherwise() -> None:
    catalogue = await _catalogue({}, m={"inputPrice": 1, "outputPrice": 0})
    assert catalogue.cost("x/m", Usage(1_000_000, 5, cache_read=400_000)) == Decimal(1)


async def test_half_a_price_of_the_user_is_none() -> None:
    catalogue = await _catalogue({"m": _row(None, DOLLARS)}, m={"inputPrice": 1})
    assert (catalogue.facts("x/m").prices, catalogue.cost("x/m", Usage(7, 1))) == (
        DOLLARS,
        Decimal("0.000036"),
    )


async def test_models_to_talk_to_are_offered_the_users_first() -> None:
    rows = {name: _row(1, DOLLARS) for name in ("m", "m-tts", "text-embedding-3", "z")}
    catalogue = await _catalogue(rows, mine={})
    assert [name for name, _ in catalogue.offered("x")] == ["x/mine", "x/m", "x/z"]
    assert catalogue.offered("y") == []


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("claude-sonnet-4-5", Family(64_000, images=True, thinking=True)),
        ("claude-opus-4-1-20250805", Family(32_000, images=True, thinking=True)),
        ("anthropic/claude-3.5-haiku", Family(8_192, images=True, thinking=False, image_side=1_568)),
        ("GPT-5.2", Family(128_000, images=True, thinking=True)),
        ("o3-mini", Family(100_000, images=False, thinking=True)),
        ("gpt-4-0613", Family(8_192, images=False, thinking=False)),
        ("gemini-3-flash", Family(65_536, True, True, 1_048_576)),
        ("my-own", Family()),
    ],
)
def test_a_family_is_known_by_its_name(name: str, family: Family) -> None:
    assert family_of(name) == family


def test_models_that_do_not_converse_are_known_by_their_names() -> None:
    names = [
        "gpt-4o",
        "openai/gpt-4o-audio-preview",
        "text-embedding-3-large",
        "claude-opus-4-5",
        "whisper-1",
    ]
    assert [name for name in names if converses(name)] == ["gpt-4o", "claude-opus-4-5"]
