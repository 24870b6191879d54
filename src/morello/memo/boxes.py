"""Axis-aligned boxes of points with non-negative integer coordinates: merging and lookup.

A box is a row of integers: its lowest corner, its highest corner, and a value of any length.
All points of a box, corners included, have its value. Boxes of equal value that differ along
one axis only, and touch or overlap there, are merged into one box.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from morello.base.jit import compiled

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]


def merged(rows: Ints, axes: int, along: Sequence[int], nested: Sequence[int] = ()) -> Ints:
    """Merge boxes of equal value along these axes, one axis after the other.

    Then a box that lies within another box of the same value along the `nested` axes, and is
    equal to it along the others, is dropped. The result is sorted by its first column.
    """
    rows = np.ascontiguousarray(rows).copy()
    varying = _varying(rows)
    passes = [(axis,) for axis in along if varying[axis] or varying[axes + axis]]
    hashes = _hashes(rows)
    alive = np.arange(len(rows))
    for axis in [*passes, tuple(nested)]:
        if axis:
            free = np.array(axis, np.int64)
            keys = _keys(rows, hashes, alive, free, axes)
            order = alive[np.argsort(keys, kind="stable")]
            _join(rows, hashes, order, free, axes)
            alive = alive[rows[alive, 0] >= 0]
    rows = rows[alive]
    return rows[np.argsort(rows[:, 0], kind="stable")]


@compiled
def _varying(rows: Ints) -> Bools:
    """Which columns are not the same in all rows."""
    result = np.zeros(rows.shape[1], np.bool_)
    for i in range(1, rows.shape[0]):
        for j in range(rows.shape[1]):
            result[j] = result[j] or rows[i, j] != rows[0, j]
    return result


@compiled
def _mixed(value: int, column: int) -> int:
    h: Any = (np.uint64(value) + np.uint64(column + 1) * np.uint64(0xD1B54A32D192ED03)) * np.uint64(
        0x9E3779B97F4A7C15
    )
    h = (h ^ (h >> np.uint64(31))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed: Any = np.int64(h ^ (h >> np.uint64(29)))
    result: int = mixed
    return result


@compiled
def _hashes(rows: Ints) -> Ints:
    """A hash of every row, a sum over its columns."""
    result = np.zeros(rows.shape[0], np.int64)
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            result[i] += _mixed(rows[i, j], j)
    return result


@compiled
def _keys(rows: Ints, hashes: Ints, alive: Ints, free: Ints, axes: int) -> Ints:
    """The hashes of rows without their free axes."""
    result = hashes[alive]
    for place in range(alive.shape[0]):
        for axis in free:
            for column in (axis, axes + axis):
                result[place] -= _mixed(rows[alive[place], column], column)
    return result


@compiled
def _join(rows: Ints, hashes: Ints, order: Ints, free: Ints, axes: int) -> None:
    """Merge boxes that are equal except along the free axes; removed rows get -1 in column 0.

    Along one free axis, boxes that touch or overlap are merged. Along several, boxes that lie
    within another box are removed. In `order`, rows with the same key must be adjacent.
    """
    begin = 0
    for place in range(1, order.shape[0] + 1):
        if place < order.shape[0] and _same(rows, order[place], order[begin], free, axes):
            continue
        if free.shape[0] > 1:
            for a in range(begin, place):
                for b in range(begin, place):
                    present = a != b and rows[order[a], 0] >= 0 and rows[order[b], 0] >= 0
                    if present and _within(rows, order[a], order[b], free, axes):
                        rows[order[a], 0] = -1
        else:
            low, high = free[0], axes + free[0]
            for a in range(begin + 1, place):  # insertion sort by low corner
                row, b = order[a], a
                while b > begin and rows[order[b - 1], low] > rows[row, low]:
                    order[b] = order[b - 1]
                    b -= 1
                order[b] = row
            last = order[begin]
            for a in range(begin + 1, place):
                row = order[a]
                if rows[row, low] <= rows[last, high] + 1:
                    if rows[row, high] > rows[last, high]:
                        hashes[last] -= _mixed(rows[last, high], high)
                        rows[last, high] = rows[row, high]
                        hashes[last] += _mixed(rows[last, high], high)
                    rows[row, 0] = -1
                else:
                    last = row
        begin = place


@compiled
def _same(rows: Ints, first: int, second: int, free: Ints, axes: int) -> bool:
    """Whether two boxes are equal except along the free axes."""
    for j in range(rows.shape[1]):
        if rows[first, j] != rows[second, j]:
            varies = False
            for axis in free:
                varies = varies or j == axis or j == axes + axis
            if not varies:
                return False
    return True


@compiled
def _within(rows: Ints, inner: int, outer: int, free: Ints, axes: int) -> bool:
    for axis in free:
        if rows[inner, axis] < rows[outer, axis]:
            return False
        if rows[inner, axes + axis] > rows[outer, axes + axis]:
            return False
    return True


@compiled
def find(rows: Ints, axes: int, points: Ints) -> tuple[Ints, Ints]:
    """All pairs of a point and a box that contains it, as indices, in the order of the points.

    Points may have fewer axes than boxes; any coordinate matches on the remaining axes. Rows
    must be sorted by their first column, and a box must span a single coordinate on axis 0.
    """
    room = 2 * points.shape[0] + 16
    point, row = np.empty(room, np.int64), np.empty(room, np.int64)
    count = 0
    for i in range(points.shape[0]):
        low, high = 0, rows.shape[0]
        while low < high:
            middle = (low + high) // 2
            if rows[middle, 0] < points[i, 0]:
                low = middle + 1
            else:
                high = middle
        while low < rows.shape[0] and rows[low, 0] == points[i, 0]:
            inside = True
            for axis in range(1, points.shape[1]):
                at = points[i, axis]
                if at < rows[low, axis] or rows[low, axes + axis] < at:
                    inside = False
                    break
            if inside:
                if count == room:
                    room *= 2
                    larger, rest = np.empty(room, np.int64), np.empty(room, np.int64)
                    larger[:count], rest[:count] = point[:count], row[:count]
                    point, row = larger, rest
                point[count], row[count] = i, low
                count += 1
            low += 1
    return point[:count].copy(), row[:count].copy()


def overlapping(rows: Ints, low: Ints, high: Ints) -> Ints:
    """The non-empty intersections of boxes with the box from `low` to `high`."""
    axes = len(low)
    begin, end = np.maximum(rows[:, :axes], low), np.minimum(rows[:, axes : 2 * axes], high)
    overlaps = (begin <= end).all(axis=1)
    return np.hstack([begin[overlaps], end[overlaps], rows[overlaps, 2 * axes :]])


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
    count, points = _count(specs[order], row[order], low, np.stack(ends, 1), shape)
    return int(count), int(points)


@compiled
def _count(specs: Ints, row: Ints, low: Ints, high: Ints, shape: Ints) -> tuple[int, int]:
    """The number of distinct Specs, and of grid cells that their boxes cover.

    Equal Specs must be adjacent.
    """
    size = 1
    for extent in shape:
        size *= extent
    seen = np.full(size, -1, np.int64)
    at = np.zeros(shape.shape[0], np.int64)
    count = points = 0
    for i in range(specs.shape[0]):
        new = i == 0
        for axis in range(specs.shape[1]):
            new = new or specs[i, axis] != specs[i - 1, axis]
        count += new
        box = row[i]
        empty = False
        for axis in range(shape.shape[0]):
            at[axis] = low[box, axis]
            empty = empty or low[box, axis] >= high[box, axis]
        while not empty:
            cell = 0
            for axis in range(shape.shape[0]):
                cell = cell * shape[axis] + at[axis]
            if seen[cell] != count:
                seen[cell] = count
                points += 1
            axis = 0
            while axis < shape.shape[0] and at[axis] == high[box, axis] - 1:
                at[axis] = low[box, axis]
                axis += 1
            if axis == shape.shape[0]:
                break
            at[axis] += 1
    return count, points


@compiled
def all_points(rows: Ints, axes: int) -> tuple[Ints, Ints]:
    """All points of all boxes, and the row index of each point's box."""
    total = 0
    for i in range(rows.shape[0]):
        count = 1
        for axis in range(axes):
            count *= rows[i, axes + axis] - rows[i, axis] + 1
        total += count
    result = np.empty((total, axes), np.int64)
    row = np.empty(total, np.int64)
    place = 0
    for i in range(rows.shape[0]):
        result[place] = rows[i, :axes]
        while True:
            row[place] = i
            place += 1
            axis = 0
            while axis < axes and result[place - 1, axis] == rows[i, axes + axis]:
                axis += 1
            if axis == axes:
                break
            result[place] = result[place - 1]
            result[place, :axis] = rows[i, :axis]
            result[place, axis] += 1
    return result, row
