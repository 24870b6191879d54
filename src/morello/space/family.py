"""Families of search spaces, whose goals share rules and the encoding of Specs, but for sizes."""

from __future__ import annotations

from dataclasses import dataclass

from morello.base.errors import SearchError
from morello.ir.kept import EVERY, NONE, Kept
from morello.space.encoding import SpecEncoding
from morello.space.guards import Rules, relaxed
from morello.space.kind import Kind
from morello.space.rules import rules
from morello.space.sizes import Sizes
from morello.space.traits import RuleTraits
from morello.targets.target import Target

_MOST_REWRITES = 256  # their numbers are stored as bytes


@dataclass(frozen=True)
class Family:
    """All that the rules of a kind and the keys of its Specs depend on, but for sizes.

    A size may be cut to so many tiles (see `Sizes.most_cuts`). With `many_dims`, tensors may have
    `MANY_DIMS`. If it is relaxed, sums of products keep the `neighbours` of these operands.
    """

    target: Target
    traits: RuleTraits
    relaxed: bool
    most_cuts: int
    many_dims: bool
    neighbours: Kept

    def kept(self, kind: Kind) -> Kept:
        """The operands whose neighbours stay where they are where Specs of a kind are relaxed."""
        return self.neighbours if kind.operation.sums_products else EVERY

    def encoding(self, kind: Kind, sizes: Sizes) -> SpecEncoding:
        """The encoding of Specs of a kind that have these sizes."""
        return SpecEncoding(kind, sizes, self.many_dims, self.kept(kind) != NONE)

    def rules(self, kind: Kind, sizes: Sizes) -> list[Rules]:
        """The rules for Specs of a kind that have these sizes, in the same order for all sizes."""
        groups = rules(kind, self.target, sizes, self.traits)
        if self.relaxed:
            groups = relaxed(groups, kept=self.kept(kind))
        if sum(len(group.rewrites) for group in groups) > _MOST_REWRITES:
            raise SearchError(f"{kind.operation} has more rewrites than can be searched.")
        return groups
