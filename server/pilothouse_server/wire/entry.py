"""What holds in each process of ours before anything else is loaded, and how one starts another.

Until `begin` has run, only what the interpreter itself has loaded may be imported: an interrupt may come at
any time, and anything else might come out of the current folder, `typing` and `__future__` too.
"""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

__all__ = [
    "begin",
    "complain",
    "ending_signals",
    "fill_gaps",
    "own_process",
    "say",
    "signals_end_at_once",
    "unsupported",
]

_OWN_FOLDER = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
_OWN_FOLDERS = (_OWN_FOLDER, os.path.join(os.path.dirname(_OWN_FOLDER), "agent"))
"""What holds our packages, also where they run from their source."""
_INTERRUPTED = 130
_START = "import sys; sys.path[:0] = {folders!r}; from pilothouse_cli.main import main; sys.exit(main())"
_ELSEWHERE = (
    "Pilothouse runs on Linux, on macOS and in WSL, not on {name} itself yet. "
    "In Windows, install WSL (wsl --install) and Pilothouse in there."
)


def begin() -> None:
    """To be called once, first of all."""
    sys.excepthook = _silent_when_interrupted
    foreign = _foreign_folders()
    sys.path[:] = [folder for folder in sys.path if folder not in foreign]
    signals_end_at_once()
    _open_closed_streams()


def unsupported(name: str, platform: str) -> str | None:
    """A sentence where this system, by `os.name` and `sys.platform`, is none that we run on."""
    if name == "posix" and platform not in ("win32", "emscripten", "wasi"):
        return None
    return _ELSEWHERE.format(name="Windows" if name == "nt" or platform == "win32" else platform)


def ending_signals() -> dict[str, int]:
    """What asks a process to end, by name, as far as this system has it."""
    import signal

    names = ("SIGINT", "SIGTERM", "SIGHUP")
    return {name: getattr(signal, name) for name in names if hasattr(signal, name)}


def signals_end_at_once() -> None:
    """For as long as nothing is begun that has to be ended; a signal that is ignored stays so."""
    import signal

    for number in ending_signals().values():
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _end)


def say(text: str) -> None:
    """To standard output. Raises SystemExit when it cannot be written; a reader that left needs no word."""
    try:
        if text:
            sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        # What is left in the buffer would be tried again, and complained of, at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        if not isinstance(error, BrokenPipeError):
            complain(f"pilothouse: standard output cannot be written: {error.strerror}")
        raise SystemExit(1) from None


def complain(text: str) -> None:
    """To standard error, as far as it can be written."""
    try:
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()
    except OSError:
        return


def own_process(*arguments: str) -> tuple[str, ...]:
    """The command of a process of ours, which imports nothing from the folder it is started in.

    It ignores Python's own variables, in which an empty entry means that folder, but leaves them as
    they are for what it starts in turn; what they name elsewhere is still found.
    """
    named = [] if sys.flags.ignore_environment else os.environ.get("PYTHONPATH", "").split(os.pathsep)
    foreign = _foreign_folders()
    folders = [folder for folder in named if os.path.isabs(folder) and folder not in foreign]
    utf8 = ("-X", "utf8") if sys.flags.utf8_mode else ()
    return (sys.executable, "-E", "-P", *utf8, "-c", _START.format(folders=folders), *arguments)


def fill_gaps() -> None:
    """Put the null device where a standard descriptor is closed, lest something else get its number."""
    while (null := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(null, True)
    os.close(null)


def _end(number: int, frame: object) -> None:
    os._exit(128 + number)


def _silent_when_interrupted(
    kind: type[BaseException], error: BaseException, trace: "TracebackType | None"
) -> None:
    if issubclass(kind, KeyboardInterrupt):
        os._exit(_INTERRUPTED)
    sys.__excepthook__(kind, error, trace)


def _open_closed_streams() -> None:
    """A standard stream that is closed is the null device; a character that one cannot write is escaped."""
    from io import TextIOWrapper

    fill_gaps()
    sys.stdin = sys.stdin or os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stdout = sys.stdout or os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", encoding="utf-8", closefd=False)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _foreign_folders() -> set[str]:
    """What we were given to import from that is in the current folder, as it stands in `sys.path`."""
    try:
        here = os.path.realpath(os.getcwd())
    except OSError:
        return {""}
    given = [] if sys.flags.ignore_environment else os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if not sys.flags.safe_path:
        given += sys.path[:1]
    foreign = {os.path.abspath(folder) for folder in given if _is_inside(folder, here)}
    return {"", *foreign, *(folder for folder in given if os.path.abspath(folder) in foreign)}


def _is_inside(folder: str, here: str) -> bool:
    """What holds ourselves is not foreign, wherever it is."""
    real = os.path.realpath(folder)
    if real in _OWN_FOLDERS:
        return False
    return not os.path.isabs(folder) or real == here or real.startswith(os.path.join(here, ""))
