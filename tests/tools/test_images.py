"""Pictures that are read: as they are where a model takes them, else smaller, else refused."""

from __future__ import annotations

import struct
import zlib
from base64 import b64decode
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image

from pilothouse_agent.kernel.messages import ImageBlock, TextBlock
from pilothouse_agent.kernel.request import ImageLimits
from pilothouse_agent.tools.files.read_file import ReadFileTool
from support.file_tools import FileTools

pytestmark = pytest.mark.covers("R214")


def drawn(mode: str, size: tuple[int, int], kind: str = "PNG") -> bytes:
    file = BytesIO()
    Image.new(mode, size).save(file, kind)
    return file.getvalue()


def noisy(size: tuple[int, int], kind: str, mode: str = "RGB") -> bytes:
    file = BytesIO()
    Image.effect_noise(size, 90).convert(mode).save(file, kind)
    return file.getvalue()


async def shown(tools: FileTools, name: str) -> tuple[str, ImageBlock, Image.Image]:
    (note, block) = (await tools.run("read_file", path=name)).content
    assert isinstance(note, TextBlock)
    assert isinstance(block, ImageBlock)
    return note.text, block, Image.open(BytesIO(b64decode(block.data)))


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP"])
async def test_a_picture_that_fits_is_given_as_it_is(tools: FileTools, folder: Path, kind: str) -> None:
    data = drawn("RGB", (30, 20), kind)
    (folder / "picture").write_bytes(data)
    note, block, _ = await shown(tools, "picture")
    media_type = f"image/{kind.lower()}"
    assert note == f"[picture, {media_type}, {len(data):,} bytes]"
    assert (block.media_type, b64decode(block.data)) == (media_type, data)


@pytest.mark.parametrize(
    ("size", "now"), [((9600, 20), (2000, 4)), ((20, 9600), (4, 2000)), ((9000, 1), (2000, 1))]
)
@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP"])
async def test_a_picture_with_too_long_a_side_is_scaled(
    tools: FileTools, folder: Path, kind: str, size: tuple[int, int], now: tuple[int, int]
) -> None:
    data = drawn("RGB", size, kind)
    (folder / "picture").write_bytes(data)
    note, block, picture = await shown(tools, "picture")
    assert note == (
        f"[picture, image/{kind.lower()}, {len(data):,} bytes, {size[0]}×{size[1]} pixels, "
        f"shown here at {now[0]}×{now[1]}]"
    )
    assert picture.size == now
    assert f"image/{str(picture.format).lower()}" == block.media_type


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "I;16"])
async def test_a_picture_of_any_colours_can_be_scaled(tools: FileTools, folder: Path, mode: str) -> None:
    (folder / "picture").write_bytes(drawn(mode, (4000, 10)))
    assert (await shown(tools, "picture"))[2].size == (2000, 5)


async def test_a_picture_of_printing_colours_can_be_scaled(tools: FileTools, folder: Path) -> None:
    (folder / "picture").write_bytes(drawn("CMYK", (4000, 10), "JPEG"))
    assert (await shown(tools, "picture"))[2].size == (2000, 5)


async def test_the_models_own_limits_count(tools: FileTools, folder: Path) -> None:
    limits = [ImageLimits(side=10), ImageLimits(size=2_000)]
    data = noisy((60, 40), "PNG")
    (folder / "a.png").write_bytes(data)
    tool = ReadFileTool(tools.workspace, tools.files, images=lambda: limits[0])
    tools.use(tool)
    assert (await shown(tools, "a.png"))[2].size == (10, 7)
    limits.pop(0)
    _, block, _ = await shown(tools, "a.png")
    assert len(data) > 2_000 >= len(b64decode(block.data))


async def test_a_picture_of_too_many_bytes_is_made_smaller(tools: FileTools, folder: Path) -> None:
    data = noisy((2000, 1990), "PNG")
    (folder / "a.png").write_bytes(data)
    note, block, picture = await shown(tools, "a.png")
    assert len(data) > 3_750_000 >= len(b64decode(block.data))
    assert "shown here at 2000×1990" in note
    assert (picture.format, block.media_type) == ("JPEG", "image/jpeg")


async def test_a_picture_stands_upright_when_it_was_scaled(tools: FileTools, folder: Path) -> None:
    file = BytesIO()
    turned = Image.Exif()
    turned[0x0112] = 6
    Image.new("RGB", (4000, 100)).save(file, "JPEG", exif=turned)
    (folder / "a.jpg").write_bytes(file.getvalue())
    assert (await shown(tools, "a.jpg"))[2].size == (50, 2000)


def claiming(width: int, height: int) -> bytes:
    """A small PNG whose header says that it is large."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(b"\0" * 100)) + chunk(b"IEND", b"")


@pytest.mark.parametrize("size", [(10_000, 5_001), (60_000, 60_000), (2**31 - 1, 2**31 - 1)])
async def test_what_says_that_it_is_huge_is_not_decoded(
    tools: FileTools, folder: Path, size: tuple[int, int]
) -> None:
    data = claiming(*size)
    (folder / "a.png").write_bytes(data)
    assert await tools.refused("read_file", path="a.png") == (
        f"a.png is an image (image/png, {len(data)} bytes, {size[0]}×{size[1]} pixels), too large to be "
        "looked at. Make a smaller copy of it with bash and read that."
    )


@pytest.mark.parametrize(
    "data",
    [
        claiming(30, 30),
        drawn("RGB", (300, 200))[:-30],
        noisy((300, 200), "JPEG")[:900],
        noisy((300, 200), "GIF", "P")[:900],
        noisy((300, 200), "WEBP")[:900],
        b"\x89PNG\r\n\x1a\n" + b"\0" * 100,
        b"\xff\xd8\xff\xe0\0",
        b"GIF89a\0",
        b"RIFF\0\0\0\0WEBPVP8 ",
    ],
)
async def test_what_no_model_could_decode_is_refused(tools: FileTools, folder: Path, data: bytes) -> None:
    (folder / "a.png").write_bytes(data)
    told = await tools.refused("read_file", path="a.png")
    assert told.startswith("a.png is an image (image/")
    assert told.endswith("), so that no model would take it.")


async def test_a_file_too_large_for_any_picture_is_refused_unread(tools: FileTools, folder: Path) -> None:
    with (folder / "a.png").open("wb") as file:
        file.write(drawn("RGB", (30, 20)))
        file.truncate(200_000_000)
    assert await tools.refused("read_file", path="a.png") == (
        "a.png is an image (image/png, 200,000,000 bytes), too large to be looked at. "
        "Make a smaller copy of it with bash and read that."
    )
