"""Recorded and hand-made answers that are kept beside this project, and what should come of them."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from support.model_server import Answer, Piece

__all__ = ["NOW", "body_of", "cases", "clean", "cuts", "played"]

DATA = Path(__file__).parents[3] / "shared" / "streams" / "data"
NOW = datetime.fromisoformat("2026-03-01T12:00:00Z")
"""Against which the dates in recorded headers are measured."""
FRAMING = ("content-length", "transfer-encoding", "connection")
ABSENT = pytest.mark.skip("the shared streams are not beside this project")


def cases(kind: str, *, largest: int | None = None) -> list[Any]:
    """The descriptions of all recordings of a kind, as parameters of a test.

    Those whose bodies have more than `largest` bytes are marked slow.
    """
    metas = [json.loads(path.read_bytes()) for path in sorted(DATA.glob("*.json"))]
    chosen = [meta for meta in metas if meta["kind"] == kind]
    return [pytest.param(meta, id=meta["id"], marks=_marks(meta, largest)) for meta in chosen] or [
        pytest.param(None, marks=ABSENT)
    ]


def body_of(meta: Any) -> bytes:
    return (DATA / f"{meta['id']}.sse").read_bytes()


def clean(meta: Any) -> bool:
    """Whether the body alone says all: the connection was not lost, nor the body compressed."""
    how, headers = meta["delivery"], {name.lower() for name in meta["http"]["headers"]}
    return how["end"] == "clean" and how["mode"] != "none" and "content-encoding" not in headers


def cuts(meta: Any) -> Iterator[list[bytes]]:
    """The body in pieces of one byte, of seven, and of random lengths that are the same each time."""
    body, chance = body_of(meta), random.Random(meta["id"])
    for size in (1, 7):
        yield [body[at : at + size] for at in range(0, len(body), size)]
    borders = [0, *sorted(chance.randint(0, len(body)) for _ in range(min(200, len(body)))), len(body)]
    yield [body[start:stop] for start, stop in pairwise(borders)]


def played(meta: Any) -> Answer:
    """The answer as it is to go over the wire."""
    how, body = meta["delivery"], body_of(meta)
    headers = {name: value for name, value in meta["http"]["headers"].items() if name.lower() not in FRAMING}
    length = how.get("content_length", len(body)) if how.get("transfer") == "content-length" else None
    pieces = _pieces(how, body)
    return Answer(pieces, headers=headers, end=how["end"], length=length, silent=how["mode"] == "none")


def _marks(meta: Any, largest: int | None) -> list[pytest.MarkDecorator]:
    pauses = sum(step.get("sleep_ms", 0) for step in meta["delivery"].get("steps", []))
    is_slow = pauses > 400 if largest is None else len(body_of(meta)) > largest
    return [pytest.mark.slow] if is_slow else []


def _pieces(how: Any, body: bytes) -> tuple[Piece, ...]:
    if how["mode"] != "steps":
        size = 1 if how["mode"] == "bytes" else max(1, len(body))
        return tuple(body[at : at + size] for at in range(0, len(body), size))
    pieces: list[Piece] = []
    for step in how["steps"]:
        if "send" in step:
            pieces.append(body[: step["send"]])
            body = body[step["send"] :]
        else:
            pieces.append(step["sleep_ms"] / 1000)
    return tuple(piece for piece in (*pieces, body) if piece)
