"""What holds in each process of ours from its first import on: signals, streams, folders, systems."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from pilothouse_server.wire.entry import own_process, unsupported
from support.wire_run import settled_home

pytestmark = pytest.mark.slow

Ended = subprocess.CompletedProcess[str]

PILOTHOUSE = (sys.executable, "-P", "-m", "pilothouse_cli.main")
SCRIPT = str(Path(sys.executable).with_name("pilothouse"))


def ended(
    *command: str, folder: Path, cwd: Path | None = None, variables: Mapping[str, str] | None = None
) -> Ended:
    environment = {**settled_home(folder / "home"), **(variables or {})}
    return subprocess.run(
        command,
        cwd=cwd or folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=50,
    )


def play(folder: Path, *turns: dict[str, object]) -> str:
    script = folder / "play.json"
    script.write_text(json.dumps({"turns": turns}), encoding="utf-8")
    return f"scripted/{script}"


def in_shell(redirections: str, *command: str) -> tuple[str, ...]:
    return ("sh", "-c", f'exec "$@" {redirections}', "sh", *command)


@pytest.mark.covers("R269")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize(
    ("command", "module"),
    [
        (["run", "Hi"], "argparse"),
        (["run", "Hi"], "asyncio"),
        (["run", "Hi"], "pilothouse_cli.run.stops"),
        (["doctor"], "json"),
        (["doctor"], "asyncio"),
        (["demo"], "tempfile"),
        (["schema"], "pydantic"),
    ],
)
def test_a_signal_during_the_imports_ends_the_process_with_its_code_and_nothing_else(
    number: signal.Signals, code: int, command: list[str], module: str, tmp_path: Path
) -> None:
    process = subprocess.Popen(
        [sys.executable, "-X", "importtime", *PILOTHOUSE[1:], *command],
        cwd=tmp_path,
        env={**settled_home(tmp_path), "TMPDIR": str(tmp_path)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    with process.stdout, process.stderr:
        for line in process.stderr:
            if line.startswith("import time:") and line.split("|")[-1].strip() == module:
                process.send_signal(number)
                break
        said = [line for line in process.stderr if not line.startswith("import time:")]

        assert (process.wait(20), said, process.stdout.read()) == (code, [], "")
    assert list(tmp_path.glob("pilothouse-demo-*")) == []


def test_an_interrupt_that_is_ignored_stays_so(tmp_path: Path) -> None:
    script = (
        "import os, signal; from pilothouse_server.wire.entry import begin\n"
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "begin(); os.kill(os.getpid(), signal.SIGINT); print('lives')"
    )

    assert ended(sys.executable, "-c", script, folder=tmp_path).stdout == "lives\n"


@pytest.mark.covers("R255")
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_a_run_with_closed_streams_does_its_work_and_says_the_rest_where_it_can(
    closed: str, tmp_path: Path
) -> None:
    write = {"id": "c", "name": "write_file", "arguments": {"path": "made", "content": "whole\n"}}
    model = play(tmp_path, {"calls": [write]}, {"text": "The answer."})
    command = (*PILOTHOUSE, "run", "--model", model, "--approve", "all", "Hi")
    done = ended(*in_shell(closed, *command), folder=tmp_path)

    assert (done.returncode, (tmp_path / "made").read_text(encoding="utf-8")) == (0, "whole\n")
    assert done.stdout == ("" if ">&-" in closed.replace("2>&-", "") else "The answer.\n")
    assert ("✓ completed" in done.stderr) == ("2>&-" not in closed)
    assert "Traceback" not in done.stderr


@pytest.mark.covers("R255")
@pytest.mark.parametrize("command", [["--version"], ["--help"], ["schema"], ["doctor", "--json"], ["bogus"]])
def test_no_command_minds_closed_streams(command: list[str], tmp_path: Path) -> None:
    open_one = ended(*PILOTHOUSE, *command, folder=tmp_path)
    closed = [
        ended(*in_shell(which, *PILOTHOUSE, *command), folder=tmp_path)
        for which in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-")
    ]

    assert [(one.returncode, "Traceback" in one.stderr) for one in closed] == [
        (open_one.returncode, False)
    ] * 4
    assert [one.stdout for one in closed] == [open_one.stdout, "", open_one.stdout, ""]


@pytest.mark.covers("R255")
@pytest.mark.parametrize("command", [["--version"], ["schema"], ["doctor"]])
def test_output_that_cannot_be_written_is_one_sentence(command: list[str], tmp_path: Path) -> None:
    full = ended(*in_shell(">/dev/full", *PILOTHOUSE, *command), folder=tmp_path)

    words = "pilothouse: standard output cannot be written: No space left on device\n"
    assert (full.returncode, full.stderr) == (1, words)


@pytest.mark.covers("R255")
@pytest.mark.parametrize("view", [[], ["--json"], ["--quiet"]])
@pytest.mark.parametrize(
    ("redirection", "why"),
    [(">/dev/full", "No space left on device"), ("1</dev/null", "Bad file descriptor")],
)
def test_an_answer_that_cannot_be_written_is_no_success(
    view: list[str], redirection: str, why: str, tmp_path: Path
) -> None:
    model = play(tmp_path, {"text": "The answer."})
    command = (*PILOTHOUSE, "run", *view, "--model", model, "Hi")
    done = ended(*in_shell(redirection, *command), folder=tmp_path)

    assert (done.returncode, done.stderr.splitlines()[-1]) == (
        1,
        f"pilothouse: standard output cannot be written: {why}",
    )


def test_a_reader_that_leaves_early_needs_no_word(tmp_path: Path) -> None:
    piped = ended("sh", "-c", '"$@" | head -n 1', "sh", *PILOTHOUSE, "schema", folder=tmp_path)

    assert (piped.stdout, piped.stderr) == ("{\n", "")


def test_what_an_encoding_lacks_is_written_as_an_escape(tmp_path: Path) -> None:
    found = ended(*PILOTHOUSE, "doctor", folder=tmp_path, variables={"PYTHONIOENCODING": "ascii"})

    assert (found.returncode, found.stdout.startswith("\\u2713 python: ")) == (0, True)


TRAPS = (
    *("__future__", "argparse", "asyncio", "collections", "contextlib", "dataclasses", "enum", "functools"),
    *(
        "json",
        "logging",
        "orjson",
        "pilothouse_agent",
        "platformdirs",
        "re",
        "select",
        "signal",
        "subprocess",
    ),
    *("tempfile", "types", "typing"),
)
# What the installer's own script imports before it imports us: pip's reads `re`, and that reads `enum`.
SCRIPTS_IMPORTS = re.findall(r"^import \w+", Path(SCRIPT).read_text(encoding="utf-8"), re.MULTILINE)
BEFORE_OURS = subprocess.check_output(
    (sys.executable, "-c", "; ".join((*SCRIPTS_IMPORTS, "print(*sys.modules)"))), text=True
).split()
OURS_TO_IMPORT = tuple(name for name in TRAPS if name not in BEFORE_OURS)
EVEN_EARLIER = ("sitecustomize", "usercustomize", "pilothouse_server", "runpy", "encodings")


def traps(folder: Path, *names: str) -> Callable[[], list[str]]:
    """Modules in `folder` that note that they were imported; the names of those that were."""
    marks = folder.parent / "imported"
    marks.mkdir(exist_ok=True)
    folder.mkdir(exist_ok=True)
    for name in names:
        (folder / f"{name}.py").write_text(f"open({str(marks / name)!r}, 'w').close()", encoding="utf-8")
    return lambda: sorted(mark.name for mark in marks.iterdir())


@pytest.mark.covers("R276")
@pytest.mark.parametrize("path", [None, "", ":", ".", "::/nowhere", "HERE", "sub", "HERE/sub"])
@pytest.mark.parametrize("command", [["doctor"], ["run", "--model", "MODEL", "Hi"], ["demo"]])
def test_nothing_is_imported_from_the_folder_a_command_is_called_in(
    path: str | None, command: list[str], tmp_path: Path
) -> None:
    here = tmp_path / "here"
    # What is imported before our first line, by a variable that names the folder, is the user's own doing.
    imported = traps(here, *OURS_TO_IMPORT, *(EVEN_EARLIER if path in (None, "") else ()))
    traps(here / "sub", *OURS_TO_IMPORT)
    model = play(tmp_path, {"text": "Done."})
    variables = {} if path is None else {"PYTHONPATH": path.replace("HERE", str(here))}
    done = ended(
        *(SCRIPT, *(word.replace("MODEL", model) for word in command)),
        folder=tmp_path,
        cwd=here,
        variables=variables,
    )

    # The demo's own project runs its tests with the user's variables, as any command does.
    ours = [] if command == ["demo"] and path not in (None, "") else imported()
    assert (done.returncode, ours) == (0, [])


@pytest.mark.parametrize("path", ["", ":", ".", "HERE", "::HERE/sub:LIBRARY"])
def test_a_process_that_we_start_imports_from_no_folder_of_the_project_but_keeps_the_variables(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, library = tmp_path / "here", tmp_path / "library"
    imported = traps(here, *TRAPS, *EVEN_EARLIER)
    traps(here / "sub", *TRAPS, *EVEN_EARLIER)
    traps(library, "extra")
    value = path.replace("HERE", str(here)).replace("LIBRARY", str(library))
    monkeypatch.chdir(here)
    monkeypatch.setenv("PYTHONPATH", value)
    command = [
        word.replace("from pilothouse_cli.main", "import os, tempfile; print(os.environ['PYTHONPATH']); "
                     "from pilothouse_cli.main")
        for word in own_process("--version")
    ]  # fmt: skip
    done = ended(*command, folder=tmp_path, cwd=here, variables={"PYTHONPATH": value})

    assert (done.stdout.splitlines()[0], done.stderr, imported()) == (value, "", [])


@pytest.mark.covers("R263")
@pytest.mark.parametrize("command", [["run", "Hi"], ["run", "--cwd", "sub", "Hi"]])
def test_a_current_folder_that_was_deleted_is_said(command: list[str], tmp_path: Path) -> None:
    deleted = in_deleted_folder(tmp_path, *command)

    words = "the current folder is not there any more; change to one that is, or name one"
    assert (deleted.returncode, deleted.stderr.splitlines()[-1]) == (
        2,
        f"pilothouse run: error: argument --cwd: {words}",
    )


@pytest.mark.covers("R263")
@pytest.mark.parametrize("command", [["doctor"], ["demo"], ["--version"], ["run", "--cwd", "/", "Hi"]])
def test_what_needs_no_current_folder_works_without_one(command: list[str], tmp_path: Path) -> None:
    model = play(tmp_path, {"text": "Done."})
    done = in_deleted_folder(tmp_path, *command, PILOTHOUSE_MODEL=model)

    assert (done.returncode, "Traceback" in done.stderr) == (0, False)


def in_deleted_folder(folder: Path, *command: str, **variables: str) -> Ended:
    deleted = folder / "deleted"
    deleted.mkdir()
    return ended(
        *("sh", "-c", f'cd "{deleted}" && rmdir "{deleted}" && exec "$@"', "sh", SCRIPT, *command),
        folder=folder,
        variables=variables,
    )


@pytest.mark.covers("R276")
@pytest.mark.parametrize(
    ("name", "platform", "words"),
    [
        ("posix", "linux", None),
        ("posix", "darwin", None),
        ("nt", "win32", "not on Windows itself yet"),
        ("posix", "wasi", "not on wasi itself yet"),
    ],
)
def test_a_system_that_we_do_not_run_on_is_told_what_to_do(
    name: str, platform: str, words: str | None
) -> None:
    sentence = unsupported(name, platform)

    assert sentence is None if words is None else words in (sentence or "")


@pytest.mark.covers("R276")
@pytest.mark.parametrize("command", [["run", "Hi"], ["serve"], ["doctor"], []])
def test_on_windows_every_command_ends_with_one_sentence(command: list[str], tmp_path: Path) -> None:
    script = f"{WINDOWS}\nsys.platform = 'win32'\nfrom pilothouse_cli.main import main\nsys.exit(main())"
    refused = ended(sys.executable, "-c", script, *command, folder=tmp_path)

    assert (refused.returncode, refused.stdout, refused.stderr) == (
        1,
        "",
        "pilothouse: Pilothouse runs on Linux, on macOS and in WSL, not on Windows itself yet. "
        "In Windows, install WSL (wsl --install) and Pilothouse in there.\n",
    )


@pytest.mark.covers("R276")
def test_every_module_can_be_imported_where_there_is_nothing_of_posix(tmp_path: Path) -> None:
    script = (
        "import asyncio, concurrent.futures, logging.handlers, tempfile, subprocess\n"
        f"{WINDOWS}\n"
        "import importlib, pkgutil, pilothouse_agent, pilothouse_server\n"
        "for package in (pilothouse_agent, pilothouse_server):\n"
        "    for module in pkgutil.walk_packages(package.__path__, package.__name__ + '.'):\n"
        "        importlib.import_module(module.name)\n"
        "print('all')"
    )
    done = ended(sys.executable, "-c", script, folder=tmp_path)

    assert (done.stdout, done.stderr) == ("all\n", "")


WINDOWS = """
import os, select, signal, sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name in ("fcntl", "grp", "posix", "pty", "pwd", "resource", "syslog", "termios", "tty"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
for name in ("fcntl", "grp", "pwd", "termios"):
    sys.modules.pop(name, None)
for name in ("SIGHUP", "SIGKILL", "SIGTSTP", "SIGCONT", "SIGWINCH", "SIGCHLD", "pthread_sigmask"):
    delattr(signal, name)
for name in ("killpg", "getpgrp", "tcgetpgrp", "getuid", "geteuid", "setsid", "O_NOCTTY", "O_NOFOLLOW",
             "O_DIRECTORY", "O_NONBLOCK", "O_CLOEXEC", "O_TMPFILE", "fchown", "fchmod", "mkfifo", "ttyname",
             "set_blocking", "pidfd_open", "EX_USAGE"):
    if hasattr(os, name):
        delattr(os, name)
del select.PIPE_BUF
"""
