"""How often a program pays each coefficient of its target's costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from morello.impl.tree import Impl
from morello.ir.spec import Spec
from morello.rewrites.rewrite import Rewrite, apply
from morello.rewrites.select import Select, find_kernel
from morello.targets.costs import FORK, START, WAIT, coefficients, measured_as, with_coefficients
from morello.targets.target import TRANSFERS, Target


class Multiplicities:
    """Computes the multiplicities of a target's coefficients in the costs of programs.

    A cost is the sum of the coefficients, each times its multiplicity. Hence the multiplicity
    of a coefficient is the cost under a target where it is 1 and all others are 0.
    """

    def __init__(self, target: Target) -> None:
        known = coefficients(target)
        self._known = known
        self._steps: dict[tuple[Rewrite, Spec], Mapping[str, float]] = {}
        free = with_coefficients(target, dict.fromkeys(known, 0.0))
        self._units = {
            name: with_coefficients(free, {name: 1.0})
            for name in known
            if name in (FORK, START, WAIT) or name.endswith(TRANSFERS)
        }

    def of(self, impl: Impl) -> dict[str, float]:
        """The non-zero multiplicities of a complete program, by coefficient."""
        totals: dict[str, float] = {}
        for node, times in _runs(impl, 1):
            for name, paid in self._paid(node).items():
                if times * paid:
                    totals[name] = totals.get(name, 0.0) + times * paid
        return totals

    def _paid(self, node: Impl) -> Mapping[str, float]:
        """The multiplicities in a node's own cost, without its children's."""
        assert node.rewrite is not None, "a hole has no cost"
        if not node.own_cost:  # most rewrites are free, and applying them to each unit is slow
            return {}
        if isinstance(node.rewrite, Select):
            kernel = find_kernel(node.target, node.rewrite.kernel)
            name = f"kernels.{measured_as(kernel)}"
            return {name: node.own_cost / self._known[name]}
        step = (node.rewrite, node.spec)
        if step not in self._steps:
            self._steps[step] = {
                name: apply(node.rewrite, node.spec, unit).cost
                for name, unit in self._units.items()
            }
        return self._steps[step]


def _runs(impl: Impl, times: int) -> Iterator[tuple[Impl, int]]:
    """Every node, and how often the program runs it."""
    yield impl, times
    for child in impl.children:
        yield from _runs(child.impl, times * child.times)
