"""The connection alone, and anything at all."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from support.rpc_bench import Json, RpcBench, fails, later, rpc_bench


@pytest.fixture
def quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.just(1.5) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=5,
)
methods = st.sampled_from(["a", "later", "fails", "initialize", "$/cancelRequest", "agent/prompt"])
messages = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | json_values,
        "id": st.integers(0, 5) | st.sampled_from("xy") | json_values,
        "method": methods | json_values,
        "params": st.fixed_dictionaries({"id": json_values}) | json_values,
        "result": json_values,
        "error": json_values,
        "surplus": json_values,
    },
)
well_formed = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0"), "id": st.integers(0, 5), "method": methods, "params": json_values}
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(messages | well_formed | json_values, max_size=12), st.booleans(), st.booleans())
@example([{"jsonrpc": "2.0", "id": 1, "method": "a"}] * 2, True, False)
async def test_whatever_comes_each_request_has_one_answer(
    quiet: None, sent: list[Any], initialized: bool, loaded: bool
) -> None:
    async with rpc_bench(initialized=initialized) as b:
        if not loaded:
            b.takes_time_to_load()
        b.answers |= {"later": lambda: asyncio.ensure_future(later(lambda: 1)), "fails": fails(ValueError())}
        b.send(*sent)
        await asyncio.sleep(0)
        if not loaded:
            await b.finish_loading()
        b.send({"jsonrpc": "2.0", "id": "last", "method": "shutdown"})
        answers = await up_to(b, "last")

    ids = [answer["id"] for answer in answers if answer["id"] is not None]
    wanted = [message["id"] for message in sent if is_request(message)]
    assert sorted(map(str, ids)) == sorted(map(str, wanted))


def is_request(message: Any) -> bool:
    """Something with an id that can be answered, and not itself an answer."""
    fields = cast("Json", message) if isinstance(message, dict) else {}
    is_answer = fields.get("method") is None and ("result" in fields or "error" in fields)
    return type(fields.get("id")) in (int, str) and not is_answer


async def up_to(b: RpcBench, msg_id: str) -> list[Json]:
    answers: list[Json] = []
    while (answer := (await b.read())[0]).get("id") != msg_id:
        answers.append(answer)
    return answers
