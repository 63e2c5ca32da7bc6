"""A file system that never answers holds up its own documents, and nothing else."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from pilothouse_server.documents.disk_look import DiskLook
from pilothouse_server.documents.disk_looks import DiskLooks
from support.fuse import dead_mount
from support.raw_client import RawClient, notification
from support.wire_models import Turn, call

pytestmark = pytest.mark.covers("R205")


class Disk:
    """Looks at paths with `dead` in them hang until they are let go."""

    def __init__(self) -> None:
        self.let_go = threading.Event()
        self.looked: list[str] = []

    def __call__(self, path: str) -> DiskLook:
        self.looked.append(path)
        if "dead" in path:
            assert self.let_go.wait(20)
        return DiskLook(path, f"text of {path}")


@pytest.fixture
def disk() -> Iterator[Disk]:
    made = Disk()
    yield made
    made.let_go.set()


async def test_a_path_that_does_not_answer_is_looked_at_once_and_again_when_it_has(disk: Disk) -> None:
    looks = DiskLooks(disk, limit=0.1)
    first = await looks.at("/dead")
    waiting = asyncio.ensure_future(looks.at("/dead", patient=True))
    await asyncio.sleep(0)
    others = [await looks.at("/a"), await looks.at("/b")]
    assert await waiting is None
    disk.let_go.set()
    async with asyncio.timeout(5):
        while (again := await looks.at("/dead")) is None:
            pass

    assert (first, again) == (None, DiskLook("/dead", "text of /dead"))
    assert others == [DiskLook("/a", "text of /a"), DiskLook("/b", "text of /b")]
    assert disk.looked == ["/dead", "/a", "/b", "/dead"]


async def test_each_look_at_a_path_that_answers_is_a_fresh_one(disk: Disk) -> None:
    looks = DiskLooks(disk)
    answers = await asyncio.wait_for(asyncio.gather(*(looks.at("/a") for _ in range(3))), 5)

    assert answers == [DiskLook("/a", "text of /a")] * 3
    assert disk.looked == ["/a"] * 3


async def test_paths_that_do_not_answer_use_up_their_own_threads_only(disk: Disk) -> None:
    looks = DiskLooks(disk, limit=0.05)
    hanging = [asyncio.ensure_future(looks.at(f"/dead/{number}", patient=True)) for number in range(40)]
    await asyncio.sleep(0)
    refused = [await task for task in hanging if task.done()]
    elsewhere = await asyncio.wait_for(asyncio.to_thread(lambda: "done"), 5)

    assert (len(refused), set(refused), elsewhere) == (24, {None}, "done")
    disk.let_go.set()
    assert len([each for each in await asyncio.wait_for(asyncio.gather(*hanging), 5) if each]) == 16


def edit(call_id: str, old: str, new: str) -> Turn:
    return call(call_id, "edit_file", path="a.txt", edits=[{"old_text": old, "new_text": new}])


@pytest.mark.slow
def test_sessions_reads_and_edits_go_on_beside_documents_of_a_dead_mount(
    client: RawClient, tmp_path: Path
) -> None:
    dead, project = tmp_path / "dead", tmp_path / "project"
    dead.mkdir()
    project.mkdir()
    (project / "a.txt").write_text("0\n", encoding="utf-8")
    turns: list[Turn] = [
        {"calls": [edit(f"e{number}", f"{number}", f"{number + 1}")]} for number in range(10)
    ]
    turns += [{"calls": [call(f"r{n}", "read_file", path="a.txt", limit=n + 1) for n in range(10)]}]
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"turns": [*turns, {"text": "Done."}]}), encoding="utf-8")
    with dead_mount(dead):
        client.initialize(options={})
        for name in ("x", "y", "z"):
            document = {"uri": (dead / name).as_uri(), "languageId": "x", "version": 1, "text": ""}
            client.send(notification("textDocument/didOpen", textDocument=document))
        session = client.session(project, f"scripted/{script}")
        result = client.ask(1, "agent/prompt", sessionId=session, text="Go")["result"]
        events = [m["params"] for m in client.seen if m.get("method") == "agent/event"]
        ends = [event["outcome"] for event in events if event["type"] == "tool_execution_end"]
        client.ask(2, "shutdown")
        client.notify("exit")

    assert (result["text"], ends) == ("Done.", ["ok"] * 20)
    assert (project / "a.txt").read_text(encoding="utf-8") == "10\n"
