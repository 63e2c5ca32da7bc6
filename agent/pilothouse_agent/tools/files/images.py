"""Pictures among the files, told by their first bytes, checked and made to fit what a model takes.

A picture that a provider refuses would come back with every later request of the session. Blocks: call in a
thread.
"""

from __future__ import annotations

import os
import stat
import struct
import threading
import zlib
from base64 import b64encode
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from pilothouse_agent.kernel.image_types import LOOKED_AT, media_type_of
from pilothouse_agent.kernel.messages import ImageBlock
from pilothouse_agent.kernel.request import ImageLimits
from pilothouse_agent.kernel.tooling import ToolError

if TYPE_CHECKING:
    from PIL.Image import Image as Picture
    from PIL.ImageFile import ImageFile

__all__ = ["MAX_PIXELS", "Image", "find_image"]

MAX_PIXELS = 50_000_000
"""Of a picture that is decoded at all."""

_MAX_FILE = 64 * 1024 * 1024
_QUALITY = 85
_SMALLER = 6
"""How often a picture is halved to fit, after it has been scaled to the side."""

_BROKEN = (
    OSError,
    ValueError,
    SyntaxError,
    EOFError,
    IndexError,
    KeyError,
    TypeError,
    OverflowError,
    MemoryError,
    struct.error,
    zlib.error,
)
"""What the decoders say of bytes that are no picture."""

_ONE_AT_A_TIME = threading.Lock()
"""Each takes up to four bytes a pixel while it is decoded."""


@dataclass(frozen=True, slots=True)
class Image:
    block: ImageBlock
    told: str
    """What it is and how it is shown, for a note beside it."""


def find_image(path: str, limits: ImageLimits, *, shown: str | None = None) -> Image | None:
    """None for everything that is not a picture in a regular file.

    Raises `ToolError` for one that cannot be shown; `shown` is how its message names the file.
    """
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return None
        with open(path, "rb") as file:
            media_type = media_type_of(file.read(LOOKED_AT))
            size = os.fstat(file.fileno()).st_size
    except OSError:
        return None
    if media_type is None:
        return None
    told = f"{media_type}, {size:,} bytes"
    if size > _MAX_FILE:
        raise _refusal(shown or path, told, "too large to be looked at")
    try:
        with _ONE_AT_A_TIME:
            return _fitted(path, media_type, told, limits, shown or path)
    except _BROKEN as error:
        reason = f"that cannot be decoded ({_first_line(error)}), so that no model would take it"
        raise ToolError(f"{shown or path} is an image ({told}) {reason}.") from None


def _fitted(path: str, media_type: str, told: str, limits: ImageLimits, shown: str) -> Image:
    data = Path(path).read_bytes()
    with _opened(data, media_type) as picture:
        # The header is read by now, and nothing else.
        width, height = picture.size
        if width * height > MAX_PIXELS:
            raise _refusal(shown, f"{told}, {width}×{height} pixels", "too large to be looked at")
        if max(width, height) <= limits.side and len(data) <= limits.size:
            picture.load()
            return Image(ImageBlock(media_type, b64encode(data).decode("ascii")), told)
        smaller = _scaled(picture, limits)
        for _ in range(_SMALLER):
            encoded, as_type = _encoded(smaller, media_type, limits.size)
            if len(encoded) <= limits.size:
                now = f"{told}, {width}×{height} pixels, shown here at {smaller.width}×{smaller.height}"
                return Image(ImageBlock(as_type, b64encode(encoded).decode("ascii")), now)
            smaller.thumbnail((max(smaller.width // 2, 1), max(smaller.height // 2, 1)))
    raise _refusal(shown, told, "too large to be looked at")


def _opened(data: bytes, media_type: str) -> ImageFile:
    """By its own decoder: the general way loads all others, and warns of sizes instead of refusing them."""
    match media_type:
        case "image/png":
            from PIL.PngImagePlugin import PngImageFile as Decoder
        case "image/jpeg":
            from PIL.JpegImagePlugin import JpegImageFile as Decoder
        case "image/gif":
            from PIL.GifImagePlugin import GifImageFile as Decoder
        case _:
            from PIL.WebPImagePlugin import WebPImageFile as Decoder
    return Decoder(BytesIO(data))


def _scaled(picture: ImageFile, limits: ImageLimits) -> Picture:
    from PIL import ImageOps

    # Only JPEG can be decoded at a part of its size, and it knows to.
    picture.draft(None, (limits.side, limits.side))  # pyright: ignore[reportArgumentType]
    plain = _plain(ImageOps.exif_transpose(picture))
    plain.thumbnail((limits.side, limits.side))
    return plain


def _plain(picture: Picture) -> Picture:
    """In colours that can be mixed, of eight bits each."""
    if picture.mode.startswith("I"):
        deep = picture.convert("I")
        return deep.point(lambda value: value / 256).convert("L")  # pyright: ignore[reportUnknownMemberType]
    if picture.mode in ("L", "RGB", "RGBA"):
        return picture
    return picture.convert("RGBA" if picture.has_transparency_data else "RGB")


def _encoded(picture: Picture, media_type: str, size: int) -> tuple[bytes, str]:
    """Without loss where that fits, as photographs otherwise."""
    from PIL import Image

    file = BytesIO()
    if media_type in ("image/png", "image/gif") or picture.mode == "RGBA":
        picture.save(file, "PNG")
        if file.tell() <= size:
            return file.getvalue(), "image/png"
        file = BytesIO()
    if picture.mode == "RGBA":
        ground = Image.new("RGB", picture.size, "white")
        ground.paste(picture, mask=picture.getchannel("A"))
        picture = ground
    picture.save(file, "JPEG", quality=_QUALITY)
    return file.getvalue(), "image/jpeg"


def _refusal(shown: str, told: str, why: str) -> ToolError:
    advice = "Make a smaller copy of it with bash and read that."
    return ToolError(f"{shown} is an image ({told}), {why}. {advice}")


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:100]
