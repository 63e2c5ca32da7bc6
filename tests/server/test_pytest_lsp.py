"""The conversations of an editor, held by pytest-lsp's client as any LSP client would."""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections.abc import AsyncGenerator, Awaitable
from pathlib import Path
from typing import Any, TypeVar

import pytest
import pytest_lsp
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pytest_lsp import ClientServerConfig, LanguageClient, make_test_lsp_client

from support.door import Door
from support.wire_models import Turn, call
from support.wire_run import settled_home

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

T = TypeVar("T")

SERVER = [sys.executable, "-P", "-m", "pilothouse_cli.main", "serve"]
HOME = Path(tempfile.gettempdir()) / "pilothouse-tests"
HELLO = "Go on 测试 😋"


def editor() -> LanguageClient:
    client: Any = make_test_lsp_client()
    client.events, client.questions, client.came = [], [], asyncio.Event()

    @client.feature("agent/event")
    def event(params: Any) -> None:
        client.events.append(params)
        client.came.set()

    @client.feature("agent/requestApproval")
    async def approve(params: Any) -> Any:
        client.questions.append(params)
        client.came.set()
        option = next(option for option in params.options if option.kind == "allowOnce")
        return {"optionId": option.id}

    client.set_configuration({"pilothouse": {"run.maxTurns": 3}})
    _ = (event, approve)
    return client


@pytest_lsp.fixture(  # pyright: ignore[reportUnknownMemberType]
    scope="module",
    config=ClientServerConfig(server_command=SERVER, client_factory=editor, server_env=settled_home(HOME)),
)
async def client(lsp_client: LanguageClient) -> AsyncGenerator[None]:
    result = await soon(
        lsp_client.initialize_session(
            types.InitializeParams(
                capabilities=types.ClientCapabilities(
                    workspace=types.WorkspaceClientCapabilities(configuration=True)
                ),
                client_info=types.ClientInfo("pytest-lsp", "1"),
                initialization_options={"pilothouse": {"approvals": True, "deltas": "each"}},
            )
        )
    )
    assert result.server_info is not None
    assert result.server_info.name == "pilothouse"
    yield
    await soon(lsp_client.shutdown_session())


async def soon(awaitable: Awaitable[T]) -> T:
    """pytest-lsp bounds no wait."""
    return await asyncio.wait_for(awaitable, 20)


async def session(client: Any, folder: Path, *turns: Turn, mode: str = "all") -> str:
    path = folder / "script.json"
    path.write_text(json.dumps({"turns": turns}), encoding="utf-8")
    params = {"cwd": str(folder), "model": f"scripted/{path}", "mode": mode}
    made = await soon(client.protocol.send_request_async("session/new", params))
    client.events.clear()
    client.questions.clear()
    return made.sessionId


async def seen(client: Any, kind: str) -> Any:
    """The first event of this type."""
    async with asyncio.timeout(20):
        while not (found := [event for event in client.events if event.type == kind]):
            client.came.clear()
            await client.came.wait()
    return found[0]


def begin(client: Any, method: str, **params: Any) -> asyncio.Future[Any]:
    """Sends at once; the coroutine that pytest-lsp returns would wait to be awaited."""
    return asyncio.ensure_future(client.protocol.send_request_async(method, params))


async def test_a_prompt_is_answered_after_all_of_its_events(client: Any, tmp_path: Path) -> None:
    opened = await session(client, tmp_path, {"text": ["Hello ", "there"], "expect": {"contains": [HELLO]}})
    settled = await soon(begin(client, "agent/prompt", sessionId=opened, text=HELLO))

    assert (settled.stopReason, settled.text) == ("completed", "Hello there")
    assert [event.type for event in client.events] == [
        *["agent_start", "phase_change", "turn_start", "message_start", "message_end", "message_start"],
        *["message_update", "message_update", "message_end", "turn_end", "phase_change", "agent_end"],
    ]
    assert [event.seq for event in client.events] == list(range(1, 13))


async def test_steering_is_delivered_behind_the_tools(client: Any, tmp_path: Path) -> None:
    door = Door(tmp_path / "door")
    calls = [call("c1", "bash", command=door.command)]
    opened = await session(
        client, tmp_path, {"calls": calls}, {"text": "Yes.", "expect": {"contains": ["and b"]}}
    )
    prompt = begin(client, "agent/prompt", sessionId=opened, text="a")
    await seen(client, "tool_execution_start")
    steered = await soon(begin(client, "agent/steer", sessionId=opened, text="and b"))
    door.open()
    settled = await soon(prompt)
    users = [
        event.message.content[0].text
        for event in client.events
        if event.type == "message_end" and event.message.role == "user"
    ]

    assert (steered.delivery, settled.text, users) == ("steered", "Yes.", ["a", "and b"])


async def test_an_approval_is_asked_for_and_its_answer_counts(client: Any, tmp_path: Path) -> None:
    touch: Turn = {"calls": [call("c1", "bash", command="touch made")]}
    opened = await session(client, tmp_path, touch, {"text": "Done."}, mode="ask")
    settled = await soon(begin(client, "agent/prompt", sessionId=opened, text="Go"))

    assert (settled.stopReason, (tmp_path / "made").exists()) == ("completed", True)
    assert [(question.toolCall.name, question.command) for question in client.questions] == [
        ("bash", "touch made")
    ]


@pytest.mark.parametrize("how", ["agent/abort", "$/cancelRequest"])
async def test_an_abort_settles_the_prompt_and_the_next_one_works(
    client: Any, tmp_path: Path, how: str
) -> None:
    sleep: Turn = {"calls": [call("c1", "bash", command="sleep 100")]}
    opened = await session(client, tmp_path, sleep, {"text": "Done."})
    prompt = begin(client, "agent/prompt", sessionId=opened, text="Go")
    await seen(client, "tool_execution_start")
    if how == "agent/abort":
        aborted = (await soon(begin(client, how, sessionId=opened))).aborted
    else:
        [msg_id] = [
            msg_id for msg_id, future in client.protocol._request_futures.items() if not future.done()
        ]
        client.protocol.notify(how, types.CancelParams(msg_id))
        aborted = True
    stopped = (await soon(prompt)).stopReason
    after = await soon(begin(client, "agent/prompt", sessionId=opened, text="Again"))

    assert (aborted, stopped, after.text) == (True, "aborted", "Done.")


async def test_the_configuration_of_the_editor_counts(client: Any, tmp_path: Path) -> None:
    todo: Turn = {"calls": [call("c1", "glob_file", pattern="*")], "repeat": 9}
    opened = await session(client, tmp_path, todo)
    settled = await soon(begin(client, "agent/prompt", sessionId=opened, text="Go"))

    assert settled.stopReason == "maxTurns"
    assert len([event for event in client.events if event.type == "turn_start"]) == 3


async def test_faults_arrive_with_code_and_kind(client: Any) -> None:
    with pytest.raises(JsonRpcException) as raised:
        await soon(begin(client, "agent/prompt", sessionId="nobody", text="Go"))

    assert (raised.value.code, raised.value.data) == (-31002, {"kind": "unknownSession"})


async def test_params_that_do_not_fit_are_refused_with_their_paths(client: Any, tmp_path: Path) -> None:
    opened = await session(client, tmp_path)
    with pytest.raises(JsonRpcException) as raised:
        await soon(begin(client, "agent/steer", sessionId=opened))

    data: Any = raised.value.data
    assert raised.value.code == -32602
    assert [violation["path"] for violation in data["violations"]] == [""]


async def test_documents_and_prompts_share_the_connection(client: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("on disk\n", encoding="utf-8")
    read: Turn = {"calls": [call("c1", "read_file", path="a.txt")]}
    opened = await session(
        client, tmp_path, read, {"text": "Done.", "expect": {"contains": ["in the editor"]}}
    )
    item = types.TextDocumentItem(path.as_uri(), "plaintext", 1, "in the editor\n")
    client.text_document_did_open(types.DidOpenTextDocumentParams(item))
    settled = await soon(begin(client, "agent/prompt", sessionId=opened, text="Go"))
    client.text_document_did_close(
        types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(path.as_uri()))
    )

    assert (settled.stopReason, settled.text) == ("completed", "Done.")
