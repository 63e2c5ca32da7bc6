"""The command line. Each command loads only what it needs, so that a server starts without the rest."""

import os
import sys

from pilothouse_server import __version__
from pilothouse_server.wire import entry

__all__ = ["main"]

_USAGE = 2

_HELP = """\
usage: pilothouse [COMMAND] [OPTIONS]

commands:
  serve   talk to an editor on standard input and output (the default; --stdio is accepted)
  run     give the agent one prompt and wait until it is done; pilothouse run --help says more
  schema  print the JSON Schema of the protocol; --out DIR writes it with its page, --docs prints the page,
          --settings [--docs] the same of the settings
  doctor  say what is there and what is missing; --json for programs
  sessions
          list, show, grep, export and delete the sessions that are kept; pilothouse sessions --help says more
  demo    watch the agent fix a sample project; needs no key and no network

options:
  --version, --help
"""


def main(argv: list[str] | None = None) -> int:
    """The exit code. Without arguments it has the process, and its own command line, to itself."""
    if argv is not None:
        return _command(argv)
    entry.begin()
    if sentence := entry.unsupported(os.name, sys.platform):
        entry.complain(f"pilothouse: {sentence}")
        return 1
    code = _command(sys.argv[1:])
    entry.say("")
    return code


def _command(arguments: list[str]) -> int:
    match arguments:
        case ["run", *rest]:
            return _run(rest)
        case ["demo", *rest]:
            return _demo(rest)
        case ["schema", "--settings", *rest]:
            from pilothouse_cli.settings_schema import write_settings_schema

            return write_settings_schema(rest)
        case ["schema", *rest]:
            from pilothouse_server.protocol.schema import write_schema

            return write_schema(rest)
        case ["sessions", *rest]:
            return _sessions(rest)
        case ["doctor", *rest]:
            from pilothouse_cli.doctor import examine

            return examine(rest)
        case ["--version" | "-V"]:
            return _version()
        case ["--help" | "-h" | "help"]:
            entry.say(_HELP)
            return 0
        case [] | ["serve" | "--stdio"] | ["serve", "--stdio"]:
            return _serve()
        case ["serve", *rest]:
            return _usage(f"pilothouse serve takes no {rest[0]!r}; it reads its settings from the client")
        case _:
            return _usage(f"there is no command {arguments[0]!r}")


def _serve() -> int:
    from pilothouse_server.serving import serve

    return serve()


def _run(arguments: list[str]) -> int:
    from pilothouse_cli.run.options import parse_run

    try:
        options = parse_run(arguments)
    except SystemExit as ending:
        return ending.code if isinstance(ending.code, int) else _USAGE
    from pilothouse_cli.run.command import run_prompt

    return run_prompt(options)


def _demo(arguments: list[str]) -> int:
    if arguments in (["--help"], ["-h"]):
        entry.say(_HELP)
        return 0
    if arguments:
        return _usage(f"pilothouse demo takes no {arguments[0]!r}")
    from pilothouse_cli.demo.command import run_demo

    return run_demo()


def _sessions(arguments: list[str]) -> int:
    from pilothouse_cli.sessions import sessions

    try:
        return sessions(arguments)
    except SystemExit as ending:
        return ending.code if isinstance(ending.code, int) else _USAGE


def _version() -> int:
    entry.say(f"pilothouse {__version__}\n")
    return 0


def _usage(message: str) -> int:
    entry.complain(f"pilothouse: {message}\n\n{_HELP}")
    return _USAGE


if __name__ == "__main__":
    sys.exit(main())
