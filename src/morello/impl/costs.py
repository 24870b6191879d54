"""The cost of an Impl by node."""

from __future__ import annotations

from collections.abc import Iterator

from morello.impl.tree import Impl, cycles

TITLES = ("runs", "cycles", "total", "share", "rewrite")


def cost_table(impl: Impl) -> str:
    """A table of what each rewrite adds to the cost of a complete Impl, in pre-order.

    `cycles` are those of one run of the rewrite without its children, `total` those of all its
    runs, and `share` is their fraction of the whole cost.
    """
    rows = [TITLES, *_rows(impl, impl.cost, 1)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(TITLES) - 1)]
    return "\n".join(
        "  ".join([*(cell.rjust(width) for cell, width in zip(row, widths, strict=False)), row[-1]])
        for row in rows
    )


def _rows(impl: Impl, all_cycles: float, runs: int) -> Iterator[tuple[str, ...]]:
    total = runs * impl.own_cost
    share = f"{total / all_cycles:.1%}" if all_cycles else ""
    yield str(runs), cycles(impl.own_cost), cycles(total), share, f"{impl.rewrite} on {impl.spec}"
    for child in impl.children:
        yield from _rows(child.impl, all_cycles, runs * child.times)
