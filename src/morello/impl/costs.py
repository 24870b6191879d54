"""The cost of an Impl by node, and on another machine."""

from __future__ import annotations

from collections.abc import Hashable, Iterator

import numpy as np

from morello.impl.tree import Impl, cycles
from morello.ir.batch import Batch
from morello.ir.placements import Placements
from morello.ir.spec import Spec
from morello.rewrites.rewrite import Rewrite
from morello.targets.target import Target

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


def cost_on(impl: Impl, target: Target) -> float:
    """The cost of a complete Impl on another tuning of its target; much quicker than `replay`."""
    alike: dict[Hashable, dict[tuple[Rewrite, Spec], None]] = {}
    for node in impl.walk():
        assert node.rewrite is not None
        spec = node.spec
        kind = node.rewrite, spec.operation, spec.dtypes, spec.parallel
        alike.setdefault(kind, {})[node.rewrite, spec] = None
    own: dict[tuple[Rewrite, Spec], float] = {}
    placements = Placements()
    for applied in map(list, alike.values()):
        rewrite = applied[0][0]
        for edges in rewrite.edges(Batch.of([spec for _, spec in applied], placements), target):
            costs = np.broadcast_to(edges.cost, len(edges.rows)).tolist()
            own |= zip((applied[row] for row in edges.rows.tolist()), costs, strict=True)
    return _cost(impl, own)


def _cost(impl: Impl, own: dict[tuple[Rewrite, Spec], float]) -> float:
    assert impl.rewrite is not None
    inside = sum(child.times * _cost(child.impl, own) for child in impl.children)
    return own[impl.rewrite, impl.spec] + inside
