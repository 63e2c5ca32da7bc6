"""A Python program run as somebody whom file modes hold back, also where the tests run as root."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

__all__ = ["run_held_back"]

_OVERRIDES = "-dac_override,-dac_read_search,-fowner,-chown,-setfcap"


def run_held_back(program: str, *arguments: str) -> str:
    """What it prints. Skips where capabilities cannot be given up."""
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        pytest.skip("needs setpriv")
    start = [setpriv, "--inh-caps", _OVERRIDES, "--bounding-set", _OVERRIDES]
    if subprocess.run([*start, "true"], capture_output=True, timeout=20, check=False).returncode:
        pytest.skip("capabilities cannot be given up here")
    command = [*start, sys.executable, "-c", program, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=20, check=True).stdout
