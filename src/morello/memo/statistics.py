"""Statistics of a table: how much it stores, and how well that is compressed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from morello.memo.boxes import Ints, count_points
from morello.memo.page import Page
from morello.memo.table import Table


@dataclass(frozen=True)
class TableStatistics:
    """Counts over the pages of one kind of Specs.

    `specs` counts the Specs with a program. `points` counts these Specs once per memory limit
    that they are solved for, where limits are 0, powers of two, and a level's capacity;
    `exact` counts every integer limit. `boxes` and `bytes` count everything, including what is
    known of Specs without a program.
    """

    space: str
    name: str
    pages: int
    boxes: int
    bytes: int
    specs: float
    points: float
    exact: float

    def __add__(self, other: TableStatistics) -> TableStatistics:
        return TableStatistics(
            self.space, "all", self.pages + other.pages, self.boxes + other.boxes,
            self.bytes + other.bytes, self.specs + other.specs, self.points + other.points,
            self.exact + other.exact,
        )  # fmt: skip

    def data(self) -> dict[str, Any]:
        data = asdict(self)
        del data["space"]
        return data


def statistics(table: Table) -> Iterator[TableStatistics]:
    """The statistics of each kind of Specs, in each space."""
    totals: dict[tuple[str, str], TableStatistics] = {}
    for key, page, size in table.pages():
        kind = json.loads(key.kind)
        dtypes = " x ".join(kind["dtypes"])
        joined = ", dims to be joined" if "joining" in kind else ""
        bounds = "at least: " if kind["relaxed"] else ""
        name = f"{bounds}{kind['operation']['name']} {dtypes}{joined}"
        limits = list(json.loads(key.space)["limits"].values())
        specs, points, exact = _counts(page, np.array(limits, np.int64))
        counts = TableStatistics(key.space, name, 1, len(page.rows), size, specs, points, exact)
        place = key.space, key.kind
        before = totals.get(place)
        totals[place] = counts if before is None else replace(before + counts, name=name)
    yield from totals.values()


def _counts(page: Page, capacity: Ints) -> tuple[float, float, float]:
    """The counts `specs`, `points` and `exact` of a page (see `TableStatistics`)."""
    solved = page.rows[page.rows[:, 2 * page.axes] >= 0] if page.limits else page.rows
    inner = page.axes - page.limits
    sides = (solved[:, page.axes : page.axes + inner] - solved[:, :inner] + 1).astype(float)
    if not page.limits:
        total = float(sides.prod(axis=1).sum())
        return total, total, total
    low, high = solved[:, inner : page.axes], solved[:, page.axes + inner : 2 * page.axes]
    exact = float((sides.prod(axis=1) * (high - low + 1.0).prod(axis=1)).sum())
    specs, points = count_points(solved, page.axes, page.limits, capacity)
    return float(specs), float(points), exact
