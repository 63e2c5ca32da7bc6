"""Figures of one case, and whether they meet their targets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import ceil
from statistics import median
from typing import Any, TypeAlias

__all__ = ["Report", "growth", "percentile", "table"]

Json: TypeAlias = dict[str, Any]

_BLOCK = 10


@dataclass(slots=True)
class Report:
    """Values of repetitions by name; a name ends with its unit: `pilothouse cpu ms`."""

    values: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    judged: list[Json] = field(default_factory=list[Json])

    def add(self, name: str, *values: float) -> None:
        self.values.setdefault(name, []).extend(values)

    def add_cpu(self, who: str, seconds: float) -> None:
        self.add(f"{who} cpu ms", seconds * 1000)

    def add_wall(self, who: str, seconds: float) -> None:
        self.add(f"{who} wall ms", seconds * 1000)

    def compare(
        self, ours: str, theirs: str, *, at_most: float, by: Callable[[Sequence[float]], float] = min
    ) -> None:
        """The target is a multiple of what stands beside it, both at their least."""
        ratio = by(self.values[ours]) / by(self.values[theirs])
        middle = median(self.values[ours]) / median(self.values[theirs])
        self._judge(f"{ours} / {theirs}", ratio, at_most, middle)

    def limit(self, name: str, *, at_most: float) -> None:
        """The target is a number; the least value counts."""
        self._judge(name, min(self.values[name]), at_most, median(self.values[name]))

    def to_json(self) -> Json:
        figures = {
            name: {"min": min(values), "median": median(values), "n": len(values)}
            for name, values in self.values.items()
        }
        return {"figures": figures, "targets": self.judged}

    def _judge(self, what: str, value: float, at_most: float, middle: float) -> None:
        met = value <= at_most
        self.judged.append({"what": what, "value": value, "median": middle, "atMost": at_most, "met": met})


def growth(values: Sequence[float]) -> float:
    """What each value is larger than the one before, by a straight line.

    Drawn through the least of every ten values, since what disturbs a measurement only adds to it.
    """
    size = max(1, min(_BLOCK, len(values) // 2))
    least = [min(values[at : at + size]) for at in range(0, len(values) - size + 1, size)]
    count = len(least)
    middle_x, middle_y = (count - 1) / 2, sum(least) / count
    above = sum((x - middle_x) * (y - middle_y) for x, y in enumerate(least))
    return above / sum((x - middle_x) ** 2 for x in range(count)) / size


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that this share of all values does not exceed."""
    ordered = sorted(values)
    return ordered[max(0, ceil(len(ordered) * share) - 1)]


def table(results: dict[str, Json]) -> str:
    """For people."""
    lines: list[str] = []
    for case, result in results.items():
        lines += ["", case]
        for name, figure in result["figures"].items():
            lines.append(f"  {name:<44} min {figure['min']:>10.3f}   median {figure['median']:>10.3f}")
        for target in result["targets"]:
            mark = "met " if target["met"] else "MISS"
            shown = f"{target['value']:.2f}, median {target['median']:.2f} (at most {target['atMost']:g})"
            lines.append(f"  {mark} {target['what']:<64} {shown}")
    return "\n".join(lines).lstrip("\n") + "\n"
