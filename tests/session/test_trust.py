"""A folder is trusted when it really is one that the user named, or below one."""

from __future__ import annotations

from pathlib import Path

import pytest

from pilothouse_agent.settings.trust import is_trusted

FOLDERS = ("mine", "mine/sub", "mine-not", "theirs", "..")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    place = tmp_path / "place"
    for name in FOLDERS:
        (place / name).mkdir(parents=True, exist_ok=True)
    (place / "theirs" / "way-in").symlink_to(place / "mine")
    (place / "mine" / "way-out").symlink_to(place / "theirs")
    return place


@pytest.mark.covers("R091")
@pytest.mark.parametrize(
    ("folders", "trusted"),
    [
        (["mine"], True),
        (["mine/sub"], True),
        (["mine/sub", "mine"], True),
        (["mine/not-there"], True),
        (["theirs/way-in"], True),
        (["theirs/way-in/sub"], True),
        (["mine-not"], False),
        (["theirs"], False),
        (["mine/way-out"], False),
        (["mine/../theirs"], False),
        (["mine", "theirs"], False),
        ([".."], False),
        (["mine/\0"], False),
        ([], False),
    ],
)
def test_links_count_as_what_they_lead_to(folders: list[str], trusted: bool, place: Path) -> None:
    asked = [f"{place}/{folder}" for folder in folders]
    assert is_trusted(asked, [str(place / "mine"), "/nowhere", "/\0", "/\ud800"]) == trusted


def test_a_link_can_be_what_is_trusted(place: Path) -> None:
    assert is_trusted([str(place / "mine" / "sub")], [str(place / "theirs" / "way-in")])


def test_where_nothing_is_trusted_nothing_is(place: Path) -> None:
    assert not is_trusted([str(place)], [])
