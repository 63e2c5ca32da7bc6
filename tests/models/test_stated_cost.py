"""What a server says it has charged counts, to the last digit, and not what we would have worked out."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pytest

from pilothouse_agent.kernel.messages import Usage
from pilothouse_agent.kernel.request import Finished
from pilothouse_agent.models.chat_completions.tables import stated_cost
from support.asking import ask, model_request
from support.model_server import Answer, ModelServer, chat_body, finish_chunk, text_chunk
from support.providers import registry

COUNTED = {"prompt_tokens": 1_000, "completion_tokens": 100}
PRICES = {"m": {"inputPrice": 1, "outputPrice": 0}}
UPSTREAM = {"upstream_inference_cost": 0.0006509169}

STATED: dict[str, tuple[Any, str | None]] = {
    "many digits": ({"cost": 0.0076509169000000005}, "0.0076509169000000005"),
    "small": ({"cost": 9.6e-6}, "0.0000096"),
    "nothing": ({"cost": 0}, "0"),
    "what the maker got is part of it": ({"cost": 0.5, "is_byok": False, "cost_details": UPSTREAM}, "0.5"),
    "the maker's bill comes on top": (
        {"cost": 0.007, "is_byok": True, "cost_details": UPSTREAM},
        "0.0076509169",
    ),
    "the maker's bill is not known": ({"cost": 0.007, "is_byok": True}, None),
    "none": ({}, None),
    "null": ({"cost": None}, None),
    "an object": ({"cost": {"total_cost": 1}}, None),
    "a word": ({"cost": "free"}, None),
    "a flag": ({"cost": True}, None),
    "less than nothing": ({"cost": -1}, None),
    "not a number": ({"cost": math.nan}, None),
    "endless": ({"cost": math.inf}, None),
    "larger than a float": ({"cost": 10**400}, None),
    "no usage": (None, None),
}


@pytest.mark.parametrize("name", STATED)
def test_a_stated_cost_is_read_to_the_digit_or_not_at_all(name: str) -> None:
    usage, cost = STATED[name]
    assert stated_cost(usage) == (None if cost is None else Decimal(cost))


@pytest.mark.parametrize(
    ("preset", "usage", "cost"),
    [
        ("openrouter", {**COUNTED, "cost": 0.0012, "is_byok": False}, "0.0012"),
        ("openrouter", COUNTED, "0.001"),
        ("openrouter", {**COUNTED, "cost": 0}, "0"),
        ("vllm", {**COUNTED, "cost": 0.0012}, "0.001"),
    ],
    ids=["stated", "not stated", "free of charge", "of a server whose word does not count"],
)
async def test_the_ledger_has_the_cost_that_the_server_states(
    preset: str, usage: dict[str, Any], cost: str, server: ModelServer
) -> None:
    server.play(Answer.of(chat_body(text_chunk("Hi"), finish_chunk(usage=usage))))
    settings = {preset: {"models": PRICES}}
    async with registry(settings, {f"{preset.upper()}_BASE_URL": server.url}) as models:
        end = (await ask(models, model_request(model=f"{preset}/m")))[-1]
        (entry,) = models.ledger.entries("s1")

    counted = Usage(1_000, 100, cost=Decimal(cost))
    assert isinstance(end, Finished)
    assert (end.usage, entry.usage) == (counted, counted)
