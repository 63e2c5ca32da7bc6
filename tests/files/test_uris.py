"""Paths as URIs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilothouse_agent.files.uris import path_to_uri, uri_to_path


@pytest.mark.covers("R058")
@pytest.mark.parametrize(
    "name", ["a#b", "a?b", "100%.txt", "a%20b", "c+d", "\u00e9", "e\u0301", "a b", "\udcff"]
)
def test_names_survive_the_way_to_a_uri_and_back(name: str) -> None:
    assert uri_to_path(path_to_uri(f"/ws/{name}")) == f"/ws/{name}"


@pytest.mark.covers("R058")
@given(st.binary(min_size=1, max_size=12))
def test_every_name_survives(name: bytes) -> None:
    path = "/ws/" + name.decode("utf-8", "surrogateescape")
    uri = path_to_uri(path)
    assert uri.isascii()
    assert uri_to_path(uri) == path


@pytest.mark.covers("R058")
@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///ws/a%2523b", "/ws/a%23b"),
        ("file:///ws/a+b%2Bc", "/ws/a+b+c"),
        ("file:///ws/%63.py", "/ws/c.py"),
        ("file://localhost/ws/a", "/ws/a"),
    ],
)
def test_escapes_are_taken_away_once(uri: str, path: str) -> None:
    assert uri_to_path(uri) == path


@pytest.mark.parametrize("uri", ["http://a/b", "file://other-host/a", "file:a", "untitled:1", "/ws/a"])
def test_what_is_no_file_here_is_refused(uri: str) -> None:
    with pytest.raises(ValueError, match="not the URI of a file"):
        uri_to_path(uri)
