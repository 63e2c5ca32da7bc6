"""Questions by messages: only where and when keys that are meant for a text cannot answer them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

import pytest

from pilothouse_agent.kernel.events import Option
from pilothouse_agent.kernel.messages import ToolCall
from pilothouse_agent.kernel.questions import Answer, Question
from pilothouse_agent.kernel.tooling import Preview
from pilothouse_agent.settings.settings import Dialog
from pilothouse_server.client.clients import habits_of
from pilothouse_server.documents.documents import Documents
from pilothouse_server.documents.quiet import Quiet
from pilothouse_server.sessions.dialogs import Dialogs
from pilothouse_server.sessions.message_approvals import PlainApprover
from pilothouse_server.wire import method_names as names
from support.kernel import soon
from support.open_documents import change, opening
from support.rpc_bench import RpcBench, rpc_bench

Json: TypeAlias = dict[str, Any]

URI, OTHER = "file:///ws/a.py", "file:///ws/b.py"
OPTIONS = (
    Option("allow", "Allow", "allowOnce"),
    Option("session", "Allow for this session", "allowAlways", "exactly this command"),
    Option("reject", "Reject", "rejectOnce"),
)


def question(command: str = "touch p", risk: Any = "medium") -> Question:
    call = ToolCall("c1", "bash", {})
    return Question("q1", call, "execute", "Run it", risk, OPTIONS, Preview(command=command))


class Editor:
    """An editor that shows messages, with one document open."""

    def __init__(self, bench: RpcBench, client: str, setting: Dialog, *, refreshes: bool = False) -> None:
        self.bench = bench
        self.documents = Documents("utf-16")
        self.documents.did_open(opening(URI, "x\n"))
        self.dialogs = Dialogs(
            bench.rpc,
            Quiet(self.documents, tells_late=habits_of(client).tells_late, still=0.1),
            habits=habits_of(client),
            shown=True,
            setting=lambda: setting,
            tells_when_refreshed=refreshes,
        )
        self._version = 1
        if client == "Neovim":
            self.type()

    def ask(self, asked: Question | None = None) -> asyncio.Task[Answer | None]:
        return asyncio.create_task(PlainApprover(self.dialogs, again=0).ask(asked or question()))

    def type(self) -> None:
        self._version += 1
        self.documents.did_change(change(URI, self._version, "x" * self._version))

    async def shown(self) -> Json:
        (message,) = await soon(self.bench.read())
        return message

    def answer(self, message: Json, result: Any) -> None:
        self.bench.send({"jsonrpc": "2.0", "id": message["id"], "result": result})


@asynccontextmanager
async def editor(
    client: str = "Eglot", setting: Dialog = "auto", *, refreshes: bool = False
) -> AsyncGenerator[Editor]:
    async with rpc_bench() as bench:
        yield Editor(bench, client, setting, refreshes=refreshes)


@pytest.mark.covers("R281")
@pytest.mark.parametrize(
    ("client", "setting", "used"),
    [
        ("Visual Studio Code", "auto", True),
        ("code-server", "auto", True),
        ("Eglot", "auto", True),
        ("Neovim", "auto", False),
        ("Sublime Text LSP", "auto", False),
        ("", "auto", False),
        ("Visual Studio Code", "never", False),
        ("Eglot", "never", False),
        ("Neovim", "quiet", True),
        ("", "quiet", True),
    ],
)
async def test_messages_are_used_where_they_are_safe_or_asked_for(
    client: str, setting: Dialog, used: bool
) -> None:
    async with editor(client, setting) as e:
        assert e.dialogs.used == used


@pytest.mark.covers("R281")
async def test_a_message_waits_until_nobody_has_typed_for_a_while() -> None:
    async with editor() as e:
        e.type()
        asking, times = e.ask(), list[float]()
        for _ in range(3):
            await asyncio.sleep(0)
            e.type()
            times.append(asyncio.get_running_loop().time())
        message = await e.shown()
        waited = asyncio.get_running_loop().time() - times[-1]
        e.answer(message, {"title": "Allow"})

        assert waited >= 0.1
        assert await soon(asking) == Answer("allow", by="client")


@pytest.mark.covers("R281")
async def test_the_silence_of_neovim_says_nothing_until_each_document_has_changed_once() -> None:
    async with editor("Neovim", "quiet") as e:
        e.documents.did_open(opening(OTHER, "y\n"))
        first = e.ask()
        e.type()
        asking = asyncio.create_task(e.shown())
        done, _ = await asyncio.wait({asking}, timeout=0.3)
        e.documents.did_change(change(OTHER, 2, "yy\n"))
        e.answer(await asking, {"title": "Reject"})

        assert done == set()
        assert await soon(first) == Answer("reject", by="client")


@pytest.mark.covers("R281")
async def test_an_editor_that_holds_back_what_is_typed_is_made_to_tell_it_before_it_is_asked() -> None:
    async with editor(setting="quiet", refreshes=True) as e:
        asking, methods = e.ask(), list[str]()
        for typing in (True, True, False):
            refresh = await e.shown()
            methods.append(refresh["method"])
            if typing:
                e.type()
            e.answer(refresh, None)
        question = await e.shown()
        e.answer(question, {"title": "Allow"})

        assert [*methods, question["method"]] == [names.SEMANTIC_TOKENS_REFRESH] * 3 + [
            names.SHOW_MESSAGE_REQUEST
        ]
        assert await soon(asking) == Answer("allow", by="client")


@pytest.mark.covers("R281")
async def test_a_question_that_is_answered_elsewhere_meanwhile_is_never_shown() -> None:
    async with editor() as e:
        e.type()
        asking = e.ask()
        await asyncio.sleep(0)
        asking.cancel()
        second = e.ask(question("ls"))

        assert "ls" in (await e.shown())["params"]["message"].splitlines()
        second.cancel()


@pytest.mark.covers("R284")
@pytest.mark.parametrize("closed", [None, {}, {"title": None}])
async def test_a_message_that_is_gone_in_vscode_is_asked_again(closed: Any) -> None:
    async with editor("Visual Studio Code") as e:
        asking = e.ask()
        first = await e.shown()
        e.answer(first, closed)
        second = await e.shown()
        e.answer(second, {"title": "Reject"})

        assert (second["params"], second["id"] != first["id"]) == (first["params"], True)
        assert await soon(asking) == Answer("reject", by="client")


@pytest.mark.covers("R284")
@pytest.mark.parametrize("client", ["Eglot", "Neovim"])
@pytest.mark.parametrize("answer", [None, {}, {"title": "Nonsense"}, "Allow", {"title": ["Allow"]}])
async def test_a_message_that_only_its_user_can_close_is_a_no(client: str, answer: Any) -> None:
    async with editor(client, "quiet") as e:
        asking = e.ask()
        e.answer(await e.shown(), answer)

        assert await soon(asking) is None


@pytest.mark.covers("R284", "R257")
async def test_line_breaks_of_a_command_can_be_seen_where_messages_are_shown_in_one_line() -> None:
    async with editor("Visual Studio Code") as e:
        asking = e.ask(question("rm a\nls b", "high"))
        shown = (await e.shown())["params"]["message"]
        asking.cancel()

    assert shown.replace("\n", " ") == (
        "Pilothouse: Run it?  ↵ Risk: high  ↵ rm a  ↵ ls b  ↵ Allow for this session: exactly this command"
    )


@pytest.mark.covers("R257")
@pytest.mark.parametrize("command", ["x" * 65_000, "echo x\n" * 400, ("y" * 500 + "\n") * 400])
async def test_a_message_is_short_whatever_it_is_about(command: str) -> None:
    async with editor() as e:
        asking = e.ask(question(command))
        shown = (await e.shown())["params"]["message"]
        asking.cancel()

    assert len(shown) < 5000
    assert shown.splitlines()[-1] == "Allow for this session: exactly this command"


@pytest.mark.covers("R285")
@pytest.mark.parametrize(("client", "kind"), [("Neovim", 1), ("Visual Studio Code", 2), ("", 2)])
def test_a_warning_is_of_a_kind_that_does_not_stop_the_editor(client: str, kind: int) -> None:
    assert habits_of(client).warning("Odd.") == {"type": kind, "message": "Pilothouse: Odd."}
