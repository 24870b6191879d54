"""How often a program pays each coefficient of its target's costs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from morello.impl.costs import Applied, applied, own_costs
from morello.impl.tree import Impl
from morello.rewrites.select import Select, find_kernel
from morello.targets.costs import (
    FORK,
    OVERLAP,
    START,
    WAIT,
    coefficients,
    measured_as,
    with_coefficients,
)
from morello.targets.target import TRANSFERS, Target


class Multiplicities:
    """Computes the multiplicities of a target's coefficients in the costs of programs.

    A cost is the sum of the coefficients, each times its multiplicity, and of cycles that have no
    coefficient. Hence the multiplicity of a coefficient is the cost under a target where it is 1
    and all others are 0, less that under one where all are 0.
    """

    def __init__(self, target: Target) -> None:
        known = coefficients(target)
        self._known = known
        self._steps: dict[Applied, dict[str, float]] = {}
        self._free = with_coefficients(target, dict.fromkeys(known.keys() - {OVERLAP}, 0.0))
        self._units = {
            name: with_coefficients(self._free, {name: 1.0})
            for name in known
            if name in (FORK, START, WAIT) or name.endswith(TRANSFERS)
        }

    def of(self, impl: Impl) -> dict[str, float]:
        """The non-zero multiplicities of a complete program, by coefficient."""
        self.prepare([impl])
        totals: dict[str, float] = {}
        for node, times in _runs(impl, 1):
            for name, paid in self._paid(node).items():
                if times:
                    totals[name] = totals.get(name, 0.0) + times * paid
        return totals

    def prepare(self, impls: Iterable[Impl]) -> None:
        """Compute what is new in complete programs: much quicker for many of them at once."""
        steps = (applied(node) for impl in impls for node in impl.walk() if _pays_more(node))
        new = [step for step in steps if step not in self._steps]
        for step, (rest, *costs) in own_costs(new, [self._free, *self._units.values()]).items():
            named = zip(self._units, costs, strict=True)
            self._steps[step] = {name: cost - rest for name, cost in named if cost != rest}

    def _paid(self, node: Impl) -> Mapping[str, float]:
        """The multiplicities in a node's own cost, without its children's."""
        if _pays_more(node):
            return self._steps[applied(node)]
        if not (node.own_cost and isinstance(node.rewrite, Select)):
            return {}
        kernel = find_kernel(node.target, node.rewrite.kernel)
        name = f"kernels.{measured_as(kernel)}"
        return {name: node.own_cost / self._known[name]}


def _pays_more(node: Impl) -> bool:
    """Whether a node pays for something else than a kernel; most rewrites are free."""
    return bool(node.own_cost) and not isinstance(node.rewrite, Select)


def _runs(impl: Impl, times: int) -> Iterator[tuple[Impl, int]]:
    """Every node, and how often the program runs it."""
    yield impl, times
    for child in impl.children:
        yield from _runs(child.impl, times * child.times)
