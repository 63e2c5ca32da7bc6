"""The store of open documents: its text is the client's, or it is in doubt."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import pytest

from pilothouse_agent.files.uris import path_to_uri
from pilothouse_server.client.positions import Encoding
from pilothouse_server.documents.document import Document, DocumentEvent
from pilothouse_server.documents.documents import Documents
from support.lsp_texts import ENCODINGS
from support.open_documents import Span, change, closing, opening, saving

T = TypeVar("T")
Json: TypeAlias = dict[str, Any]

URI = "file:///ws/a.py"
START: Span = ((0, 0), (0, 0))


@pytest.fixture
async def documents() -> Documents:
    return Documents("utf-16")


def opened(documents: Documents, text: str, uri: str = URI, version: int = 1) -> Document:
    documents.did_open(opening(uri, text, version))
    document = documents.get(uri)
    assert document is not None
    return document


async def soon(awaitable: Awaitable[T]) -> T:
    return await asyncio.wait_for(awaitable, 5)


def stands(document: Document) -> tuple[str, int, str | None]:
    return document.text, document.version, document.doubt


async def test_an_opened_document_has_all_the_client_said_of_it(documents: Documents) -> None:
    document = opened(documents, "a\n", version=0)

    assert (document.uri, document.path, document.language) == (URI, "/ws/a.py", "python")
    assert stands(document) == ("a\n", 0, None)
    assert documents.all() == documents.of_path("/ws/a.py") == [document]


async def test_changes_of_one_message_are_applied_in_order(documents: Documents) -> None:
    document = opened(documents, "one\ntwo\n")
    documents.did_change(
        change(URI, 2, (((0, 0), (1, 0)), ""), (((0, 3), (0, 3)), "!"), (((1, 0), (1, 0)), "three\n"))
    )

    assert stands(document) == ("two!\nthree\n", 2, None)


@pytest.mark.covers("R055")
@pytest.mark.parametrize("encoding", ENCODINGS)
async def test_typing_behind_an_emoji_gives_the_clients_text(encoding: Encoding) -> None:
    documents = Documents(encoding)
    document = opened(documents, 'x = "😋😋" + y\n')
    column = {"utf-8": 17, "utf-16": 13, "utf-32": 11}[encoding]
    documents.did_change(change(URI, 2, (((0, column), (0, column + 1)), "zz")))
    documents.did_change(change(URI, 3, (((0, column + 1), (0, column + 2)), "")))

    assert stands(document) == ('x = "😋😋" + z\n', 3, None)


async def test_form_feeds_and_other_odd_characters_end_no_line(documents: Documents) -> None:
    document = opened(documents, "a\x0c\u2028b\nc\n")
    documents.did_change(change(URI, 2, (((1, 0), (1, 1)), "d")))

    assert stands(document) == ("a\x0c\u2028b\nd\n", 2, None)


async def test_versions_may_jump(documents: Documents) -> None:
    document = opened(documents, "a", version=0)
    documents.did_change(change(URI, 10, (START, "b")))

    assert stands(document) == ("ba", 10, None)


UNFIT: list[tuple[Json, str]] = [
    (change(URI, 5, (START, "x")), "the editor changed it from version 5 to 5"),
    (change(URI, 4, (START, "x")), "the editor changed it from version 5 to 4"),
    (change(URI, None, (START, "x")), "the editor gave no version number"),
    (change(URI, True, "x"), "the editor gave no version number"),
    (change(URI, 6, (((9, 0), (9, 0)), "x")), "the editor changed line 10 of a text with 2"),
    (
        change(URI, 6, (((0, 2), (0, 2)), "x")),
        "the editor changed a position inside a character, in line 1",
    ),
    (
        {"textDocument": {"uri": URI, "version": 6}},
        "the editor sent a change without a list of changes",
    ),
    (
        {"textDocument": {"uri": URI, "version": 6}, "contentChanges": [{"text": 1}]},
        "the editor sent a change without its text",
    ),
    (
        {"textDocument": {"uri": URI, "version": 6}, "contentChanges": [{"range": {}, "text": "x"}]},
        "the editor sent a change whose range is not made of line and character numbers",
    ),
    (opening(URI, None, 6), "the editor opened it without its text"),
    (saving(URI, "other"), "the text that the editor saved is not the one that its changes make"),
]


@pytest.mark.parametrize(("message", "doubt"), UNFIT)
async def test_what_cannot_be_applied_puts_the_document_in_doubt_until_it_is_sent_whole(
    documents: Documents, message: Json, doubt: str
) -> None:
    document = opened(documents, "a😋\n", version=5)
    _hear(documents, message)
    in_doubt = document.doubt
    documents.did_change(change(URI, 7, (START, "x")))
    still = document.doubt
    documents.did_change(change(URI, 8, "whole\n", (START, "the ")))

    assert (in_doubt, still) == (doubt, doubt)
    assert stands(document) == ("the whole\n", 8, None)


def _hear(documents: Documents, message: Json) -> None:
    if "languageId" in message["textDocument"]:
        documents.did_open(message)
    elif "text" in message:
        documents.did_save(message)
    else:
        documents.did_change(message)


async def test_a_whole_text_is_right_whatever_its_version(documents: Documents) -> None:
    document = opened(documents, "a", version=5)
    documents.did_change(change(URI, 5, "b"))

    assert stands(document) == ("b", 5, None)


async def test_opening_it_again_ends_the_doubt(documents: Documents) -> None:
    document = opened(documents, "a", version=5)
    documents.did_change(change(URI, 5, (START, "x")))
    documents.did_open(opening(URI, "b", 0))

    assert stands(document) == ("b", 0, None)
    assert documents.all() == [document]


async def test_saving_it_with_its_text_ends_the_doubt(documents: Documents) -> None:
    document = opened(documents, "a", version=5)
    documents.did_change(change(URI, 5, (START, "x")))
    documents.did_save(saving(URI))
    after_a_save_without_text = document.doubt
    documents.did_save(saving(URI, "xa"))

    assert after_a_save_without_text == "the editor changed it from version 5 to 5"
    assert (*stands(document), document.saved) == ("xa", 5, None, "xa")


async def test_a_last_line_end_that_saving_added_is_taken_over(documents: Documents) -> None:
    document = opened(documents, "a")
    documents.did_save(saving(URI, "a\n"))

    assert stands(document) == ("a\n", 1, None)


async def test_a_change_of_what_was_never_opened_is_remembered_as_a_doubt(documents: Documents) -> None:
    documents.did_change(change(URI, 3, (START, "x")))
    (document,) = documents.of_path("/ws/a.py")
    before = document.doubt
    documents.did_change(change(URI, 4, "whole"))

    assert before == "the editor changed it without opening it"
    assert stands(document) == ("whole", 4, None)


async def test_after_closing_changes_saves_and_further_closings_are_harmless(documents: Documents) -> None:
    document = opened(documents, "a")
    documents.did_close(closing(URI))
    documents.did_change(change(URI, 2, (START, "x")))
    documents.did_save(saving(URI, "xa"))
    documents.did_close(closing(URI))

    assert (documents.all(), document.closed) == ([], True)
    assert stands(opened(documents, "b", version=1)) == ("b", 1, None)


@pytest.mark.parametrize("params", [{}, {"textDocument": 1}, {"textDocument": {"uri": 7}}])
async def test_messages_about_no_document_change_nothing_but_that_a_change_is_missing(
    documents: Documents, params: Json
) -> None:
    document = opened(documents, "a")
    for hear in (documents.did_open, documents.did_save, documents.did_close):
        hear(params)
    before = stands(document)
    documents.did_change(params)

    assert (documents.all(), before) == ([document], ("a", 1, None))
    assert stands(document) == ("a", 1, "the editor changed a document without naming it")


async def test_a_message_nobody_can_read_puts_those_it_names_in_doubt_or_else_all(
    documents: Documents,
) -> None:
    one, other = opened(documents, "a"), opened(documents, "b", uri="file:///ws/b.py")
    documents.garbled(b'{"method":"textDocument/hover","params":\xff')
    nobody = (one.doubt, other.doubt)
    documents.garbled(b'{"uri":"file:///ws/b.py","text":"\xff"}')
    named = (one.doubt, other.doubt)
    documents.garbled(b'{"method":"textDocument/didChange","params":\xff')

    doubt = "a message of the editor about it could not be read"
    assert (nobody, named, one.doubt) == ((None, None), (None, doubt), doubt)


@pytest.mark.covers("R056")
@pytest.mark.parametrize(
    "spelling",
    [
        *("file:///tmp/proj/a.py", "file:///tmp/p%72oj/a.py", "FILE:///tmp/proj/a.py"),
        *("file://localhost/tmp/proj/a.py", "file:/tmp/proj/a%2Epy"),
    ],
)
async def test_all_spellings_of_a_uri_are_one_document_that_keeps_the_clients_own(
    documents: Documents, spelling: str
) -> None:
    document = opened(documents, "a", uri="file:///tmp/p%72oj/a.py")
    documents.did_change(change(spelling, 2, (START, "x")))

    assert documents.get(spelling) is document
    assert documents.of_path("/tmp/proj/a.py") == documents.all() == [document]
    assert (document.uri, document.text) == ("file:///tmp/p%72oj/a.py", "xa")


@pytest.mark.covers("R056")
@pytest.mark.parametrize("spelling", ["file:///c%3A/x", "file:///C:/x", "file:///c:/x", "file:///C%3a/x"])
async def test_a_drive_letter_is_one_however_it_is_written(documents: Documents, spelling: str) -> None:
    document = opened(documents, "a", uri="file:///c%3A/x")

    assert documents.get(spelling) is document


@pytest.mark.covers("R058")
@pytest.mark.parametrize("name", ["a#b", "a?b", "100%.txt", "a%20b", "c+d", "\u00e9", "e\u0301"])
async def test_a_document_is_found_by_its_path_whatever_its_name(documents: Documents, name: str) -> None:
    document = opened(documents, "a", uri=path_to_uri(f"/ws/{name}"))
    opened(documents, "b", uri="file:///ws/a%2520b%23c")

    assert documents.of_path(f"/ws/{name}") == [document]


@pytest.mark.parametrize("uri", ["untitled:Untitled-1", "file:///ws/a.py?version=1", "file://[/a", "a.py"])
async def test_what_is_no_file_here_is_a_document_without_a_path(documents: Documents, uri: str) -> None:
    document = opened(documents, "a", uri=uri)

    assert (document.path, documents.get(uri), documents.of_path("/ws/a.py")) == (None, document, [])


async def test_a_file_opened_by_two_names_is_two_documents_of_one_path(
    documents: Documents, tmp_path: Path
) -> None:
    (tmp_path / "real").mkdir()
    file = tmp_path / "real" / "a.py"
    file.write_bytes(b"a\n")
    (tmp_path / "link").symlink_to("real")
    by_name = opened(documents, "a\n", uri=path_to_uri(str(file)))
    by_link = opened(documents, "a\n", uri=path_to_uri(str(tmp_path / "link" / "a.py")))

    assert await soon(documents.locate(str(file))) == [by_name, by_link]
    (tmp_path / "link").unlink()
    assert await soon(documents.locate(str(file))) == [by_name]


@pytest.mark.covers("F6")
async def test_unsaved_is_what_is_neither_saved_nor_on_disk(documents: Documents, tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_bytes(b"a\r\n")
    document = opened(documents, "a\n", uri=path_to_uri(str(file)))
    as_on_disk = await soon(documents.unsaved(str(file)))
    documents.did_change(change(document.uri, 2, (START, "typed ")))
    typed = await soon(documents.unsaved(str(file)))
    documents.did_save(saving(document.uri))
    file.write_bytes(b"changed by others\n")
    saved = await soon(documents.unsaved(str(file)))
    document.unsettle("the editor did not answer")
    doubtful = await soon(documents.unsaved(str(file)))

    assert (as_on_disk, typed, saved, doubtful) == ([], [document], [], [document])


async def test_a_text_opened_unsaved_is_unsaved_also_without_a_file(
    documents: Documents, tmp_path: Path
) -> None:
    file = tmp_path / "new.py"
    document = opened(documents, "a\n", uri=path_to_uri(str(file)))

    assert await soon(documents.unsaved(str(file))) == [document]


async def test_whoever_waits_for_a_version_is_woken_by_a_higher_one(documents: Documents) -> None:
    document = opened(documents, "a", version=3)
    waiting = asyncio.create_task(document.changed(4, 5))
    await asyncio.sleep(0)
    documents.did_change(change(URI, 4, (START, "x")))
    await asyncio.sleep(0)
    still_waiting = not waiting.done()
    documents.did_change(change(URI, 9, (START, "y")))

    assert (still_waiting, await soon(waiting), document.text) == (True, True, "yxa")


async def test_a_wait_for_a_version_ends_with_the_document_a_new_opening_or_its_time(
    documents: Documents,
) -> None:
    document = opened(documents, "a", version=3)
    in_vain = await soon(document.changed(3, 0))
    waiting = asyncio.create_task(document.changed(3, 5))
    await asyncio.sleep(0)
    documents.did_open(opening(URI, "b", 0))
    reopened = await soon(waiting)
    waiting = asyncio.create_task(document.changed(3, 5))
    await asyncio.sleep(0)
    documents.did_close(closing(URI))

    assert (in_vain, reopened, await soon(waiting)) == (False, True, False)


async def test_listeners_see_the_text_after_every_single_change(documents: Documents) -> None:
    seen: list[tuple[str, int, str]] = []

    def note(document: Document, event: DocumentEvent) -> None:
        seen.append((event, document.version, document.text))

    documents.watch(note)
    document = opened(documents, "a")
    stop = document.watch(lambda document, event: seen.append((f"own {event}", 0, "")))
    documents.did_change(change(URI, 2, (START, "x"), (START, "y")))
    stop()
    documents.did_save(saving(URI))
    documents.did_close(closing(URI))

    assert seen == [
        ("opened", 1, "a"),
        *[("changed", 2, "xa"), ("own changed", 0, ""), ("changed", 2, "yxa"), ("own changed", 0, "")],
        *[("saved", 2, "yxa"), ("closed", 2, "yxa")],
    ]


async def test_a_listener_that_fails_costs_no_change(
    documents: Documents, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_document: Document, _event: DocumentEvent) -> None:
        raise RuntimeError("no")

    documents.watch(fail)
    document = opened(documents, "a")
    documents.did_change(change(URI, 2, (START, "x"), (START, "y")))

    assert (document.text, {record.message for record in caplog.records}) == ("yxa", {"A listener failed"})


async def test_an_edit_of_unknown_outcome_is_settled_by_the_next_change_that_fits(
    documents: Documents,
) -> None:
    document = opened(documents, "a")
    document.unsettle("the editor did not answer")
    before = document.doubt
    documents.did_change(change(URI, 2, (START, "x")))

    assert (before, stands(document)) == ("the editor did not answer", ("xa", 2, None))
