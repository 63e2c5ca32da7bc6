"""Paths: the workspace boundary on real paths, path rules, protected files."""

from __future__ import annotations

from pathlib import Path

import pytest

from pilothouse_agent.files.workspace import Workspace
from pilothouse_agent.kernel.foreign_documents import path_for_uri
from pilothouse_agent.kernel.questions import PermissionRequest
from pilothouse_agent.permissions.approval_mode import ApprovalMode
from pilothouse_agent.permissions.pipeline import Pipeline
from pilothouse_agent.tools.search.protected_files import ProtectedFiles
from support.file_tools import FileTools
from support.judging import HOME, WORKSPACE, pipeline, touching, verdict


async def _written(tools: FileTools, path: str) -> PermissionRequest:
    """What the pipeline is asked about a write to this path."""
    write = await tools.bind("write_file", path=path, content="x")
    touched = " ".join(touch.path for touch in write.footprint.writes)
    return touching("write_file", "edit", writes=touched)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "ws"
    folder.mkdir()
    return folder


@pytest.fixture
def tools(folder: Path) -> FileTools:
    return FileTools(folder)


@pytest.mark.covers("R025", "P1")
async def test_writing_through_a_link_out_of_the_workspace_asks_even_where_edits_are_allowed(
    folder: Path, tools: FileTools
) -> None:
    shared = folder.parent / "shared.env"
    shared.write_text("KEEP=1", encoding="utf-8")
    (folder / ".env").symlink_to("../shared.env")
    made = Pipeline(tools.workspace.folders, mode=ApprovalMode.EDITS, home=HOME)
    question = made.judge(await _written(tools, ".env"))
    assert (question.decision, question.reason, question.risk) == (
        "ask",
        f"`{shared}` is outside the workspace.",
        "high",
    )


@pytest.mark.covers("R213")
@pytest.mark.parametrize("mode", [ApprovalMode.ASK, ApprovalMode.EDITS])
def test_reading_what_the_editor_shows_of_another_scheme_asks(mode: ApprovalMode) -> None:
    made = pipeline({"tools": {"read_file": "allow"}}, mode=mode)
    question = made.judge(touching("read_file", "read", reads=path_for_uri("git:/home/me/project/a.py?ref")))

    assert (question.decision, question.reason, question.risk, question.options[1].scope) == (
        "ask",
        "`git:/home/me/project/a.py?ref` is a document in the editor that is not a file.",
        "high",
        "read_file with exactly these paths: git:/home/me/project/a.py?ref",
    )


@pytest.mark.covers("R213", "P1")
def test_an_old_version_of_a_forbidden_file_is_forbidden() -> None:
    made = pipeline({"paths": {"*.pem": "deny"}}, mode=ApprovalMode.ALL)
    shown = path_for_uri("git:/home/me/project/key%2Epem?ref")

    assert made.judge(touching("read_file", "read", reads=shown)).decision == "deny"


@pytest.mark.covers("R061")
async def test_writing_through_a_dangling_link_out_of_the_workspace_asks(
    folder: Path, tools: FileTools
) -> None:
    (folder / "new").symlink_to(folder.parent / "outside" / "created")
    made = Pipeline(tools.workspace.folders, mode=ApprovalMode.EDITS, home=HOME)
    assert made.judge(await _written(tools, "new")).decision == "ask"
    made.mode = ApprovalMode.NONE
    assert made.judge(await _written(tools, "new")).decision == "deny"


@pytest.mark.parametrize(
    ("path", "decision"),
    [
        (WORKSPACE, "allow"),
        (f"{WORKSPACE}/a", "allow"),
        (f"{WORKSPACE}-other/a", "ask"),
        ("/work", "ask"),
        ("/", "ask"),
    ],
)
def test_the_boundary_is_the_folder_not_a_prefix_of_its_name(path: str, decision: str) -> None:
    assert pipeline().judge(touching("read_file", "read", reads=path)).decision == decision


def test_every_folder_of_the_workspace_is_inside() -> None:
    made = Pipeline(["/a", "/b"], home=HOME)
    decisions = [made.judge(touching("read_file", "read", reads=path)).decision for path in ("/b/x", "/c/x")]
    assert decisions == ["allow", "ask"]


@pytest.mark.parametrize(
    ("pattern", "matching"),
    [
        (".env", ["/home/me/project/.env", "/home/me/project/a/.env", "/etc/.env"]),
        ("*.pem", ["/home/me/project/a/k.pem"]),
        ("**/.env", ["/home/me/project/.env", "/home/me/project/a/.env", "/etc/.env"]),
        ("a/*", ["/home/me/project/a/.env", "/home/me/project/a/k.pem", "/home/me/project/a/b/c"]),
        ("a/?.pem", ["/home/me/project/a/k.pem"]),
        ("a/[!x-z].pem", ["/home/me/project/a/k.pem"]),
        ("./a/**/c", ["/home/me/project/a/b/c"]),
        ("a", ["/home/me/project/a/.env", "/home/me/project/a/k.pem", "/home/me/project/a/b/c"]),
        ("b/", ["/home/me/project/a/b/c"]),
        ("~/x", ["/home/someone/x"]),
        ("/etc/**", ["/etc/.env"]),
        ("A/B/C", ["/home/me/project/a/b/c"]),
    ],
)
def test_path_patterns_match_as_in_an_ignore_file(pattern: str, matching: list[str]) -> None:
    paths = [
        "/home/me/project/.env",
        "/home/me/project/a/.env",
        "/home/me/project/a/k.pem",
        "/home/me/project/a/b/c",
    ]
    paths += ["/etc/.env", "/home/someone/x"]
    made = pipeline({"paths": {pattern: "deny"}})
    denied = [p for p in paths if made.judge(touching("read_file", "read", reads=p)).decision == "deny"]
    assert denied == matching


@pytest.mark.covers("R137")
def test_a_denied_file_is_denied_by_name_to_tools_and_commands() -> None:
    made = pipeline({"paths": {".env": "deny", "id_rsa": "deny"}, "commands": {"*": "allow"}})
    calls = [touching("grep", "search", reads=".env"), touching("read_file", "read", reads="a/id_rsa")]
    assert [made.judge(call).decision for call in calls] == ["deny", "deny"]
    decisions = {
        "cat .env": "deny",
        "grep SECRET ./a/../.env": "deny",
        "ls; cat <.env": "deny",
        "sort --files0-from=.env": "deny",
        "echo x > a/id_rsa": "deny",
        "( cat '.env'": "deny",
        "coproc cat .env": "deny",
        "cat a": "allow",
    }
    assert verdict(made, *decisions) == decisions


@pytest.mark.covers("R137")
def test_searches_leave_out_what_reading_denies_or_asks_about() -> None:
    made = pipeline(
        {"paths": {"secret/plan": "deny", "vault": "ask", ".npmrc": "allow", "w": {"write": "deny"}}}
    )
    hidden = ProtectedFiles(Workspace([WORKSPACE]), made.protected_globs)
    protected = [".env", "a/.env.local", "id_rsa", "a/b.PEM", ".ssh/config", "secret/plan", "vault/a/b"]
    plain = ["a.py", ".npmrc", "secret/other", "w", ".git/config"]
    for paths, expected in ((protected, True), (plain, False)):
        full = [f"{WORKSPACE}/{path}" for path in paths]
        assert {path: (made.protects(path), hidden.covers(path)) for path in full} == dict.fromkeys(
            full, (expected, expected)
        )


@pytest.mark.parametrize(
    ("path", "reading", "writing"),
    [
        (".env", "ask", "ask"),
        (".env.example", "allow", "allow"),
        ("a/id_ed25519", "ask", "ask"),
        (".ssh/config", "ask", "ask"),
        (".git/config", "allow", "ask"),
        (".pilothouse/settings.toml", "allow", "ask"),
        (".vscode/tasks.json", "allow", "ask"),
        (".gitignore", "allow", "allow"),
    ],
)
def test_protected_files_ask_also_where_edits_are_allowed(path: str, reading: str, writing: str) -> None:
    made = pipeline(mode=ApprovalMode.EDITS)
    assert made.judge(touching("read_file", "read", reads=path)).decision == reading
    assert made.judge(touching("edit_file", "edit", writes=path)).decision == writing


def test_a_rule_for_the_path_opens_what_a_rule_for_the_tool_does_not() -> None:
    calls = [touching("read_file", "read", reads=path) for path in ("/usr/include/a.h", ".env")]
    by_tool = pipeline({"tools": {"read_file": "allow"}})
    by_path = pipeline({"paths": {"/usr/include/**": {"read": "allow"}, ".env": "allow"}})
    assert [by_tool.judge(call).decision for call in calls] == ["ask", "ask"]
    assert [by_path.judge(call).decision for call in calls] == ["allow", "allow"]


def test_a_path_allowed_to_be_read_is_not_open_to_commands_that_may_write_it() -> None:
    made = pipeline({"commands": {"*": "allow"}, "paths": {"/opt/a": {"read": "allow"}}})
    assert verdict(made, "cat /opt/a", "touch /opt/a") == {"cat /opt/a": "allow", "touch /opt/a": "ask"}


def test_a_workspace_below_a_folder_with_a_telling_name_is_not_protected_as_a_whole() -> None:
    made = Pipeline(["/home/someone/.vscode/plugin"], mode=ApprovalMode.EDITS, home=HOME)
    edit = touching("edit_file", "edit", writes="/home/someone/.vscode/plugin/a.ts")
    assert made.judge(edit).decision == "allow"


def test_an_allowed_command_still_asks_before_it_names_what_is_outside_or_writes_a_file() -> None:
    made = pipeline({"commands": {"cat": "allow", "tar": "allow"}})
    decisions = {
        "cat a": "allow",
        "cat a 2>&1 >/dev/null": "allow",
        "cat ../a": "ask",
        "cat $HOME/a": "ask",
        "cat ~root/a": "ask",
        "cat a > b": "ask",
        "cat a > $x": "ask",
        "tar --directory=/ -x": "ask",
        "tar -C/tmp -x": "ask",
        "cat http://example.org/a": "allow",
    }
    assert verdict(made, *decisions) == decisions
    made.mode = ApprovalMode.EDITS
    assert verdict(made, "cat a > b", "cat a > ../b") == {"cat a > b": "allow", "cat a > ../b": "ask"}
