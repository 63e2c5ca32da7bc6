"""Parallel calls leave the files and give the results that serial ones would (T2)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pilothouse_agent.kernel.settings import RunSettings
from support.kernel import asks, bench, call, says
from support.memory_files import Files, Operation, OperationKind, file_tools, outcome

PATHS = st.sampled_from(["/a", "/src/a", "/src/b", "/src/deep/a", "/srcs/a", "/new"])
FOLDERS = st.sampled_from(["/", "/src", "/src/deep", "/srcs"])
START: Files = {"/a": "1", "/src/a": "2", "/src/b": "3", "/src/deep/a": "4", "/srcs/a": "5"}


@st.composite
def operations(draw: st.DrawFn) -> Operation:
    kinds: list[OperationKind] = [
        "read",
        "write",
        "append",
        "append",
        "copy",
        "list",
        "fill",
        "look",
        "shell",
    ]
    kind = draw(st.sampled_from(kinds))
    path = draw(FOLDERS if kind in ("list", "fill") else PATHS)
    pauses = draw(st.tuples(st.integers(0, 4), st.integers(0, 4)))
    return Operation(kind, path, draw(PATHS), draw(st.sampled_from("xyz")), pauses)


def serially(batch: dict[str, Operation]) -> tuple[list[str], Files]:
    files, said = dict(START), list[str]()
    for name, operation in batch.items():
        text, changed = outcome(operation, files)
        files.update(changed)
        said.append(f"R {name}:{text}")
    return said, files


@pytest.mark.slow
@pytest.mark.covers("T2", "T3")
@settings(max_examples=300, deadline=None)
@given(st.lists(operations(), min_size=2, max_size=10), st.sampled_from([2, 8]))
async def test_a_parallel_batch_ends_as_a_serial_one(drawn: list[Operation], parallel: int) -> None:
    batch = {f"c{number}": operation for number, operation in enumerate(drawn)}
    files = dict(START)
    b = bench(
        asks(*(call(name, name) for name in batch)),
        says("done"),
        tools=file_tools(batch, files),
        settings=RunSettings(parallel=parallel),
    )

    await b.run("Hi")

    assert (b.shown[2:-1], files) == serially(batch)
