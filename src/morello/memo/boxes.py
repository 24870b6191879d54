"""Axis-aligned boxes of points with non-negative integer coordinates: merging and lookup.

A box is a row of integers: its lowest corner, its highest corner, and a value of any length.
All points of a box, corners included, have its value. Boxes of equal value that differ along
one axis only, and touch or overlap there, are merged into one box.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from morello.native.loops import Loops

BOXES = Loops(Path(__file__).parent, ("boxes.c",))

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]


def merged(rows: Ints, axes: int, along: Sequence[int], nested: Sequence[int] = ()) -> Ints:
    """Merge boxes of equal value along these axes, one axis after the other.

    Then a box that lies within another box of the same value along the `nested` axes, and is
    equal to it along the others, is dropped. The result is sorted by its first column.
    """
    rows = np.ascontiguousarray(rows).copy()
    count, columns = rows.shape
    varying: Bools = (rows != rows[:1]).any(axis=0)
    passes = [(axis,) for axis in along if varying[axis] or varying[axes + axis]]
    hashes = np.empty(count, np.uint64)
    BOXES.hash_rows(rows, count, columns, hashes)
    alive = np.arange(count)
    for axis in [*passes, tuple(nested)]:
        if axis:
            free, keys = np.array(axis, np.int64), hashes[alive]
            BOXES.keys_of(rows, columns, alive, len(alive), free, len(free), axes, keys)
            order = alive[np.argsort(keys, kind="stable")]
            BOXES.join(rows, columns, hashes, order, len(order), free, len(free), axes)
            alive = alive[rows[alive, 0] >= 0]
    rows = rows[alive]
    return rows[np.argsort(rows[:, 0], kind="stable")]


def find(rows: Ints, axes: int, points: Ints) -> tuple[Ints, Ints]:
    """All pairs of a point and a box that contains it, as indices, in the order of the points.

    Points may have fewer axes than boxes; any coordinate matches on the remaining axes. Rows
    must be sorted by their first column, and a box must span a single coordinate on axis 0.
    """
    rows, points = np.ascontiguousarray(rows), np.ascontiguousarray(points)
    count = 2 * len(points) + 16
    room = 0
    while count > room:
        room = count
        point, row = np.empty(room, np.int64), np.empty(room, np.int64)
        count = BOXES.find(rows, *rows.shape, axes, points, *points.shape, room, point, row)
    return point[:count].copy(), row[:count].copy()


def count_points(rows: Ints, axes: int, limits: int, capacity: Ints) -> tuple[int, int]:
    """The number of Specs in boxes, and of Specs at the memory limits that are powers of two.

    The last `limits` axes are memory limits, up to these capacities; limits of 0 and of the
    capacity are counted, too. A point in several boxes counts once.
    """
    inner = axes - limits
    outside = [*range(inner), *range(axes, axes + inner)]
    specs, row = all_points(rows[:, outside], inner)
    order = np.lexsort(specs.T)
    grids = [
        np.array(sorted({0, int(most), *(1 << i for i in range(40) if 1 << i < most)}))
        for most in capacity
    ]
    low = np.stack([np.searchsorted(g, rows[:, inner + i]) for i, g in enumerate(grids)], 1)
    ends = [np.searchsorted(g, rows[:, axes + inner + i], "right") for i, g in enumerate(grids)]
    shape = np.array([len(grid) for grid in grids])
    count = np.zeros(1, np.int64)
    specs = specs[order]
    points: int = BOXES.count_cells(
        specs, *specs.shape, row[order], low, np.stack(ends, 1), shape, len(shape),
        np.full(shape.prod(), -1, np.int64), np.empty(len(shape), np.int64), count,
    )  # fmt: skip
    return int(count[0]), points


def all_points(rows: Ints, axes: int) -> tuple[Ints, Ints]:
    """All points of all boxes, and the row index of each point's box."""
    rows = np.ascontiguousarray(rows)
    extents = rows[:, axes : 2 * axes] - rows[:, :axes] + 1
    total = int(extents.prod(axis=1).sum())
    result, row = np.empty((total, axes), np.int64), np.empty(total, np.int64)
    BOXES.all_points(rows, *rows.shape, axes, result, row)
    return result, row
