"""Impls: programs as trees of rewrites, with kernels at the leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from morello.base.errors import RewriteError
from morello.ir.spec import Spec
from morello.rewrites.rewrite import Rewrite, Step, apply
from morello.targets.target import Target


@dataclass(frozen=True)
class Branch:
    """A child of an Impl: how often it runs, its role and its tensors (see `rewrite.Child`)."""

    impl: Impl
    times: int
    role: str
    tensors: tuple[int, ...] = ()


@dataclass(frozen=True, repr=False)
class Impl:
    """A Spec and the rewrite applied to it; without a rewrite, a hole still to be filled."""

    spec: Spec
    target: Target
    rewrite: Rewrite | None = None
    own_cost: float = 0.0
    allocation: Mapping[int, int] | None = None
    children: tuple[Branch, ...] = ()

    def __repr__(self) -> str:
        return f"<Impl of {self.spec.expression}: {len(self.decisions())} rewrites>"

    @cached_property
    def cost(self) -> float:
        """Cycles, by the target's affine cost model."""
        return self.own_cost + sum(c.times * c.impl.cost for c in self.children)

    @cached_property
    def peak(self) -> tuple[int, ...]:
        """The peak use of each level but the farthest, in lines or registers."""
        allocation = self.allocation or {}
        return tuple(
            allocation.get(level, 0)
            + max((c.impl.peak[level - 1] for c in self.children), default=0)
            for level in range(1, len(self.target.levels))
        )

    @cached_property
    def complete(self) -> bool:
        return self.rewrite is not None and all(c.impl.complete for c in self.children)

    @property
    def threads(self) -> int:
        """How many threads it is for."""
        return self.target.cores if self.spec.parallel else 1

    def walk(self) -> Iterator[Impl]:
        """This Impl and all below it, in pre-order."""
        yield self
        for child in self.children:
            yield from child.impl.walk()

    @cached_property
    def size(self) -> int:
        """How many nodes there are: this Impl and all below it."""
        return 1 + sum(c.impl.size for c in self.children)

    def decisions(self) -> list[Rewrite]:
        """The rewrites in pre-order; with the Spec, they determine the whole program."""
        return [impl.rewrite for impl in self.walk() if impl.rewrite is not None]


@dataclass(frozen=True)
class ImplNode:
    """An Impl and its number in pre-order in the whole, where equal parts may be one object."""

    impl: Impl
    number: int = 0

    @property
    def children(self) -> list[ImplNode]:
        nodes, number = [], self.number + 1
        for child in self.impl.children:
            nodes.append(ImplNode(child.impl, number))
            number += child.impl.size
        return nodes


def grow(
    rewrite: Rewrite, spec: Spec, target: Target, limits: Sequence[int]
) -> tuple[Impl, tuple[int, ...]]:
    """Apply a rewrite to a hole; returns the Impl, whose children are holes, and their limits.

    Raises `RewriteError` if it does not apply or does not fit the memory that is left.
    """
    step = apply(rewrite, spec, target)
    left = _left(step, rewrite, spec, target, limits)
    return _impl(step, rewrite, spec, target, lambda hole: Impl(hole, target)), left


def _left(
    step: Step, rewrite: Rewrite, spec: Spec, target: Target, limits: Sequence[int]
) -> tuple[int, ...]:
    """The limits of what a rewrite leaves to do; raises `RewriteError` if it needs more itself."""
    left = list(limits)
    for level, amount in step.allocation.items():
        left[level - 1] -= amount
        if left[level - 1] < 0:
            name = target.levels[level].name
            unit = "registers" if level == target.registers else f"lines of {name}"
            raise RewriteError(
                f"{rewrite} on {spec} needs {amount} {unit}, of which {limits[level - 1]} are left."
            )
    return tuple(left)


def _impl(
    step: Step, rewrite: Rewrite, spec: Spec, target: Target, fill: Callable[[Spec], Impl]
) -> Impl:
    """The Impl of an applied rewrite, whose holes are filled in order."""
    children = tuple([Branch(fill(h.spec), h.times, h.role, h.tensors) for h in step.holes])
    return Impl(spec, target, rewrite, step.cost, step.allocation, children)


def replay(spec: Spec, target: Target, decisions: Sequence[Rewrite]) -> Impl:
    """Build an Impl by applying rewrites to a Spec, in pre-order; raises `RewriteError`."""
    remaining = iter(decisions)

    def fill(hole: Spec, limits: Sequence[int]) -> Impl:
        rewrite = next(remaining, None)
        if rewrite is None:
            raise RewriteError(f"the schedule ends too soon: {hole} is left to do.")
        step = apply(rewrite, hole, target)
        left = _left(step, rewrite, hole, target, limits)
        return _impl(step, rewrite, hole, target, lambda inner: fill(inner, left))

    impl = fill(spec, target.limits)
    extra = next(remaining, None)
    if extra is not None:
        raise RewriteError(f"the schedule goes on after the program is complete, at {extra}.")
    return impl


def cycles(cost: float) -> str:
    """A cost as text: three digits and a metric prefix."""
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if cost >= 0.9995 * size:
            return f"{cost / size:.3g}{unit}"
    return f"{cost:.3g}"
