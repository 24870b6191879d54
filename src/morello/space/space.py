"""The search space of a goal: its sizes, its rules, and the kinds of its Specs."""

from __future__ import annotations

from collections.abc import Sequence

from morello.engine.limits import Limits
from morello.ir.batch import Batch
from morello.ir.operation import Operation
from morello.ir.placements import Placements
from morello.ir.spec import Spec
from morello.ir.tracing import Lookup
from morello.rewrites import Rewrite
from morello.space.encoding import MANY_DIMS, SpecEncoding
from morello.space.family import Family
from morello.space.guards import Rules
from morello.space.kind import Kind
from morello.space.panels import Panels
from morello.space.sizes import CoarseSizes, Sizes
from morello.targets.target import Target


class Space:
    """The search space of a goal: its rules, sizes, and kinds of Specs.

    Sizes that tiling does not reach (the windows of convolutions, say) are added as they are met.
    There may be several goals, which differ in their layouts: a program of any of them will do.
    """

    def __init__(
        self,
        goal: Spec,
        target: Target,
        sizes: Sizes,
        *,
        relaxed: bool = False,
        others: Sequence[Spec] = (),
    ) -> None:
        self.goal, self.target, self.sizes, self.relaxed = goal, target, sizes, relaxed
        self.goals = (goal, *others)
        self.limits = Limits(target.limits)
        self.placements = Placements()
        blocks, many_dims = Panels.of(*self.goals).odd_even, _rank(goal.operation) >= MANY_DIMS
        self.family = Family(target, relaxed, blocks, sizes.widths, many_dims)
        self.encodings: list[SpecEncoding] = []  # by the number of the kind
        self._numbers: dict[Kind, int] = {}
        self._encodings: dict[Kind, SpecEncoding] = {}
        self._rules: dict[Kind, list[Rules]] = {}

    def number(self, kind: Kind) -> int:
        """The number of a kind; a new one gets the next."""
        if kind not in self._numbers:
            self._numbers[kind] = len(self.encodings)
            self.encodings.append(self.encoding_of(kind))
        return self._numbers[kind]

    def kind_number(self, batch: Batch) -> int:
        """The number of the kind of a batch's Specs."""
        return self.number(Kind.of(batch))

    def encoding(self, batch: Batch) -> SpecEncoding:
        """The encoding of a batch's Specs."""
        return self.encoding_of(Kind.of(batch))

    def encoding_of(self, kind: Kind) -> SpecEncoding:
        """The encoding of Specs of a kind, which need not have a number."""
        if kind not in self._encodings:
            self._encodings[kind] = self.family.encoding(kind, self.sizes)
        return self._encodings[kind]

    def table(self, lookup: Lookup) -> Lookup:
        """The table that has in this space the role of one in another space of the family."""
        if lookup.role is None:
            return lookup
        own = self.sizes.tables.get(lookup.role)
        return self.placements.table(lookup.role) if own is None else own

    def rules(self, kind: Kind) -> list[Rules]:
        """The rules for Specs of a kind."""
        if kind not in self._rules:
            self._rules[kind] = self.family.rules(kind, self.sizes)
        return self._rules[kind]

    def rewrites(self, kind: Kind) -> list[Rewrite]:
        """All rewrites tried on Specs of a kind; an edge's rule is a position in this list."""
        return [rewrite for group in self.rules(kind) for rewrite in group.rewrites]

    def goal_batch(self) -> Batch:
        """The goals; in a relaxed space, one Spec stands for all of them."""
        if self.relaxed:
            return Batch.of([self.goal], self.placements).relaxed()
        return Batch.of(self.goals, self.placements)


def _rank(operation: Operation) -> int:
    """The most dimensions of any tensor of an operation, its intermediates included."""
    tensors = [operand.dims for operand in operation.operands]
    tensors += [component.result_dims for component in operation.components]
    return max(len(dims) for dims in tensors)


def goal_sizes(goal: Spec, target: Target, others: Sequence[Spec] = ()) -> Sizes:
    """All sizes that tiling a goal, or others that differ in their layouts, can reach."""
    return Sizes(goal.sizes, Panels.of(goal, *others).widths, target.rows)


def coarse_sizes(goal: Spec, target: Target, ratio: int) -> Sizes:
    """A few of the sizes that tiling a goal can reach, for a program that is found soon."""
    vector = min(max(target.widths(dtype), default=1) for dtype in goal.dtypes)
    return CoarseSizes(goal.sizes, vector, ratio, Panels.of(goal).widths, target.rows)
