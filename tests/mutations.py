"""Small changes of the product, drawn by a seed, each of which some test must notice.

    python tests/mutations.py [--seed 8] [--count 20] [--jobs 2] [kernel files server cli permissions]

Each mutant is a copy of the tree with one change. The tests nearest to the changed module run first, and
the first failure ends it; only a survivor meets the whole suite (but for real editors). A survivor is a gap
in the tests, unless what it changes is nothing that anybody could see.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
AREAS = {
    "kernel": "agent/pilothouse_agent/kernel",
    "files": "agent/pilothouse_agent/files",
    "server": "server/pilothouse_server",
    "cli": "server/pilothouse_cli",
    "permissions": "agent/pilothouse_agent/permissions",
}
COPIED = ("agent", "server", "tests", "docs", "benchmarks", "pyproject.toml", "README.md", "CHANGELOG.md")
SWAPS: dict[type[ast.AST], str] = {
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Is: "is not",
    ast.IsNot: "is",
    ast.In: "not in",
    ast.NotIn: "in",
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "+",
    ast.And: "or",
    ast.Or: "and",
}
LIMIT = 900
"""Seconds for the tests of one mutant at each distance; a mutant that hangs is noticed."""


@dataclass(frozen=True)
class Mutant:
    area: str
    path: Path
    line: int
    start: int
    end: int
    """Bytes of the file that are replaced."""
    old: str
    new: str

    def __str__(self) -> str:
        place = f"{self.path.relative_to(ROOT)}:{self.line}"
        return f"{self.area:<11} {place}  {_short(self.old)} → {_short(self.new)}"


def _short(text: str) -> str:
    return re.sub(r"\s+", " ", text)[:70]


def mutants(area: str) -> list[Mutant]:
    """All that could be drawn in an area, in a fixed order."""
    found: list[Mutant] = []
    for path in sorted((ROOT / AREAS[area]).rglob("*.py")):
        source = path.read_bytes()
        starts = [0, *(match.end() for match in re.finditer(rb"\n", source))]
        for node, new in _changes(ast.parse(source), source.decode("utf-8")):
            start = starts[node.lineno - 1] + node.col_offset
            end = starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
            old = source[start:end].decode("utf-8")
            if old != new:
                found.append(Mutant(area, path, node.lineno, start, end, old, new))
    return found


def _changes(tree: ast.Module, source: str) -> Iterator[tuple[ast.expr | ast.stmt, str]]:
    for node in _running(tree):
        match node:
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in SWAPS:
                yield node, f"({_text(source, left)} {SWAPS[type(op)]} {_text(source, right)})"
            case ast.BinOp(left=left, op=op, right=right) if type(op) in SWAPS:
                yield node, f"({_text(source, left)} {SWAPS[type(op)]} {_text(source, right)})"
            case ast.BoolOp(op=op, values=values):
                joined = f" {SWAPS[type(op)]} ".join(f"({_text(source, value)})" for value in values)
                yield node, f"({joined})"
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                yield node, f"({_text(source, operand)})"
            case ast.If(test=test) | ast.While(test=test) if _text(source, test) != "TYPE_CHECKING":
                yield test, f"(not ({_text(source, test)}))"
            case ast.Constant(value=bool() as value):
                yield node, str(not value)
            case ast.Constant(value=int() as value):
                yield node, str(value + 1)
            case ast.Return(value=ast.expr() as value) if not _is_none(value):
                yield value, "None"
            case ast.Break():
                yield node, "continue"
            case ast.Expr(value=ast.Call() | ast.Await()):
                yield node, "pass"
            case _:
                pass


def _running(tree: ast.AST) -> Iterator[ast.AST]:
    """What runs, without annotations, docstrings and decorators."""
    for field, value in ast.iter_fields(tree):
        if field in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for child in value if isinstance(value, list) else [value]:  # pyright: ignore[reportUnknownVariableType]
            if isinstance(child, ast.AST) and not isinstance(child, ast.ImportFrom | ast.Import):
                yield child
                yield from _running(child)


def _text(source: str, node: ast.expr) -> str:
    return ast.get_source_segment(source, node) or ""


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def noticed_by(mutant: Mutant) -> str | None:
    """The test that failed first, or None for a survivor."""
    with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
        copy = Path(folder) / "project"
        copy.mkdir()
        for name in COPIED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, copy / name)
        if (shared := ROOT.parent / "shared").exists():
            (Path(folder) / "shared").symlink_to(shared.resolve())
        changed = copy / mutant.path.relative_to(ROOT)
        text = changed.read_bytes()
        changed.write_bytes(text[: mutant.start] + mutant.new.encode() + text[mutant.end :])
        for marks, tests in _nearest_first(copy, mutant):
            if (failed := _failed(copy, marks, tests)) is not None:
                return failed
    return None


def _nearest_first(copy: Path, mutant: Mutant) -> Iterator[tuple[str, list[str]]]:
    """Which marks in which files; the quick ones of a distance before its slow ones."""
    module = ".".join(mutant.path.relative_to(ROOT).with_suffix("").parts[1:])
    every = sorted(path.relative_to(copy) for path in (copy / "tests").rglob("test_*.py"))
    texts = {path: (copy / path).read_text(encoding="utf-8") for path in every}
    near = [path for path in every if re.search(rf"\b{re.escape(module)}\b", texts[path])]
    same = [path for path in every if path.parts[1] == mutant.area and path not in near]
    rest = [path for path in every if path not in near and path not in same]
    for tests in (near, same, rest):
        for marks in ("not slow and not editor", "slow and not editor"):
            if tests:
                yield marks, [str(path) for path in tests]


def _failed(copy: Path, marks: str, tests: list[str]) -> str | None:
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider"]
    environment = {**os.environ, "PYTHONPATH": f"{copy / 'agent'}:{copy / 'server'}"}
    process = subprocess.Popen(
        [*command, "--tb=no", "--hypothesis-seed=0", "-m", marks, *tests],
        cwd=copy,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        process.communicate()
        return "it hung"
    if process.returncode in (0, 5):
        return None
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", output, re.MULTILINE)
    return failed[1] if failed else output.strip().rpartition("\n")[2]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("areas", nargs="*", default=list(AREAS))
    parser.add_argument("--seed", type=int, default=8)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--list", action="store_true", help="only say what is drawn")
    options = parser.parse_args()
    drawn: list[Mutant] = []
    for area in options.areas:
        drawn += random.Random(f"{options.seed} {area}").sample(mutants(area), options.count)
    if options.list:
        print(*drawn, sep="\n")
        return 0
    survivors = 0
    with ThreadPoolExecutor(options.jobs) as jobs:
        for mutant, test in zip(drawn, jobs.map(noticed_by, drawn), strict=True):
            survivors += test is None
            print(f"{mutant}  {'SURVIVED' if test is None else test}", flush=True)
    print(f"{len(drawn)} mutants, {survivors} survived")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
