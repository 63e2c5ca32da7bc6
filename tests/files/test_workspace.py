"""How the model's paths are understood."""

from __future__ import annotations

from pathlib import Path

import pytest

from pilothouse_agent.files.workspace import Workspace
from pilothouse_agent.kernel.tooling import ToolError


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    app, sdk = tmp_path / "ws" / "app", tmp_path / "ws" / "libs" / "sdk"
    for folder in (app, sdk):
        (folder / "src").mkdir(parents=True)
        (folder / "package.json").touch()
    (app / "src" / "main.py").touch()
    (sdk / "src" / "lib.py").touch()
    return app, sdk


@pytest.fixture
def both(folders: tuple[Path, Path]) -> Workspace:
    return Workspace(folders)


def test_a_relative_path_is_below_the_folder(tmp_path: Path) -> None:
    workspace = Workspace([tmp_path])
    assert workspace.resolve("src/./x/../a.py") == str(tmp_path / "src" / "a.py")


@pytest.mark.covers("R064")
def test_a_path_that_exists_in_several_folders_is_refused_with_all_of_them(
    both: Workspace, folders: tuple[Path, Path]
) -> None:
    with pytest.raises(ToolError) as caught:
        both.resolve("package.json")
    app, sdk = folders
    assert str(caught.value) == (
        f"The path 'package.json' exists in several folders: {app}/package.json, {sdk}/package.json. "
        "Give the absolute path."
    )


@pytest.mark.covers("R064")
@pytest.mark.parametrize("path", ["sdk/package.json", "libs/sdk/package.json", "ws/libs/sdk/package.json"])
def test_a_path_may_begin_with_the_name_of_a_folder_or_the_end_of_its_path(
    both: Workspace, folders: tuple[Path, Path], path: str
) -> None:
    assert both.resolve(path) == str(folders[1] / "package.json")


@pytest.mark.covers("R064")
def test_a_path_that_exists_in_one_folder_means_that_one(both: Workspace, folders: tuple[Path, Path]) -> None:
    assert both.resolve("src/lib.py") == str(folders[1] / "src" / "lib.py")


@pytest.mark.covers("R064")
def test_a_new_file_behind_the_name_of_a_folder_is_made_there(
    both: Workspace, folders: tuple[Path, Path]
) -> None:
    assert both.resolve("sdk/new.py") == str(folders[1] / "new.py")
    assert both.resolve("new.py") == str(folders[0] / "new.py")


@pytest.mark.covers("R067")
def test_every_displayed_path_is_understood_again(both: Workspace, folders: tuple[Path, Path]) -> None:
    app, sdk = folders
    paths = [app / "package.json", sdk / "package.json", app / "src/main.py", sdk / "src/lib.py", sdk, app]
    paths += [app / "~x", app / "a\\b", app / "file:", app.parent, Path("/")]
    for path in paths:
        assert both.resolve(both.display(str(path))) == str(path)


def test_a_path_outside_is_displayed_whole(tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    workspace = Workspace([tmp_path / "ws"])
    assert workspace.display(str(tmp_path / "ws2")) == str(tmp_path / "ws2")
    assert workspace.display(str(tmp_path / "ws" / "a")) == "a"


@pytest.mark.covers("R059")
def test_a_file_uri_is_understood(tmp_path: Path) -> None:
    assert Workspace([tmp_path]).resolve((tmp_path / "a b#.py").as_uri()) == str(tmp_path / "a b#.py")


@pytest.mark.covers("R059")
@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("src\\new.py", "has backslashes. Use forward slashes"),
        ("file://host/a", "Give a plain path"),
        ("", "is empty"),
        ("file:///a%00b", "NUL"),
        ("a\0b", "NUL"),
        ("a\ud800b", "half a character"),
    ],
)
def test_what_is_no_path_here_is_refused_with_the_reason(tmp_path: Path, path: str, reason: str) -> None:
    with pytest.raises(ToolError, match=reason):
        Workspace([tmp_path]).resolve(path)


@pytest.mark.covers("R059")
def test_a_backslash_that_is_part_of_a_name_is_accepted(tmp_path: Path) -> None:
    (tmp_path / "a\\b").touch()
    assert Workspace([tmp_path]).resolve("a\\b") == str(tmp_path / "a\\b")


@pytest.mark.covers("R025", "R061")
def test_the_real_path_of_a_link_is_where_it_leads_also_when_nothing_is_there(tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    (tmp_path / "ws" / "new").symlink_to(tmp_path / "outside" / "created")
    workspace = Workspace([tmp_path / "ws"])
    real = workspace.real("new")
    assert real == str(tmp_path / "outside" / "created")
    assert not workspace.contains(real)
    assert workspace.contains(workspace.real("other"))


def test_a_folder_with_a_longer_name_is_not_inside(tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    assert not Workspace([tmp_path / "ws"]).contains(str(tmp_path / "ws2" / "a"))
