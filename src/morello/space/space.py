"""The search space of a goal: its sizes, its rules, and the kinds of its Specs."""

from __future__ import annotations

from collections.abc import Sequence

from morello.base.errors import SearchError
from morello.engine.limits import Limits
from morello.ir.batch import Batch
from morello.ir.dtype import DType
from morello.ir.operation import Operation
from morello.ir.placements import Placements
from morello.ir.spec import Spec
from morello.rewrites import Rewrite
from morello.space.encoding import SpecEncoding
from morello.space.guards import Rules, relaxed
from morello.space.kind import Kind
from morello.space.panels import Panels
from morello.space.rules import rules
from morello.space.sizes import CoarseSizes, Sizes
from morello.targets.target import Target

_MOST_REWRITES = 256  # their numbers are stored as bytes


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
        self._blocks = Panels.of(*self.goals).odd_even
        self._rank = _rank(goal.operation)
        self.encodings: list[SpecEncoding] = []  # by the number of the kind
        self._numbers: dict[tuple[Operation, tuple[DType, ...], bool], int] = {}
        self._rules: dict[Kind, list[Rules]] = {}

    def kind_number(self, batch: Batch) -> int:
        """The number of the kind of a batch's Specs; a new kind gets the next one."""
        key = batch.operation, batch.dtypes, batch.parallel
        if key not in self._numbers:
            self._numbers[key] = len(self.encodings)
            self.encodings.append(SpecEncoding(Kind(*key), self.sizes, self._rank))
        return self._numbers[key]

    def encoding(self, batch: Batch) -> SpecEncoding:
        """The encoding of a batch's Specs."""
        return self.encodings[self.kind_number(batch)]

    def rules(self, kind: Kind) -> list[Rules]:
        """The rules for Specs of a kind."""
        if kind not in self._rules:
            groups = rules(kind, self.target, self.sizes, blocks=self._blocks)
            if self.relaxed:
                groups = relaxed(groups)
            if sum(len(group.rewrites) for group in groups) > _MOST_REWRITES:
                raise SearchError(f"{kind.operation} has more rewrites than can be searched.")
            self._rules[kind] = groups
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
