"""What a process holds in memory."""

from __future__ import annotations

from pathlib import Path

__all__ = ["peak_megabytes", "resident_megabytes"]


def resident_megabytes(pid: int) -> float:
    return _field(pid, "VmRSS")


def peak_megabytes(pid: int) -> float:
    return _field(pid, "VmHWM")


def _field(pid: int, name: str) -> float:
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:")) / 1000
