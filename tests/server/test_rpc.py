"""The connection alone: a front of the test's, an outbox on a real pipe."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any, TypeAlias, cast

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pilothouse_server.transport.rpc import ClientGone, Part, RequestFault, Rpc, Waiting
from support.raw_client import request
from support.wire_pipe import Pipe, piped

Json: TypeAlias = dict[str, Any]


class Bench:
    """The server around the connection, and the part that all its other messages are for."""

    def __init__(self, pipe: Pipe) -> None:
        self.rpc: Rpc
        self.pipe = pipe
        self.loaded = True
        self.heard: list[tuple[str, Json]] = []
        self.answers: dict[str, Callable[[], Any]] = {}
        self.exits: list[int] = []
        self.unread: list[bytes] = []
        self.settled = asyncio.Event()
        self.settled.set()

    def initialize(self, params: Json) -> Json:
        if params.get("fail"):
            raise ValueError("a bug")
        return {"hello": params}

    async def shut_down(self) -> None:
        self.heard.append(("shut down", {}))
        await self.settled.wait()

    def exit(self, code: int) -> None:
        self.exits.append(code)

    def garbled(self, body: bytes) -> None:
        self.unread.append(body)

    def part(self, method: str) -> Part | None:
        return self if self.loaded else None

    def request(self, method: str, params: Json) -> Any:
        self.heard.append((method, params))
        return self.answers[method]() if method in self.answers else {"for": method}

    def notification(self, method: str, params: Json) -> None:
        self.heard.append((method, params))
        if method in self.answers:
            self.answers[method]()

    def send(self, *messages: Any) -> None:
        for message in messages:
            self.rpc.receive(json.dumps(message).encode())

    async def read(self, count: int = 1) -> list[Json]:
        """The next messages, without what is the same in all."""
        found = await self.pipe.take(count)
        assert [message.pop("jsonrpc") for message in found] == ["2.0"] * count
        return found

    def load(self) -> None:
        self.loaded = True
        self.rpc.resume()

    @property
    def methods(self) -> list[str]:
        return [method for method, _ in self.heard]


@asynccontextmanager
async def bench(*, initialized: bool = True) -> AsyncGenerator[Bench]:
    async with piped() as (outbox, pipe):
        made = Bench(pipe)
        made.rpc = Rpc(outbox, made)
        if initialized:
            made.send(request("i", "initialize"))
            await made.read()
        yield made


def error(msg_id: object, code: int, message: str, data: Any = None) -> Json:
    fields = {"code": code, "message": message} | ({} if data is None else {"data": data})
    return {"id": msg_id, "error": fields}


def notification(method: str, **params: Any) -> Json:
    return {"jsonrpc": "2.0", "method": method, "params": params}


NOT_A_MESSAGE = 'A message needs "jsonrpc": "2.0", a method, and for a request an id: a string or an integer.'
NOT_AN_OBJECT = "A message must be a JSON object; batches are not taken."
CANCELLED = "The request was cancelled."


async def test_requests_are_passed_on_with_their_params_and_notifications_too() -> None:
    async with bench() as b:
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
    async with bench() as b:
        b.send(message, request(2, "b"))

        assert await b.read(2) == [answer, {"id": 2, "result": {"for": "b"}}]
        assert b.methods == ["b"]


async def test_before_initialize_requests_are_refused_and_notifications_dropped() -> None:
    async with bench(initialized=False) as b:
        b.send(request(1, "a"), request(2, "shutdown"), notification("b"), request(3, "initialize", x=1))

        assert await b.read(3) == [
            error(1, -32002, "Send initialize first."),
            error(2, -32002, "Send initialize first."),
            {"id": 3, "result": {"hello": {"x": 1}}},
        ]
        assert b.heard == []


async def test_an_initialize_that_fails_may_be_sent_again(caplog: pytest.LogCaptureFixture) -> None:
    async with bench(initialized=False) as b:
        b.send(request(1, "initialize", fail=True), request(2, "initialize"))
        failed, answered = await b.read(2)

    assert (failed["error"]["code"], answered) == (-32603, {"id": 2, "result": {"hello": {}}})
    assert "a bug" not in failed["error"]["message"]
    assert len(caplog.records) == 1


def fails(problem: BaseException) -> Callable[[], Any]:
    def fail() -> Any:
        raise problem

    return fail


async def later(outcome: Callable[[], Any]) -> Any:
    await asyncio.sleep(0)
    return outcome()


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
    async with bench() as b:
        b.answers["a"] = outcome if at_once else lambda: later(outcome)
        b.send(request(1, "a"), request(2, "b"))

        assert sorted(await b.read(2), key=lambda one: one["id"]) == [
            answer,
            {"id": 2, "result": {"for": "b"}},
        ]


async def test_a_handler_that_is_cancelled_by_itself_is_answered_as_cancelled() -> None:
    async with bench() as b:
        b.answers["a"] = lambda: later(fails(asyncio.CancelledError()))
        b.send(request(1, "a"))

        assert await b.read() == [error(1, -32800, CANCELLED)]


async def test_a_message_that_nobody_can_read_is_answered_and_handed_on_as_it_is() -> None:
    async with bench() as b:
        b.rpc.receive(b'{"method":"textDocument/didChange",')
        b.send(request(1, "a"))

        first, second = await b.read(2)
        assert (first["error"]["code"], second["id"]) == (-32700, 1)
        assert b.unread == [b'{"method":"textDocument/didChange",']


@pytest.mark.parametrize("params", [None, [1], "x", 7])
async def test_params_of_a_notification_that_are_no_object_count_as_none(params: Any) -> None:
    async with bench() as b:
        b.send({"jsonrpc": "2.0", "method": "n", "params": params}, request(1, "a"))
        await b.read()

        assert b.heard == [("n", {}), ("a", {})]


async def test_a_notification_that_fails_harms_nobody(caplog: pytest.LogCaptureFixture) -> None:
    async with bench() as b:
        b.answers["n"] = fails(ValueError("a bug"))
        b.send(notification("n"), request(1, "a"))

        assert await b.read() == [{"id": 1, "result": {"for": "a"}}]
    assert [record.getMessage() for record in caplog.records] == ["The notification n could not be handled"]


async def test_a_request_id_in_use_is_refused_and_the_first_keeps_its_answer() -> None:
    gate = asyncio.Event()
    async with bench() as b:
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
    async with bench() as b:
        b.answers |= {"slow": gate.wait, "quick": lambda: later(lambda: "quick")}
        b.send(request(1, "slow"), request(2, "quick"))
        quick = await b.read()
        gate.set()

        assert quick + await b.read() == [{"id": 2, "result": "quick"}, {"id": 1, "result": True}]


async def test_a_cancelled_request_is_answered_as_cancelled_and_other_cancels_are_ignored() -> None:
    async with bench() as b:
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
    async with bench() as b:
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

    async with bench() as b:
        b.answers["a"] = stubborn
        b.send(request(1, "a"))
        await asyncio.sleep(0)
        b.send(notification("$/cancelRequest", id=1))

        assert await b.read() == [{"id": 1, "result": "done anyway"}]


async def test_what_comes_while_a_part_is_loaded_is_held_and_passed_on_in_order() -> None:
    async with bench() as b:
        b.loaded = False
        b.send(request(1, "a"), notification("n"), request(2, "b"))
        await asyncio.sleep(0)
        before = list(b.heard)
        b.load()

        assert (before, b.methods) == ([], ["a", "n", "b"])
        assert await b.read(2) == [{"id": 1, "result": {"for": "a"}}, {"id": 2, "result": {"for": "b"}}]


@pytest.mark.covers("R182")
async def test_requests_that_are_cancelled_while_they_are_held_are_answered_at_once_and_never_run() -> None:
    async with bench() as b:
        b.loaded = False
        b.send(*(request(number, "a") for number in range(50)))
        b.send(*(notification("$/cancelRequest", id=number) for number in range(50)))
        answers = await b.read(50)
        b.send(request(0, "prompt"))
        b.load()

        assert answers == [error(number, -32800, CANCELLED) for number in range(50)]
        assert (await b.read(), b.methods) == ([{"id": 0, "result": {"for": "prompt"}}], ["prompt"])


async def test_the_client_is_asked_and_its_result_given() -> None:
    async with bench() as b:
        asking = asyncio.create_task(b.rpc.request("ask", {"x": 1}, limit=5))
        [asked] = await b.read()
        b.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"y": 2}})

        assert {**asked, "id": 0} == {"id": 0, "method": "ask", "params": {"x": 1}}
        assert await asking == {"y": 2}


@pytest.mark.parametrize(
    ("answer", "code", "text"),
    [
        ({"code": -32601, "message": "unknown"}, -32601, "unknown"),
        ({"message": "no code"}, -32603, "no code"),
        ({"code": "x"}, -32603, "The client failed."),
        ("just text", -32603, "The client failed."),
        ([], -32603, "The client failed."),
    ],
)
async def test_an_error_of_the_client_is_raised_however_it_is_made(answer: Any, code: int, text: str) -> None:
    async with bench() as b:
        asking = asyncio.create_task(b.rpc.request("ask", {}, limit=5))
        [asked] = await b.read()
        b.send({"jsonrpc": "2.0", "id": asked["id"], "error": answer})
        with pytest.raises(RequestFault) as raised:
            await asking

    assert (raised.value.code, str(raised.value)) == (code, text)


@pytest.mark.parametrize("how", ["cancelled", "late"])
async def test_a_request_that_is_given_up_is_withdrawn_and_its_late_answer_ignored(how: str) -> None:
    async with bench() as b:
        asking = asyncio.create_task(b.rpc.request("ask", {}, limit=0.01 if how == "late" else 5))
        [asked] = await b.read()
        if how == "cancelled":
            asking.cancel()
        withdrawn = await b.read()
        late = {"jsonrpc": "2.0", "id": asked["id"], "result": "late"}
        b.send(late, late, {**late, "id": 7}, {**late, "id": []}, request(1, "a"))
        [outcome] = await asyncio.gather(asking, return_exceptions=True)

        assert type(outcome) is (TimeoutError if how == "late" else asyncio.CancelledError)
        assert withdrawn == [{"method": "$/cancelRequest", "params": {"id": asked["id"]}}]
        assert await b.read() == [{"id": 1, "result": {"for": "a"}}]


async def test_a_question_that_json_cannot_hold_is_the_askers_failure() -> None:
    async with bench() as b:
        with pytest.raises(TypeError):
            await b.rpc.request("ask", {"x": object()}, limit=5)


async def test_with_the_connection_every_question_ends() -> None:
    async with bench() as b:
        asking = asyncio.create_task(b.rpc.request("ask", {}, limit=None))
        await b.read()
        await b.rpc.close()

        for question in (asking, b.rpc.request("ask", {}, limit=None)):
            with pytest.raises(ClientGone):
                await question


async def test_shutdown_is_answered_after_everything_else() -> None:
    async with bench() as b:
        b.settled.clear()
        b.answers["prompt"] = lambda: later(lambda: "aborted")
        b.answers["endless"] = asyncio.Event().wait
        b.send(request(1, "prompt"), request(2, "endless"), request(3, "shutdown"), request(4, "a"))
        b.send(notification("$/cancelRequest", id=3))
        b.settled.set()
        answers = await b.read(4)
        b.send(notification("exit"))

        assert (answers, b.exits) == (
            [
                error(4, -32600, "The server is shutting down.", {"kind": "shuttingDown"}),
                {"id": 1, "result": "aborted"},
                error(2, -32800, CANCELLED),
                {"id": 3, "result": None},
            ],
            [0],
        )


async def test_a_handler_that_will_not_end_does_not_hold_up_the_shutdown() -> None:
    async def stubborn() -> str:
        while not gate.is_set():
            try:
                await gate.wait()
            except asyncio.CancelledError:
                continue
        return "too late"

    gate = asyncio.Event()
    async with bench() as b:
        b.answers["a"] = stubborn
        b.send(request(1, "a"), request(2, "shutdown"))
        answers = await b.read(2)
        gate.set()
        await asyncio.sleep(0)
        b.send(request(3, "b"))

        assert answers == [error(1, -32800, CANCELLED), {"id": 2, "result": None}]
        assert [answer["id"] for answer in await b.read()] == [3]


async def test_what_is_held_when_the_server_ends_is_refused_and_never_run() -> None:
    async with bench() as b:
        b.loaded = False
        b.send(request(1, "a"), notification("n"), request(2, "shutdown"))
        answers = await b.read(2)
        b.load()

        assert answers == [
            error(1, -32600, "The server is shutting down.", {"kind": "shuttingDown"}),
            {"id": 2, "result": None},
        ]
        assert b.methods == ["shut down"]


async def test_an_exit_without_shutdown_is_a_failure_and_notifications_after_shutdown_are_dropped() -> None:
    async with bench() as b:
        b.send(notification("exit"), request(1, "shutdown"), notification("n"))
        await b.read()

        assert (b.exits, b.methods) == ([1], ["shut down"])


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
    async with bench(initialized=initialized) as b:
        b.loaded = loaded
        b.answers |= {"later": lambda: asyncio.ensure_future(later(lambda: 1)), "fails": fails(ValueError())}
        b.send(*sent)
        await asyncio.sleep(0)
        b.load()
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


async def up_to(b: Bench, msg_id: str) -> list[Json]:
    answers: list[Json] = []
    while (answer := (await b.read())[0]).get("id") != msg_id:
        answers.append(answer)
    return answers
