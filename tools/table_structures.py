"""Compares data structures for the contents of a table: bytes, boxes, and the time of a lookup.

    python tools/table_structures.py PATH

The structures: one record per point (with limits at powers of two), runs along the one axis that
merges best, boxes merged along all axes as in the table, and, if `rtree` is installed, an R-tree
over these boxes.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace

import numpy as np

from morello.memo import Page, Table
from morello.memo.boxes import Ints, all_points, find, merged
from morello.memo.page import encode
from morello.memo.statistics import statistics

LOOKUPS = 2000


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


def main() -> None:
    with Table(sys.argv[1], create=False) as table:
        points = sum(row.points for row in statistics(table) if "bounds" not in row.name)
        pages = [page for _, page, _ in table.pages() if page.limits]
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
