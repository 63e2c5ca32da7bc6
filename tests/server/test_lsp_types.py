"""lsprotocol imported in a hurry is lsprotocol."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support import lsp_types_told

pytestmark = pytest.mark.slow

FALLS_BACK = (
    "from pilothouse_server.lsp_types import QUICK; import lsprotocol.types as t; print(QUICK, t.made)"
)


def told(*arguments: str) -> dict[str, Any]:
    command = [sys.executable, "-P", lsp_types_told.__file__, *arguments]
    return json.loads(subprocess.run(command, capture_output=True, timeout=50, check=True).stdout)


def test_types_that_are_built_when_they_are_used_are_those_of_a_plain_import() -> None:
    plain, quick = told(), told("quick")

    assert quick == plain
    assert len(plain["classes"]) > 500


@pytest.mark.parametrize(
    ("version", "flag"), [("3.18.0", "_resolved_forward_references = False"), ("3.17.0", "")]
)
def test_another_lsprotocol_is_imported_as_it_is(tmp_path: Path, version: str, flag: str) -> None:
    package = tmp_path / "lsprotocol"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "_hooks.py").write_text(flag)
    (package / "types.py").write_text(
        f"import attrs\n__lsp_version__ = {version!r}\n@attrs.define\nclass A:\n    a: int\n"
        "made = hasattr(A, '__slots__')\n"
    )
    command = [sys.executable, "-c", FALLS_BACK]

    done = subprocess.run(
        command, capture_output=True, text=True, timeout=50, check=True, cwd=tmp_path, env={}
    )

    assert done.stdout == "False True\n"
