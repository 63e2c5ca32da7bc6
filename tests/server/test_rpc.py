"""The connection alone: what comes in, and its answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from pilothouse_server.transport.rpc import RequestFault, Waiting
from support.raw_client import notification, request
from support.rpc_bench import CANCELLED, Json, error, fails, later, rpc_bench

NOT_A_MESSAGE = 'A message needs "jsonrpc": "2.0", a method, and for a request an id: a string or an integer.'
NOT_AN_OBJECT = "A message must be a JSON object; batches are not taken."


async def test_requests_are_passed_on_with_their_params_and_notifications_too() -> None:
    async with rpc_bench() as b:
        b.send(request(1, "a", x=1), notification("b", y=2), {"jsonrpc": "2.0", "id": "2", "method": "c"})

        assert await b.read(2) == [{"id": 1, "result": {"for": "a"}}, {"id": "2", "result": {"for": "c"}}]
        assert b.heard == [("a", {"x": 1}), ("b", {"y": 2}), ("c", {})]


@pytest.mark.parametrize(
    ("message", "answer"),
    [
        ([], error(None, -32600, NOT_AN_OBJECT)),
        ([request(1, "a")], error(None, -32600, NOT_AN_OBJECT)),
        (7, error(None, -32600, NOT_AN_OBJECT)),
        (None, error(None, -32600, NOT_AN_OBJECT)),
        ({}, error(None, -32600, NOT_A_MESSAGE)),
        ({"id": 1, "method": "a"}, error(1, -32600, NOT_A_MESSAGE)),
        ({"jsonrpc": "1.0", "id": 1, "method": "a"}, error(1, -32600, NOT_A_MESSAGE)),
        ({"jsonrpc": "2.0", "id": 1}, error(1, -32600, NOT_A_MESSAGE)),
        ({"jsonrpc": "2.0", "id": 1, "method": 7}, error(1, -32600, NOT_A_MESSAGE)),
        (request(None, "a"), error(None, -32600, NOT_A_MESSAGE)),
        (request(1.5, "a"), error(None, -32600, NOT_A_MESSAGE)),
        (request(1.0, "a"), error(None, -32600, NOT_A_MESSAGE)),
        (request(2**70, "a"), error(None, -32600, NOT_A_MESSAGE)),
        (request(True, "a"), error(None, -32600, NOT_A_MESSAGE)),
        (request([], "a"), error(None, -32600, NOT_A_MESSAGE)),
        (
            {"jsonrpc": "2.0", "id": 1, "method": "a", "params": [1]},
            error(1, -32602, "The params of a must be an object."),
        ),
        (request(1, "initialize"), error(1, -32600, "initialize was sent already.")),
    ],
)
async def test_what_is_not_a_message_is_said_and_the_next_one_is_taken(message: Any, answer: Json) -> None:
    async with rpc_bench() as b:
        b.send(message, request(2, "b"))

        assert await b.read(2) == [answer, {"id": 2, "result": {"for": "b"}}]
        assert b.methods == ["b"]


async def test_before_initialize_requests_are_refused_and_notifications_dropped() -> None:
    async with rpc_bench(initialized=False) as b:
        b.send(request(1, "a"), request(2, "shutdown"), notification("b"), request(3, "initialize", x=1))

        assert await b.read(3) == [
            error(1, -32002, "Send initialize first."),
            error(2, -32002, "Send initialize first."),
            {"id": 3, "result": {"hello": {"x": 1}}},
        ]
        assert b.heard == []


async def test_an_initialize_that_fails_may_be_sent_again(caplog: pytest.LogCaptureFixture) -> None:
    async with rpc_bench(initialized=False) as b:
        b.send(request(1, "initialize", fail=True), request(2, "initialize"))
        failed, answered = await b.read(2)

    assert (failed["error"]["code"], answered) == (-32603, {"id": 2, "result": {"hello": {}}})
    assert "a bug" not in failed["error"]["message"]
    assert len(caplog.records) == 1


def deep() -> Any:
    value: Any = 1
    for _ in range(5000):
        value = [value]
    return value


INTERNAL = "The request failed inside the server: {}. The log has the details."
UNSAYABLE = error(1, -32603, "The result could not be put into JSON.")

OUTCOMES: list[tuple[Callable[[], Any], Json]] = [
    (lambda: None, {"id": 1, "result": None}),
    (lambda: float("nan"), {"id": 1, "result": None}),
    (lambda: "\ud83d", {"id": 1, "result": "\ufffd"}),
    (lambda: {1, 2}, UNSAYABLE),
    (lambda: b"bytes", UNSAYABLE),
    (deep, UNSAYABLE),
    (fails(RequestFault(-32050, "no", {"kind": "x"})), error(1, -32050, "no", {"kind": "x"})),
    (fails(ValueError("secret")), error(1, -32603, INTERNAL.format("ValueError"))),
    (fails(ExceptionGroup("secret", [OSError()])), error(1, -32603, INTERNAL.format("ExceptionGroup"))),
]


@pytest.mark.parametrize(("outcome", "answer"), OUTCOMES)
@pytest.mark.parametrize("at_once", [True, False])
async def test_every_outcome_of_a_handler_is_one_answer(
    outcome: Callable[[], Any], answer: Json, at_once: bool
) -> None:
    async with rpc_bench() as b:
        b.answers["a"] = outcome if at_once else lambda: later(outcome)
        b.send(request(1, "a"), request(2, "b"))

        assert sorted(await b.read(2), key=lambda one: one["id"]) == [
            answer,
            {"id": 2, "result": {"for": "b"}},
        ]


async def test_a_handler_that_is_cancelled_by_itself_is_answered_as_cancelled() -> None:
    async with rpc_bench() as b:
        b.answers["a"] = lambda: later(fails(asyncio.CancelledError()))
        b.send(request(1, "a"))

        assert await b.read() == [error(1, -32800, CANCELLED)]


async def test_a_message_that_nobody_can_read_is_answered_and_handed_on_as_it_is() -> None:
    async with rpc_bench() as b:
        b.rpc.receive(b'{"method":"textDocument/didChange",')
        b.send(request(1, "a"))

        first, second = await b.read(2)
        assert (first["error"]["code"], second["id"]) == (-32700, 1)
        assert b.unread == [b'{"method":"textDocument/didChange",']


@pytest.mark.parametrize("params", [None, [1], "x", 7])
async def test_params_of_a_notification_that_are_no_object_count_as_none(params: Any) -> None:
    async with rpc_bench() as b:
        b.send({"jsonrpc": "2.0", "method": "n", "params": params}, request(1, "a"))
        await b.read()

        assert b.heard == [("n", {}), ("a", {})]


async def test_a_notification_that_fails_harms_nobody(caplog: pytest.LogCaptureFixture) -> None:
    async with rpc_bench() as b:
        b.answers["n"] = fails(ValueError("a bug"))
        b.send(notification("n"), request(1, "a"))

        assert await b.read() == [{"id": 1, "result": {"for": "a"}}]
    assert [record.getMessage() for record in caplog.records] == ["The notification n could not be handled"]


async def test_a_request_id_in_use_is_refused_and_the_first_keeps_its_answer() -> None:
    gate = asyncio.Event()
    async with rpc_bench() as b:
        b.answers["a"] = gate.wait
        b.send(request(1, "a"), request(1, "b"))
        refused = await b.read()
        gate.set()
        answered = await b.read()
        b.send(request(1, "b"))

        assert refused == [error(1, -32600, "The request id 1 is already in use.")]
        assert answered + await b.read() == [{"id": 1, "result": True}, {"id": 1, "result": {"for": "b"}}]


async def test_answers_come_as_their_work_ends() -> None:
    gate = asyncio.Event()
    async with rpc_bench() as b:
        b.answers |= {"slow": gate.wait, "quick": lambda: later(lambda: "quick")}
        b.send(request(1, "slow"), request(2, "quick"))
        quick = await b.read()
        gate.set()

        assert quick + await b.read() == [{"id": 2, "result": "quick"}, {"id": 1, "result": True}]


async def test_a_cancelled_request_is_answered_as_cancelled_and_other_cancels_are_ignored() -> None:
    async with rpc_bench() as b:
        b.answers["a"] = asyncio.Event().wait
        cancels: list[Any] = [1, 1, 99, None, 1.5, [], {}]
        b.send(request(1, "a"), *(notification("$/cancelRequest", id=msg_id) for msg_id in cancels))
        b.send({"jsonrpc": "2.0", "method": "$/cancelRequest"}, request(2, "b"))

        assert sorted(await b.read(2), key=lambda answer: answer["id"]) == [
            error(1, -32800, CANCELLED),
            {"id": 2, "result": {"for": "b"}},
        ]


async def test_a_handler_may_say_what_cancelling_means() -> None:
    ended = asyncio.get_running_loop().create_future()
    async with rpc_bench() as b:
        b.answers["a"] = lambda: Waiting(ended, lambda: ended.set_result("aborted"))
        b.send(request(1, "a"), notification("$/cancelRequest", id=1))

        assert await b.read() == [{"id": 1, "result": "aborted"}]


async def test_a_handler_that_does_not_mind_being_cancelled_is_answered_with_its_result() -> None:
    async def stubborn() -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "done anyway"
        raise AssertionError

    async with rpc_bench() as b:
        b.answers["a"] = stubborn
        b.send(request(1, "a"))
        await asyncio.sleep(0)
        b.send(notification("$/cancelRequest", id=1))

        assert await b.read() == [{"id": 1, "result": "done anyway"}]


async def test_what_comes_while_the_host_is_loaded_is_held_and_passed_on_in_order() -> None:
    async with rpc_bench() as b:
        b.takes_time_to_load()
        b.send(request(1, "a"), notification("n"), request(2, "b"))
        await asyncio.sleep(0)
        before = list(b.heard)
        await b.finish_loading()

        assert (before, b.methods) == ([], ["a", "n", "b"])
        assert await b.read(2) == [{"id": 1, "result": {"for": "a"}}, {"id": 2, "result": {"for": "b"}}]


@pytest.mark.covers("R182")
async def test_requests_that_are_cancelled_while_they_are_held_are_answered_at_once_and_never_run() -> None:
    async with rpc_bench() as b:
        b.takes_time_to_load()
        b.send(*(request(number, "a") for number in range(50)))
        b.send(*(notification("$/cancelRequest", id=number) for number in range(50)))
        answers = await b.read(50)
        b.send(request(0, "prompt"))
        await b.finish_loading()

        assert answers == [error(number, -32800, CANCELLED) for number in range(50)]
        assert (await b.read(), b.methods) == ([{"id": 0, "result": {"for": "prompt"}}], ["prompt"])
