"""Files in old encodings: declared by .editorconfig, by a setting or by the editor, never guessed."""

from __future__ import annotations

import codecs
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from pilothouse_agent.files.declared import declared
from pilothouse_agent.files.disk_files import DiskFiles
from pilothouse_agent.files.encodings import DeclaredEncodings
from pilothouse_agent.files.queue import WriteQueue
from pilothouse_agent.kernel.ports import FileText
from pilothouse_agent.kernel.tooling import ToolError
from support.context import RecordingContext

pytestmark = pytest.mark.covers("R237")

LATIN = "root = true\n[*]\ncharset = latin1\n"


def replacing(old: str, new: str) -> Callable[[FileText | None], str]:
    def change(file: FileText | None) -> str:
        assert file is not None
        assert old in file.text
        return file.text.replace(old, new)

    return change


async def edited(folder: Path, name: str, data: bytes, old: str, new: str, files: DiskFiles) -> bytes:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    await files.edit(str(path), replacing(old, new), RecordingContext())
    return path.read_bytes()


@pytest.mark.parametrize(
    ("charset", "encoding", "text"),
    [
        ("latin1", "iso8859-1", "größe = 'é'\r\nblank = 1\r\n"),
        ("LATIN1", "iso8859-1", "größe = 1\n"),
        ("latin1", "cp1252", "quote = “é”\nprice = '5 €'\n"),
        ("utf-16le", "utf-16-le", "größe = 名前\n"),
        ("utf-16be", "utf-16-be", "größe = 名前\n"),
        ("utf-8", "utf-8", "größe = 名前\n"),
    ],
)
async def test_the_charset_of_editorconfig_counts(
    tmp_path: Path, files: DiskFiles, charset: str, encoding: str, text: str
) -> None:
    (tmp_path / ".editorconfig").write_text(f"[*.txt]\ncharset = {charset}\n")
    data = text.encode(encoding)
    after = await edited(tmp_path, "a.txt", data, " = ", " = ä", files)
    assert after == text.replace(" = ", " = ä").encode(encoding)


async def test_a_file_of_plain_letters_is_written_as_is_declared(tmp_path: Path, files: DiskFiles) -> None:
    (tmp_path / ".editorconfig").write_text(LATIN)
    assert await edited(tmp_path, "a.py", b"name = 1\n", "name", "größe", files) == b"gr\xf6\xdfe = 1\n"


async def test_what_is_utf_8_beyond_ascii_stays_that(tmp_path: Path, files: DiskFiles) -> None:
    (tmp_path / ".editorconfig").write_text(LATIN)
    data = "größe = 1\n".encode()
    assert await edited(tmp_path, "a.py", data, "1", "'é'", files) == "größe = 'é'\n".encode()


@pytest.mark.parametrize(
    ("charset", "data"),
    [
        ("latin1", "é\n".encode("latin-1")),
        ("utf-8-bom", codecs.BOM_UTF8 + "é\n".encode()),
        ("utf-16le", codecs.BOM_UTF16_LE + "é\n".encode("utf-16-le")),
        ("utf-16be", codecs.BOM_UTF16_BE + "é\n".encode("utf-16-be")),
        ("unset", "é\n".encode()),
        ("no-such", "é\n".encode()),
    ],
)
async def test_a_new_file_gets_what_is_declared(
    tmp_path: Path, files: DiskFiles, charset: str, data: bytes
) -> None:
    (tmp_path / ".editorconfig").write_text(f"[*]\ncharset={charset}\n")
    await files.write(str(tmp_path / "new.txt"), "é\n", RecordingContext())
    assert (tmp_path / "new.txt").read_bytes() == data
    assert (await files.read(str(tmp_path / "new.txt"))).text == "é\n"


async def test_a_file_without_a_mark_gets_none_by_a_change(tmp_path: Path, files: DiskFiles) -> None:
    (tmp_path / ".editorconfig").write_text("[*]\ncharset = utf-8-bom\n")
    assert await edited(tmp_path, "a.txt", b"a\n", "a", "é", files) == "é\n".encode()


def test_the_nearest_file_and_its_last_section_win(tmp_path: Path) -> None:
    below = tmp_path / "old" / "deep"
    below.mkdir(parents=True)
    (tmp_path / ".editorconfig").write_text("[*]\ncharset = utf-16be\n[*.md]\ncharset = utf-8\n")
    (tmp_path / "old" / ".editorconfig").write_text(
        "; old\n[*.txt]\ncharset = cp1252\n[{a,b}.txt]\ncharset = koi8-r\n"
    )
    encodings = DeclaredEncodings()
    found = {
        name: said and said.encoding
        for name in ("a.txt", "c.txt", "d.c", "e.md")
        for said in [encodings.of(str(below / name))]
    }
    assert found == {"a.txt": "koi8-r", "c.txt": "cp1252", "d.c": "utf-16-be", "e.md": "utf-8"}


def test_nobody_above_a_root_is_asked(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / ".editorconfig").write_text(LATIN)
    (tmp_path / "in" / ".editorconfig").write_text("Root = TRUE\n[*.c]\ncharset = latin1\n")
    assert DeclaredEncodings().of(str(tmp_path / "in" / "a.py")) is None


def test_an_editorconfig_that_changes_counts_at_once(tmp_path: Path) -> None:
    config, encodings = tmp_path / ".editorconfig", DeclaredEncodings()
    config.write_text(LATIN)
    first = encodings.of(str(tmp_path / "a"))
    config.write_text("root = true\n[*]\ncharset = utf-16le\n")
    second = encodings.of(str(tmp_path / "a"))
    assert [said and said.encoding for said in (first, second)] == ["iso8859-1", "utf-16-le"]


@pytest.mark.parametrize("name", ["folder", "pipe", "link to nothing", "bytes"])
def test_an_editorconfig_that_is_none_says_nothing(tmp_path: Path, name: str) -> None:
    config = tmp_path / ".editorconfig"
    match name:
        case "folder":
            config.mkdir()
        case "pipe":
            os.mkfifo(config)
        case "link to nothing":
            config.symlink_to("nowhere")
        case _:
            config.write_bytes(b"\xff\0[*]\ncharset\n= x\n[")
    assert DeclaredEncodings().of(str(tmp_path / "a")) is None


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("windows-1252", "price = '5 €' \r\n"),
        ("shift_jis", "名前 = 'ソ表'\n"),
        ("gbk", "名字 = '中文'\n"),
        ("big5", "名字 = '中文'\n"),
        ("euc-kr", "이름 = 1\n"),
        ("iso-2022-jp", "名前 = 1\n"),
        ("koi8-r", "имя = 1\n"),
    ],
)
async def test_a_setting_names_the_encoding_by_glob(tmp_path: Path, encoding: str, text: str) -> None:
    globs = {"*": "utf-8", "old/**.txt": encoding}
    files = DiskFiles(WriteQueue(), encodings=DeclaredEncodings([str(tmp_path)], globs=globs))
    after = await edited(tmp_path, "old/a/b.txt", text.encode(encoding), "=", "==", files)
    assert after == text.replace("=", "==").encode(encoding)


def test_the_editors_own_word_wins(tmp_path: Path) -> None:
    (tmp_path / ".editorconfig").write_text(LATIN)
    path = str(tmp_path / "a.txt")
    encodings = DeclaredEncodings([str(tmp_path)], globs={"*": "gbk"}, editor={path: "windows1251"}.get)
    said = [encodings.of(str(tmp_path / name)) for name in ("a.txt", "b.txt")]
    assert said == [declared("cp1251", "the editor"), declared("gbk", "the setting files.encodings")]


@pytest.mark.parametrize(
    ("charset", "text"),
    [("latin1", "名"), ("latin1", "“"), ("shift_jis", "😋")],
)
async def test_a_character_that_the_encoding_lacks_is_refused(
    tmp_path: Path, files: DiskFiles, charset: str, text: str
) -> None:
    (tmp_path / ".editorconfig").write_text(f"[*]\ncharset = {charset}\n")
    (tmp_path / "a.txt").write_bytes(b"a = 1\n")
    with pytest.raises(ToolError, match=r"does not exist in .* Nothing was written"):
        await files.edit(str(tmp_path / "a.txt"), replacing("1", text), RecordingContext())
    assert (tmp_path / "a.txt").read_bytes() == b"a = 1\n"


async def test_a_change_after_which_the_file_would_read_otherwise_is_refused(
    tmp_path: Path, files: DiskFiles
) -> None:
    (tmp_path / ".editorconfig").write_text(LATIN)
    (tmp_path / "a.txt").write_bytes("a é\n".encode("latin-1"))
    with pytest.raises(ToolError, match=r"because \.editorconfig says so"):
        await files.edit(str(tmp_path / "a.txt"), replacing("é", "Ã©"), RecordingContext())


async def test_bytes_that_no_declaration_fits_are_refused_with_what_to_do(
    tmp_path: Path, files: DiskFiles
) -> None:
    (tmp_path / ".editorconfig").write_text("[*]\ncharset = shift_jis\n")
    (tmp_path / "a.txt").write_bytes(b"a\n\xff\xfd\n")
    with pytest.raises(ToolError) as caught:
        await files.read(str(tmp_path / "a.txt"))
    assert str(caught.value).partition("unchanged: ")[2] == (
        "byte 0xff in line 2 is not UTF-8, nor does it come back unchanged as shift_jis, which .editorconfig "
        "names. Name its encoding in .editorconfig (charset) or in the setting files.encodings, or convert "
        "it to UTF-8 first if it may be changed, for example with iconv."
    )


async def test_a_picture_in_a_project_of_old_text_is_still_none(tmp_path: Path, files: DiskFiles) -> None:
    (tmp_path / ".editorconfig").write_text(LATIN)
    (tmp_path / "a.bin").write_bytes(b"\x89PNG\0\0")
    with pytest.raises(ToolError, match="is a binary file"):
        await files.read(str(tmp_path / "a.bin"))


@pytest.mark.parametrize(
    "name", ["unset", "undecided", "raw-text", "hex", "rot13", "utf-7", "idna", "", "x y"]
)
def test_what_is_no_encoding_of_text_declares_nothing(name: str) -> None:
    assert declared(name, "somebody") is None


@pytest.mark.parametrize(
    ("name", "encoding"),
    [
        ("windows1252", "cp1252"),
        ("iso88591", "iso8859-1"),
        ("iso-latin-1-dos", "iso8859-1"),
        ("shiftjis", "shift_jis"),
        ("japanese-shift-jis-unix", "shift_jis"),
        ("euckr", "euc_kr"),
        ("koi8r", "koi8-r"),
        ("utf8bom", "utf-8"),
        ("utf-8-with-signature-unix", "utf-8"),
        ("utf16le", "utf-16-le"),
    ],
)
def test_editors_spell_encodings_in_their_own_way(name: str, encoding: str) -> None:
    said = declared(name, "the editor")
    assert said is not None
    assert said.encoding == encoding
