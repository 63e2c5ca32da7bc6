from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from pilothouse_cli.headless import JsonRpcClient, Limits, RpcError, ServerGone
from support.rpc_peer import Plan, peer, received

T = TypeVar("T")
Connect = Callable[[Plan], Awaitable[JsonRpcClient]]


async def soon(awaitable: Awaitable[T]) -> T:
    return await asyncio.wait_for(awaitable, 5)


async def connected(client: JsonRpcClient, folder: Path, plan: Plan) -> JsonRpcClient:
    await soon(client.start(peer(folder, plan)))
    return client


async def test_requests_are_answered_by_id_in_whatever_order_the_answers_come(tmp_path: Path) -> None:
    plan: Plan = {"first": [], "second": [{"answer": "two"}, {"answer": "one", "to": "first"}]}
    async with await connected(JsonRpcClient(), tmp_path, plan) as client:
        first, second = client.request("first", {"a": 1}), client.request("second")

        assert await soon(asyncio.gather(first, second)) == ["one", "two"]

    assert received(tmp_path) == [
        {"id": 1, "method": "first", "params": {"a": 1}},
        {"id": 2, "method": "second", "params": {}},
        {"id": 3, "method": "shutdown", "params": {}},
        {"method": "exit", "params": {}},
    ]


async def test_an_error_answer_raises_with_code_message_and_data(tmp_path: Path) -> None:
    error = {"code": -31001, "message": "A run is going on.", "data": {"kind": "busy"}}
    async with await connected(JsonRpcClient(), tmp_path, {"agent/prompt": [{"error": error}]}) as client:
        with pytest.raises(RpcError) as raised:
            await soon(client.request("agent/prompt"))

    caught = raised.value
    assert (caught.code, caught.message, caught.data, caught.kind) == (
        -31001,
        "A run is going on.",
        {"kind": "busy"},
        "busy",
    )


async def test_notifications_are_handled_one_after_the_other_before_a_later_answer(tmp_path: Path) -> None:
    sent = [{"send": {"method": "tick", "params": {"n": n}}} for n in range(3)]
    seen: list[Any] = []

    async def slowly(params: dict[str, Any]) -> None:
        seen.append(f"begin {params['n']}")
        await asyncio.sleep(0)
        seen.append(f"end {params['n']}")

    client = JsonRpcClient()
    client.on_notification("tick", slowly)
    async with await connected(client, tmp_path, {"go": [*sent, {"answer": {}}]}):
        await soon(client.request("go"))

    assert seen == ["begin 0", "end 0", "begin 1", "end 1", "begin 2", "end 2"]


async def test_a_handler_that_fails_does_not_end_the_conversation(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(params: dict[str, Any]) -> None:
        raise ValueError("no")

    client = JsonRpcClient()
    client.on_notification("tick", fails)
    async with await connected(client, tmp_path, {"go": [{"send": {"method": "tick"}}, {"answer": "done"}]}):
        assert await soon(client.request("go")) == "done"

    assert [record.getMessage() for record in caplog.records] == ["The handler of tick failed"]


async def test_requests_of_the_server_get_a_result_an_error_or_method_not_found(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def handler(params: dict[str, Any]) -> Any:
        match params["do"]:
            case "answer":
                return {"optionId": "yes"}
            case "refuse":
                raise RpcError(-32602, "not like this", {"kind": "odd"})
            case _:
                raise ValueError("a fault of ours")

    client = JsonRpcClient()
    client.on_request("ask", handler)
    requests = [
        {"send": {"id": f"s{n}", "method": method, "params": {"do": do}}}
        for n, (method, do) in enumerate(
            [("ask", "answer"), ("ask", "refuse"), ("ask", "fail"), ("unheard", "of")]
        )
    ]
    async with await connected(
        client, tmp_path, {"go": [*requests, {"answer": {}}], "ping": [{"answer": {}}]}
    ):
        await soon(client.request("go"))
        await soon(client.request("ping"))

    answers = sorted((m for m in received(tmp_path) if "method" not in m), key=lambda m: m["id"])
    assert answers == [
        {"id": "s0", "result": {"optionId": "yes"}},
        {"id": "s1", "error": {"code": -32602, "message": "not like this", "data": {"kind": "odd"}}},
        {"id": "s2", "error": {"code": -32603, "message": "The client failed: ValueError"}},
        {
            "id": "s3",
            "error": {"code": -32601, "message": "This client does not know 'unheard'.", "data": None},
        },
    ]
    assert len(caplog.records) == 1


async def test_a_request_that_the_server_withdraws_is_cancelled_and_answered_as_cancelled(
    tmp_path: Path,
) -> None:
    asked, withdrawn = asyncio.Event(), asyncio.Event()

    async def handler(params: dict[str, Any]) -> Any:
        asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            withdrawn.set()

    client = JsonRpcClient()
    client.on_request("ask", handler)
    plan: Plan = {
        "go": [{"send": {"id": 7, "method": "ask"}}, {"answer": {}}],
        "withdraw": [{"send": {"method": "$/cancelRequest", "params": {"id": 7}}}, {"answer": {}}],
    }
    async with await connected(client, tmp_path, plan):
        await soon(client.request("go"))
        await soon(asked.wait())
        await soon(client.request("withdraw"))
        await soon(withdrawn.wait())

    assert {"id": 7, "error": {"code": -32800, "message": "Cancelled."}} in received(tmp_path)


async def test_cancelling_a_request_tells_the_server_and_its_late_answer_is_ignored(tmp_path: Path) -> None:
    plan: Plan = {
        "slow": [],
        "$/cancelRequest": [{"answer": "late", "to": "slow"}],
        "ping": [{"answer": "pong"}],
    }
    async with await connected(JsonRpcClient(), tmp_path, plan) as client:
        slow = client.request("slow")
        slow.cancel()
        answers = [await soon(client.request("ping")) for _ in range(2)]

    assert (answers, slow.cancelled()) == (["pong", "pong"], True)
    assert {"method": "$/cancelRequest", "params": {"id": 1}} in received(tmp_path)


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        (
            [{"stderr": "out of luck\n"}, {"exit": 3}],
            "The server ended with exit code 3. Its last words: out of luck",
        ),
        ([{"exit": 0}], "The server ended with exit code 0."),
    ],
)
async def test_the_death_of_the_server_fails_what_waits_and_what_comes_later(
    tmp_path: Path, steps: list[dict[str, Any]], words: str
) -> None:
    async with await connected(JsonRpcClient(), tmp_path, {"die": steps, "wait": []}) as client:
        waiting, dying = client.request("wait"), client.request("die")
        errors = await soon(asyncio.gather(waiting, dying, return_exceptions=True))
        client.notify("nobody hears this")
        errors += await soon(asyncio.gather(client.request("more"), return_exceptions=True))

    assert [(type(error), str(error)) for error in errors] == [(ServerGone, words)] * 3


async def test_output_that_is_no_message_fails_what_waits_with_the_reason(tmp_path: Path) -> None:
    client = await connected(JsonRpcClient(), tmp_path, {"go": [{"raw": 'Content-Length: 4\r\n\r\n{"a"'}]})
    async with client:
        with pytest.raises(ServerGone, match=r"^The server sent what is not a message"):
            await soon(client.request("go"))


async def test_a_program_that_cannot_be_started_is_said_so() -> None:
    async with JsonRpcClient() as client:
        with pytest.raises(ServerGone, match=r"^The server could not be started: No such file or directory"):
            await client.start(["/nowhere/pilothouse"])


async def test_a_server_that_does_not_listen_is_killed_with_what_it_started(tmp_path: Path) -> None:
    script = tmp_path / "deaf.py"
    script.write_text(
        "import signal, subprocess, sys, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "child = subprocess.Popen(['sleep', '600'])\n"
        f"open({str(tmp_path / 'pid')!r}, 'w').write(str(child.pid))\n"
        'ready = \'{"jsonrpc": "2.0", "method": "ready"}\'\n'
        "print(f'Content-Length: {len(ready)}\\r\\n\\r\\n{ready}', end='', flush=True)\n"
        "time.sleep(600)\n"
    )
    ready = asyncio.Event()
    client = JsonRpcClient(Limits(shutdown=0.05, exit=0.05, terminate=0.05))
    client.on_notification("ready", lambda params: ready.set())
    await client.start([sys.executable, str(script)])
    await soon(ready.wait())

    assert await soon(client.close()) == -9
    async with asyncio.timeout(5):
        while not _is_gone((tmp_path / "pid").read_text()):  # noqa: ASYNC110 - nothing tells of it
            await asyncio.sleep(0.01)


def _is_gone(pid: str) -> bool:
    """Not there, or dead and only waiting for somebody to ask after it."""
    try:
        return (Path("/proc") / pid / "stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


async def test_closing_gives_the_exit_code_and_may_be_done_again(tmp_path: Path) -> None:
    client = await connected(JsonRpcClient(), tmp_path, {"exit": [{"exit": 5}]})

    assert [await soon(client.close()), await soon(client.close())] == [5, 5]
