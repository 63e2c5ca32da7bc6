"""`pilothouse sessions`: what sessions there are, and what is in them. Reads the logs itself, no server."""

from __future__ import annotations

import json
import os
import subprocess
from argparse import ArgumentParser, Namespace
from pathlib import Path

from pilothouse_agent.kernel.json_lines import inert
from pilothouse_agent.kernel.json_types import JsonObject
from pilothouse_agent.kernel.tooling import ToolError
from pilothouse_agent.session.log.export import as_json, as_markdown
from pilothouse_agent.session.log.folder import LogFolder
from pilothouse_agent.session.log.listing import Listed, list_sessions, listed
from pilothouse_agent.session.log.log_file import SessionLocked, delete_log
from pilothouse_agent.session.log.records import BadHeader
from pilothouse_agent.session.log.tree import LogTree, read_log
from pilothouse_agent.settings.places import changes_file, sessions_folder
from pilothouse_agent.tools.search.ripgrep import find_ripgrep
from pilothouse_agent.tools.visible import visible
from pilothouse_server.wire.entry import complain, say

__all__ = ["sessions"]


class _Problem(Exception):
    """A sentence for the user; exit code 1."""


def sessions(arguments: list[str]) -> int:
    given = _parser().parse_args(arguments)
    try:
        given.run(LogFolder(sessions_folder(os.environ)), given)
    except (_Problem, SessionLocked, BadHeader, ToolError) as problem:
        complain(f"pilothouse sessions: {problem}")
        return 1
    except OSError as error:
        complain(f"pilothouse sessions: {error.filename}: {error.strerror}")
        return 1
    return 0


def _parser() -> ArgumentParser:
    parser = ArgumentParser(prog="pilothouse sessions", description="Sessions that are kept on this machine.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    each = commands.add_parser("list", help="newest first, those of this folder unless --all is given")
    each.add_argument("--all", action="store_true", help="of every folder")
    each.add_argument("--limit", type=int, default=50, metavar="N", help="at most so many; default: 50")
    each.add_argument("--query", default="", metavar="TEXT", help="those whose title or first prompt has it")
    each.set_defaults(run=_list)
    each = commands.add_parser("show", help="one as Markdown, to read")
    each.add_argument("session", metavar="ID")
    each.set_defaults(run=_show)
    each = commands.add_parser("grep", help="search in all that was said")
    each.add_argument("text", metavar="TEXT")
    each.set_defaults(run=_grep)
    each = commands.add_parser("export", help="one as Markdown or JSON")
    each.add_argument("session", metavar="ID")
    each.add_argument("--out", type=Path, metavar="FILE", help="write it there; default: standard output")
    each.set_defaults(run=_export)
    each = commands.add_parser("delete", help="delete them, with what is kept to undo their changes")
    each.add_argument("sessions", metavar="ID", nargs="+")
    each.set_defaults(run=_delete)
    for command in commands.choices.values():
        command.add_argument("--json", action="store_true", help="for programs")
    return parser


def _list(folder: LogFolder, given: Namespace) -> None:
    cwd = None if given.all else os.path.realpath(os.getcwd())
    found = list_sessions(folder, cwd=cwd, query=given.query, limit=max(given.limit, 1)).sessions
    if given.json:
        _print({"sessions": [_as_json(entry) for entry in found]})
        return
    if not found:
        complain("pilothouse sessions: none here; --all shows those of every folder")
    for entry in found:
        where = f"  {visible(entry.cwd)}" if given.all else ""
        say(f"{entry.session_id}  {entry.updated[:16]}  {visible(entry.title) or '(nothing said)'}{where}\n")


def _show(folder: LogFolder, given: Namespace) -> None:
    tree = _read(folder, given.session)
    write = as_json if given.json else as_markdown
    text = write(tree.header, tree.path())
    say(inert(text.encode()).decode() if given.json else visible(text, lines=True))


def _export(folder: LogFolder, given: Namespace) -> None:
    tree = _read(folder, given.session)
    write = as_json if given.json else as_markdown
    text = write(tree.header, tree.path())
    if given.out is None:
        say(text)
    else:
        given.out.write_text(text, encoding="utf-8")


def _grep(folder: LogFolder, given: Namespace) -> None:
    """The sessions whose log has the text, in any case of letters, however JSON spells it."""
    spelled = json.dumps(given.text, ensure_ascii=False)[1:-1]
    if not folder.root.is_dir():
        raise _Problem("there are no sessions yet")
    command = [find_ripgrep(), "--no-config", "-i", "-F", "-c", "--null", "-g", "*.jsonl", "-e", spelled, "."]
    ended = subprocess.run(command, cwd=folder.root, capture_output=True, timeout=120, check=False)
    found: list[tuple[Listed, int]] = []
    for line in ended.stdout.splitlines():
        name, _, count = line.partition(b"\0")
        path = folder.root / os.fsdecode(name)
        entry = listed(path, path.stat().st_mtime_ns)
        if entry is not None and not entry.hidden:
            found.append((entry, int(count)))
    found.sort(key=lambda each: each[0].updated, reverse=True)
    if given.json:
        _print({"sessions": [{**_as_json(entry), "matches": count} for entry, count in found]})
        return
    if not found:
        raise _Problem(f"no session has {given.text!r}")
    for entry, count in found:
        say(f"{entry.session_id}  {entry.updated[:16]}  {count} ×  {visible(entry.title)}\n")


def _delete(folder: LogFolder, given: Namespace) -> None:
    missing = [each for each in given.sessions if folder.find(each) is None]
    if missing:
        raise _unknown(missing[0])
    for session_id in given.sessions:
        delete_log(folder.find(session_id), changes_file(os.environ, session_id))
    if given.json:
        _print({"deleted": given.sessions})


def _read(folder: LogFolder, session_id: str) -> LogTree:
    path = folder.find(session_id)
    if path is None:
        raise _unknown(session_id)
    return read_log(path)


def _unknown(session_id: str) -> _Problem:
    return _Problem(f"there is no session {session_id!r}; see pilothouse sessions list --all")


def _as_json(entry: Listed) -> JsonObject:
    value: JsonObject = {
        "sessionId": entry.session_id,
        "cwd": entry.cwd,
        "title": entry.title,
        "created": entry.created,
        "updated": entry.updated,
        "model": entry.model,
        "messages": entry.messages,
        "state": "locked" if entry.locked else "idle",
    }
    if entry.usage is not None and entry.usage.cost is not None:
        value["cost"] = format(entry.usage.cost, "f")
    return value


def _print(value: JsonObject) -> None:
    say(inert(json.dumps(value, indent=2).encode()).decode() + "\n")
