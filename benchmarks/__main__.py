"""The command: run cases, print what came out, write it as JSON."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.bench import FULL, TINY, opened
from benchmarks.cases import CASES
from benchmarks.report import table

__all__ = ["main"]

_PACKAGES = ("pilothouse", "httpx", "orjson", "pydantic", "pygls")


def main() -> int:
    options = _parser().parse_args()
    sizes = TINY if options.tiny else FULL
    if options.repeats:
        sizes = replace(sizes, repeats=options.repeats)
    names = options.names or list(CASES)
    results: dict[str, Any] = {}
    with opened(sizes) as bench:
        for name in names:
            results[name] = CASES[name](bench).to_json()
            sys.stdout.write(table({name: results[name]}) + "\n")
            sys.stdout.flush()
    if options.json:
        whole = {"machine": _machine(), "cases": results}
        options.json.write_text(json.dumps(whole, indent=2) + "\n", encoding="utf-8")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*CASES, []], metavar="NAME", help=", ".join(CASES))
    parser.add_argument("--json", type=Path, metavar="FILE", help="where the figures go as JSON")
    parser.add_argument("--repeats", type=int, metavar="N", help="how often each side does its work")
    parser.add_argument("--tiny", action="store_true", help="next to nothing of each, to see that it runs")
    return parser


def _machine() -> dict[str, Any]:
    """What the figures were measured on; the load says how far to trust them."""
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
        "packages": {name: version(name) for name in _PACKAGES},
    }


if __name__ == "__main__":
    sys.exit(main())
