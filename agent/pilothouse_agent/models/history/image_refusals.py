"""What servers say of images they do not take: none at all, not so many, or not this one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from pilothouse_agent.kernel.messages import (
    ErrorKind,
    ImageBlock,
    ModelMessage,
    RefusedBlock,
    TextBlock,
    UserBlock,
)

__all__ = [
    "NO_IMAGES",
    "TOO_MANY_IMAGES",
    "UNSEEN",
    "WirePlace",
    "names_an_image",
    "refused_block",
    "sent_blocks",
    "wire_place",
]

_OF_ONE = r"(?!/|[- ]?(?:types?|formats?|files?|of|with|larger|bigger|dimensions?|sizes?|media|above|over)\b)"
NO_IMAGES = re.compile(
    r"unknown variant .image_url|image input is not (?:supported|enabled)"
    r"|(?:image|vision|multi-?modal) inputs? (?:is|are) not (?:supported|enabled)"
    r"|not support.{0,20}\b(?:images?|vision|multi-?modal)\b" + _OF_ONE + "|"
    r"no endpoints found that support image|image_url.{0,20}only supported by certain models"
    r"|not a (?:multi-?modal|vision)\b|does not have vision|at most 0 images?",
    re.IGNORECASE,
)
"""The model sees no images: no other refusal of one comes in these words."""
TOO_MANY_IMAGES = re.compile(
    r"at most ([1-9]\d*) images?|(?:up to|maximum (?:number )?of|max(?:imum)?:?) ([1-9]\d*) images?"
    r"|too (?:many images|much media)\D[^>]{0,60}> ?([1-9]\d*)"
    r"|too many images.{0,60}?(?:at most|only|up to|max(?:imum)?|limit)(?: is| of)?:? ([1-9]\d*)"
    r"|(?:limit|maximum) (?:of|is) ([1-9]\d*) images?",
    re.IGNORECASE | re.DOTALL,
)
"""The number it takes stands in the group that has caught something."""

UNSEEN = "(an image that this model cannot see)"
"""Sent in its place."""

_NAMED = re.compile(
    r"\bimages?\b|image_?url|input_image|\bpictures?\b|\bpixels?\b|inline_?data|data ur[il]|\bmedia[_ ]type\b"
    r"|\bbase64\b|\bmime[_ ]type\b|图[片像]|invalid_image|image_(?:parse|content|format|too|size)",
    re.IGNORECASE,
)
_MAY_NAME: tuple[ErrorKind, ...] = ("invalidRequest", "contentFilter", "unknown", "tooLarge")
_ROOT = re.compile(r"\b(?:messages|input)\b")
_STEP = re.compile(r"[^\w\s]*(?:\s*->\s*)?(\d+|[A-Za-z]\w*)")
_LISTS = ("content", "output")
_WORDS = frozenset(
    (*_LISTS, "tool_result", "image", "image_url", "input_image", "source", "base64", "data", "url", "body")
)


class WirePlace(NamedTuple):
    """Where in a request, as the server counts."""

    message: int
    """Index among the messages or items of the request."""
    parts: tuple[int, ...]
    """Index in its content, and in the content of that."""


def names_an_image(kind: ErrorKind, text: str) -> bool:
    """Whether a request may succeed without one of its images, by the words of its refusal."""
    if kind == "tooLarge":
        return True
    return kind in _MAY_NAME and _NAMED.search(text) is not None


def wire_place(text: str) -> WirePlace | None:
    """The first place in a request that a refusal names, such as `messages.3.content.1.image`."""
    for root in _ROOT.finditer(text):
        steps = _steps(text, root.end())
        if steps and steps[0].isdigit():
            pairs = pairwise(steps)
            parts = [int(index) for name, index in pairs if name in _LISTS and index.isdigit()]
            return WirePlace(int(steps[0]), tuple(parts))
    return None


def refused_block(
    messages: Sequence[ModelMessage], sent: Sequence[UserBlock], part: int | None
) -> RefusedBlock:
    """The image that a part of the request was made of, as far as it can be told.

    `messages`: those that the part's message on the wire was made of; `sent`: their blocks as they stand
    in it; `part`: the index among these.
    """
    images = [
        (message.id, index)
        for message in messages
        for index, block in enumerate(message.content)
        if isinstance(block, ImageBlock)
    ]
    if part is not None and 0 <= part < len(sent) and isinstance(sent[part], ImageBlock):
        before = sum(isinstance(block, ImageBlock) for block in sent[:part])
        return RefusedBlock(*images[before])
    owners = {owner for owner, _ in images}
    return RefusedBlock(owners.pop()) if len(owners) == 1 else RefusedBlock()


def sent_blocks(content: tuple[UserBlock, ...]) -> list[UserBlock]:
    """The blocks of a message that go to a server, in order."""
    return [block for block in content if not isinstance(block, TextBlock) or block.text.strip()]


def _steps(text: str, start: int) -> list[str]:
    steps: list[str] = []
    while (step := _STEP.match(text, start)) is not None:
        word = step[1]
        if not (word.isdigit() and len(word) < 9) and word not in _WORDS:
            break
        steps.append(word)
        start = step.end()
    return steps
