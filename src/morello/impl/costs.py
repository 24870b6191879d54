"""The cost of an Impl by node, and on another machine."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

import numpy as np

from morello.impl.tree import Impl, cycles
from morello.ir.batch import Batch
from morello.ir.placements import Placements
from morello.ir.spec import Spec
from morello.rewrites.rewrite import Rewrite
from morello.targets.target import Target

Applied = tuple[Rewrite, Spec]
"""A rewrite, and the Spec that it is applied to."""

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
    own = own_costs(map(applied, impl.walk()), [target])
    return _cost(impl, own)


def own_costs(
    steps: Iterable[Applied], targets: Sequence[Target]
) -> dict[Applied, tuple[float, ...]]:
    """The own costs of rewrites of Specs on tunings of one target: for each, on all of them.

    The rewrites must be legal. Those that are equal are applied to all their Specs at once.
    """
    alike: dict[Hashable, dict[Applied, None]] = {}
    for rewrite, spec in steps:
        kind = rewrite, spec.operation, spec.dtypes, spec.parallel
        alike.setdefault(kind, {})[rewrite, spec] = None
    own: dict[Applied, tuple[float, ...]] = {}
    placements = Placements()
    for pairs in map(list, alike.values()):
        rewrite, batch = pairs[0][0], Batch.of([spec for _, spec in pairs], placements)
        costs = np.empty((len(pairs), len(targets)))
        for column, target in enumerate(targets):
            for edges in rewrite.edges(batch, target):
                costs[edges.rows, column] = edges.cost
        own |= zip(pairs, map(tuple, costs.tolist()), strict=True)
    return own


def applied(node: Impl) -> Applied:
    """The rewrite of a node that is no hole, and what it is applied to."""
    assert node.rewrite is not None, "a hole has no cost"
    return node.rewrite, node.spec


def _cost(impl: Impl, own: Mapping[Applied, tuple[float, ...]]) -> float:
    inside = sum(child.times * _cost(child.impl, own) for child in impl.children)
    (cost,) = own[applied(impl)]
    return cost + inside
