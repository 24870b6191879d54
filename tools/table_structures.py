"""Compares data structures for the contents of a table: bytes, boxes, and the time of a lookup.

    python tools/table_structures.py PATH

The structures: one record per point (with limits at powers of two), runs along the one axis that
merges best, boxes merged along all axes as in the table, and, if `rtree` is installed, an R-tree
over these boxes.

Then the same boxes with other values, of which fewer or more are equal: costs that are not per
volume, loops by the size of a part rather than by a factor, values without their costs or without
their decisions, and one answer a Spec, as if memory were unlimited.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from morello.memo import Key, Page, Table
from morello.memo.boxes import Ints, all_points, find, merged
from morello.memo.page import encode
from morello.memo.points import Floats, cost_of, sizes_of
from morello.memo.statistics import statistics

LOOKUPS = 2000
LOOP = re.compile(r"divide\((\w+) by (\d+)\)")


def singles(page: Page) -> Page:
    """Boxes of one Spec each; limits stay as they are."""
    inner = page.axes - page.limits
    outside = [*range(inner), *range(page.axes, page.axes + inner)]
    specs, row = all_points(page.rows[:, outside], inner)
    rows = page.rows[row].copy()
    rows[:, :inner] = rows[:, page.axes : page.axes + inner] = specs
    return replace(page, rows=rows)


def along(page: Page, axes: list[int]) -> Page:
    nested = range(page.axes - page.limits, page.axes)
    return replace(page, rows=merged(page.rows, page.axes, axes, nested if len(axes) > 1 else ()))


def size(pages: list[Page]) -> tuple[int, int]:
    return sum(len(p.rows) for p in pages), sum(len(encode(p, "")) for p in pages)


def both(page: Page) -> Ints:
    """The lower and upper corner of every box."""
    return page.rows[:, : 2 * page.axes]


# ---- other values of the same boxes, which are of one Spec each


def costs(page: Page) -> Floats:
    """The costs of the boxes' best decisions, in cycles."""
    sizes = sizes_of(page.rows[:, 1 : page.axes - page.limits])
    volume = np.prod([column.astype(np.float64) for column in sizes], axis=0)
    value = page.rows[:, 2 * page.axes :]
    return cost_of(value[:, 1], value[:, 2], volume)


def with_value(page: Page, column: int, value: Ints | int) -> Page:
    rows = page.rows.copy()
    rows[:, 2 * page.axes + column] = value
    return replace(page, rows=rows)


def with_whole_costs(_: Key, page: Page) -> Page:
    whole = np.ascontiguousarray(costs(page)).view(np.int64)
    return with_value(with_value(page, 1, whole), 2, 0)


def without_costs(_: Key, page: Page) -> Page:
    return with_value(with_value(page, 1, 0), 2, 0)


def without_decisions(_: Key, page: Page) -> Page:
    return with_value(page, 0, 0)


def with_sizes_of_parts(key: Key, page: Page) -> Page:
    """A loop is named by the size of its parts."""
    dims = json.loads(key.kind)["operation"]["dims"]
    sizes = sizes_of(page.rows[:, 1 : page.axes - page.limits])
    decision = page.rows[:, 2 * page.axes].copy()
    texts = list(page.texts)
    for number, text in enumerate(page.texts):
        loop = LOOP.search(text)
        here = np.flatnonzero(decision == number)
        if loop is None or not len(here):
            continue
        parts, place = np.unique(
            sizes[dims.index(loop[1])][here] // int(loop[2]), return_inverse=True
        )
        decision[here] = len(texts) + place.ravel()
        texts += [f"{number}:tile({loop[1]}={part})" for part in parts]
    return replace(with_value(page, 0, decision), texts=tuple(texts))


def without_limits(_: Key, page: Page) -> Page:
    """The cheapest answer of every Spec, as if it held for all limits."""
    inner, order = page.axes - page.limits, np.argsort(costs(page), kind="stable")
    first = np.unique(page.rows[order, :inner], axis=0, return_index=True)[1]
    rows = page.rows[order[first]]
    rows[:, inner : page.axes] = rows[:, page.axes + inner : 2 * page.axes] = 0
    return replace(page, rows=rows)


def without_limits_and_costs(key: Key, page: Page) -> Page:
    return without_costs(key, without_limits(key, page))


VALUES: dict[str, Callable[[Key, Page], Page]] = {
    "costs not per volume": with_whole_costs,
    "loops by sizes of parts": with_sizes_of_parts,
    "without costs": without_costs,
    "without decisions": without_decisions,
    "without limits": without_limits,
    "without limits, costs": without_limits_and_costs,
}


def main() -> None:
    with Table(sys.argv[1], create=False) as table:
        points = sum(row.points for row in statistics(table) if "bounds" not in row.name)
        keyed = [(key, page) for key, page, _ in table.pages() if page.limits]
    pages = [page for _, page in keyed]
    apart = [singles(page) for page in pages]
    axes = range(1, pages[0].axes)
    best = [min((along(p, [axis]) for axis in axes), key=lambda q: len(q.rows)) for p in apart]
    every = [along(p, list(range(1, p.axes))) for p in apart]
    each = size(apart)[1] / size(apart)[0]
    print(f"one record a point      {points:12,.0f} records  {points * each:14,.0f} bytes")
    for name, structure in (
        ("a box a Spec", apart),
        ("runs along one axis", best),
        ("boxes", every),
    ):
        boxes, length = size(structure)
        print(f"{name:22} {boxes:13,} boxes    {length:14,} bytes")
    for name, other in VALUES.items():
        valued = [other(key, page) for (key, _), page in zip(keyed, apart, strict=True)]
        boxes, length = size([along(page, list(range(1, page.axes))) for page in valued])
        print(f"{name:22} {boxes:13,} boxes    {length:14,} bytes")
    largest = max(every, key=lambda p: len(p.rows))
    random = np.random.default_rng(0)
    wanted = largest.rows[:, : largest.axes][random.integers(len(largest.rows), size=LOOKUPS)]
    find(largest.rows, largest.axes, wanted[:1])
    began = time.perf_counter()
    find(largest.rows, largest.axes, wanted)
    took = (time.perf_counter() - began) / LOOKUPS
    print(
        f"lookup, {len(largest.rows):,} boxes on a page: by name, then in order {took * 1e6:.1f} us"
    )
    try:
        from rtree import index
    except ImportError:
        return
    entries = ((i, tuple(map(float, row)), None) for i, row in enumerate(both(largest)))
    tree = index.Index(entries, properties=index.Property(dimension=largest.axes))
    began = time.perf_counter()
    for point in wanted.astype(float):
        list(tree.intersection((*point, *point)))
    took = (time.perf_counter() - began) / LOOKUPS
    print(f"lookup in an R-tree over them: {took * 1e6:.1f} us")


if __name__ == "__main__":
    main()
