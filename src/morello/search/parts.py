"""Programs that are found soon, whatever the goal: of few sizes, and part by part.

A batch of products becomes a loop over one of them; an operand whose neighbours in memory lie
along the batch is copied before. A composition is cut into pieces, with a buffer in main memory
between one and the next (see `search.pieces`). Distinct pieces are searched together, then pairs
that follow each other, and dynamic programming over the cuts chooses among these.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from math import inf
from operator import itemgetter

from morello.base.errors import RewriteError
from morello.ir.compose import batches_of, batches_of_some, inputs_of, tensor_dims
from morello.ir.layout import row_major
from morello.ir.operation import Operand
from morello.ir.spec import Spec
from morello.rewrites import Bufferize, Move, Rewrite, Tile
from morello.rewrites.rewrite import Step, apply
from morello.search.best_first import BestFirst
from morello.search.budget import BudgetError, Watch, clock
from morello.search.deepening import narrow
from morello.search.graph import of_spec
from morello.search.incumbent import Incumbent, tell_best
from morello.search.pieces import boundaries, effort
from morello.search.prepacking import weights_of
from morello.search.pruned_space import PrunedSpace
from morello.space.space import Goal, coarse_sizes
from morello.space.traits import TilingTraits, is_long
from morello.targets.target import Target

DEARER, DEARER_PAIR = 3.0, 8.0
"""How many times the effort for its pieces that for a composition may be, if it is searched as a
whole; and for two pieces of products, which are a pair."""

A_SECOND, LATE = 400_000, 1.5
"""The effort that takes about a second; and how many times the seconds left the effort may be."""

MORE = 0.5
"""How much longer pairs of pieces may be searched than the pieces, where a small gap is enough."""

COARSEST, COARSE = 16, 4
"""The ratios of sizes: by the first, there is a program soonest, by the second a better one."""

WHOLE = 0.5
"""The share of the time for the whole, of few sizes, if there is time for pieces as well."""

FEW, PIECES = 0.3, 0.8
"""The shares of the time for pieces of few sizes, and of what is left for those of all sizes."""

SLOWER = 4
"""How many times as long as of the fewest sizes a search of all sizes takes, at least."""

MOST_TOGETHER = 8
"""The most pieces that are searched together: the memory grows with them."""

FIRST_S = 0.5
"""The least seconds for the first programs of pieces: they mostly have some that are proven by
then, while narrowed spaces take longer, one after another, and have worse ones. For a single
product, it is not so."""

Program = tuple[float, tuple[Rewrite, ...]]
"""A program as its cost and its decisions in pre-order."""

_NONE: Program = inf, ()


@dataclass(frozen=True)
class _Cut:
    """A way to take a Spec apart: the rewrite, and what it leaves.

    It may leave the composition `whole`.
    """

    rewrite: Rewrite
    step: Step
    whole: bool = True


class Parts:
    """The pieces of a goal, and the cheapest program found so far for each.

    Of Specs that differ in the layouts of weights, it is one that kernels read as it is. `cuts` has
    the ways to cut Specs, of those that were asked for, the one into pieces first; what cannot be
    cut has none. The bound of the whole is `late` if it was not done in time.
    """

    def __init__(self, goal: Goal, target: Target) -> None:
        self._goal, self._number = goal, _easiest(goal)
        self.spec, self.target = goal[self._number], target
        self.cuts: dict[Spec, list[_Cut]] = {}
        self.found: dict[Spec, Program] = {}
        self._lower = 0.0
        self.late = False
        self._searched: list[Incumbent] = []
        self._ended: set[tuple[Spec, int | None]] = set()

    def plain(self, watch: Watch, share: float = 0.0) -> Incumbent:
        """One item of each batch, and one piece after the other, of few sizes.

        The first programs of these, whatever the time, or better ones in a `share` of it. Once they
        are found, this takes no time.
        """
        plain = dict.fromkeys(self._plain(self.spec))
        for specs in self._together(spec for spec in plain if spec not in self.found):
            self._find(specs, watch, watch.part(share))
        return self._best()

    def plain_of_all_sizes(self, watch: Watch) -> Incumbent:
        """The best program of the pieces of `plain`, or of the goal's `_rests`, as time allows.

        There is none if the goal is the only piece.
        """
        plain = dict.fromkeys(self._plain(self.spec))
        rests = [spec for spec in self._rests(self.spec) if spec not in plain]
        pieces = [spec for spec in [*plain, *rests] if spec != self.spec]
        if pieces:
            self.plain(watch)
            self._improve(pieces, COARSE, watch.part(WHOLE))
            self._improve(pieces, None, watch)
        return self._best()

    def soon(self, watch: Watch) -> Incumbent:
        """The program of `plain`, or a better one of the whole Spec, of few sizes."""
        self.plain(watch)
        if not self.apart(watch.left):
            self._improve([self.spec], COARSEST, watch)
        return self._best()

    def best(self, watch: Watch) -> Incumbent:
        """The program of `plain`, or a better one of pieces, then of pairs, then of the whole.

        Where a small gap is enough, the pairs take no longer than `MORE` of what the pieces took:
        there is no bound of the whole that tells how near the program is. If that was begun and is
        `late`, the whole is searched with few sizes; if not, where no small gap is enough.
        """
        began = clock()
        if self.late:
            self._ended.add((self.spec, None))  # it would be late again
        self.plain(watch, FEW)
        pieces = [spec for spec in self.pieces if spec != self.spec]
        slow = SLOWER * (clock() - began) > watch.left
        self._improve(pieces, COARSE if slow else None, watch.part(PIECES))
        enough = watch.gap > 0
        more = watch.within(MORE * (clock() - began)) if enough else watch.part(WHOLE)
        for work, pair in self._pairs_by_effort(watch):
            if work <= A_SECOND * more.left:
                self._improve([pair], None, more)
        if self.late:
            self._improve([self.spec], COARSEST, watch.part(WHOLE))
            self._improve([self.spec], COARSE, watch)
        elif not enough:
            self._improve([self.spec], None, watch)
        return self._best()

    def apart(self, seconds: float = inf) -> bool:
        """Whether a composition is searched in pieces, if its bound may take so many seconds."""
        pieces = self.pieces
        if pieces == [self.spec]:
            return False
        pair = len(pieces) == 2 and self.spec.operation.sums_products
        most = (DEARER_PAIR if pair else DEARER) * sum(map(effort, pieces))
        if is_long(self.spec.operation):  # which lacks some of the programs of its pieces
            most = 0.0
        most = min(max(most, A_SECOND), LATE * seconds * A_SECOND)
        return effort(self.spec, most) > most

    @cached_property
    def pieces(self) -> list[Spec]:
        """The distinct pieces of a composition, with batches as they are."""
        return [*dict.fromkeys(self._pieces(self.spec))]

    def _improve(self, specs: Iterable[Spec], ratio: int | None, watch: Watch) -> None:
        """Search pieces, together if they are alike, as time allows; none twice for a ratio."""
        left = [*self._together(spec for spec in specs if (spec, ratio) not in self._ended)]
        for number, some in enumerate(left):
            if watch.over:
                break
            with suppress(BudgetError, MemoryError):
                self._search(some, ratio, watch.part(1 / (len(left) - number)))
                self._ended |= {(spec, ratio) for spec in some}

    def _together(self, specs: Iterable[Spec]) -> Iterator[list[Spec]]:
        """Specs in groups that share a search, as they have the same tiles and rules."""
        groups: dict[TilingTraits, list[Spec]] = {}
        for spec in dict.fromkeys(specs):
            groups.setdefault(TilingTraits.of(self.target, spec), []).append(spec)
        for group in groups.values():
            for start in range(0, len(group), MOST_TOGETHER):
                yield group[start : start + MOST_TOGETHER]

    def _plain(self, spec: Spec) -> Iterator[Spec]:
        """The pieces of what copies of operands and loops over batches leave."""
        cuts = self._cuts(spec)
        if not cuts:
            yield spec
        for hole in cuts[0].step.holes if cuts else ():
            yield from self._plain(hole.spec)

    def _pieces(self, spec: Spec) -> Iterator[Spec]:
        cut = next((cut for cut in self._cuts(spec) if not cut.whole), None)
        if cut is None:
            yield spec
        for hole in cut.step.holes if cut is not None else ():
            yield from self._pieces(hole.spec)

    def _pairs(self, spec: Spec) -> Iterator[Spec]:
        """Each pair of pieces that follow each other, as one composition."""
        cuts = [cut for cut in self._cuts(spec) if not cut.whole]
        for hole in cuts[0].step.holes if cuts else ():
            yield from self._pairs(hole.spec)
        for pair in [spec, *(cut.step.holes[-1].spec for cut in cuts[1:])]:
            if len([*self._pieces(pair)]) == 2:
                yield pair

    def _pairs_by_effort(self, watch: Watch) -> list[tuple[float, Spec]]:
        """The efforts of distinct pairs, and the pairs, the least first; those found in time."""
        efforts: dict[Spec, float] = {}
        if not watch.over:
            for pair in self._pairs(self.spec):
                if watch.over:
                    break
                if pair not in efforts:
                    efforts[pair] = effort(pair)
        return sorted(((work, pair) for pair, work in efforts.items()), key=itemgetter(0))

    def _rests(self, spec: Spec) -> Iterator[Spec]:
        """Copies of operands whose neighbours lie along a batch, and what they leave in one piece.

        If a batch is looped over, what is left is a single item of it.
        """
        cut = next((cut for cut in self._cuts(spec) if cut.whole), None)
        if cut is not None:
            for hole in cut.step.holes:
                yield from self._rests(hole.spec)
        else:
            yield spec

    def _cuts(self, spec: Spec) -> list[_Cut]:
        if spec not in self.cuts:
            self.cuts[spec] = _cuts(spec, self.target)
        return self.cuts[spec]

    def _find(self, specs: list[Spec], watch: Watch, better: Watch) -> None:
        """Find programs of pieces of few sizes: when the time is used up, any.

        Once there are any, there may be time for better ones.
        """
        pruned = self._space(specs, COARSEST)
        bound = pruned.bound(watch.untimed())
        product = len(specs) == 1 and specs[0].operation.sums_products
        first = watch if product else watch.at_least(FIRST_S)
        incumbents = BestFirst(pruned.space, bound, better, first).run()
        for spec, incumbent in zip(specs, incumbents, strict=True):
            if incumbent.undecided:
                space = pruned.of_spec(spec).space
                incumbent = narrow(space, bound, incumbent.lower, watch)
                self._searched.append(incumbent)
            self._keep(spec, incumbent)
        self._searched.append(incumbents[0])

    def _search(self, specs: list[Spec], ratio: int | None, watch: Watch) -> None:
        """Search pieces, of all sizes or those of a ratio.

        Raises `BudgetError` or `MemoryError` if there is no bound in time.
        """
        pruned = self._space(specs, ratio)
        search = BestFirst(pruned.space, pruned.bound(watch), watch)
        for number, spec in enumerate(specs):
            search.improve(*self._program(spec), number)
        incumbents = search.run()
        for spec, incumbent in zip(specs, incumbents, strict=True):
            if ratio is None and self._goal == (spec,):  # others may have cheaper programs
                self._lower = incumbent.lower
            self._keep(spec, incumbent)
        self._searched.append(incumbents[0])

    def _space(self, specs: list[Spec], ratio: int | None) -> PrunedSpace:
        """The space of pieces, of all sizes or those of a ratio."""
        goals: list[Goal] = [(spec,) for spec in specs]
        sizes = None if ratio is None else coarse_sizes(specs, self.target, ratio)
        return PrunedSpace(goals, self.target, sizes=sizes)

    def _keep(self, spec: Spec, incumbent: Incumbent) -> None:
        program = incumbent.cost, incumbent.decisions
        self.found[spec] = min(self.found.get(spec, _NONE), program, key=_cost)
        tell_best(self._program(self.spec)[0], self._lower)

    def _program(self, spec: Spec) -> Program:
        """The cheapest program of a Spec that consists of what was found, by the known cuts."""
        best: dict[Spec, Program] = {}

        def solve(spec: Spec) -> Program:
            if spec not in best:
                ways = [self.found.get(spec, _NONE)]
                for cut in self.cuts.get(spec, ()):
                    total, decisions = cut.step.cost, [cut.rewrite]
                    for hole in cut.step.holes:
                        cost, below = solve(hole.spec)
                        total += hole.times * cost
                        decisions += below
                    ways.append((total, tuple(decisions)))
                best[spec] = min(ways, key=_cost)
            return best[spec]

        return solve(spec)

    def _best(self) -> Incumbent:
        cost, decisions = self._program(self.spec)
        return Incumbent(
            cost, of_spec(self._goal, self._number, decisions), self._lower,
            specs=sum(each.specs for each in self._searched),
            rewrites=sum(each.rewrites for each in self._searched),
            entries=sum(each.entries for each in self._searched),
            tried=sum(each.tried for each in self._searched),
            bounded=sum(each.bounded for each in self._searched),
        )  # fmt: skip


def _easiest(goal: Goal) -> int:
    """The number of the first Spec in which neighbours in the memory of weights are not summed.

    0 if there is none.
    """
    for number, spec in enumerate(goal):
        summed = [
            set(reduced).intersection(spec.operation.axes[each][layout.order[-1]].names)
            for each, reduced in weights_of(spec.operation).items()
            if (layout := spec.placements[each].layout).order
        ]
        if not any(summed):
            return number
    return 0


def copies(spec: Spec) -> bool:
    """Whether plain programs copy inputs within main memory, which no program of the space does."""
    return any(_interleaved(spec))


def _cuts(spec: Spec, target: Target) -> list[_Cut]:
    """The ways to cut a Spec: a loop over a batch, or else a copy; and buffers in main memory."""
    loops = list(_loops(spec, target))
    return [*(loops[:1] or _copies(spec, target)), *_buffers(spec, target)]


def _loops(spec: Spec, target: Target) -> Iterator[_Cut]:
    """The loops over the batches of a Spec: dimensions of all operands of all its products.

    Where neighbours in memory lie along one, kernels compute them together: it is no batch.
    """
    operation, together = spec.operation, _fastest_dims(spec)
    for dim in () if spec.parallel else batches_of(operation):
        if dim not in together and spec.size(dim) > 1:
            rewrite = Tile(dim, 1)
            with suppress(RewriteError):  # if it is reduced, or panels lie along it
                yield _Cut(rewrite, apply(rewrite, spec, target))


def _copies(spec: Spec, target: Target) -> Iterator[_Cut]:
    """The row-major copy of the first input whose neighbours in memory lie along a batch.

    Its products can be computed one by one then, from neighbours along their own dimensions. Not
    all products need have the batch.
    """
    memory = target.levels[0].name
    for operand in _interleaved(spec):
        rewrite = Move(operand.name, memory, row_major(len(operand.dims)))
        with suppress(RewriteError):  # if it is nearer than main memory
            yield _Cut(rewrite, apply(rewrite, spec, target))
            return


def _interleaved(spec: Spec) -> Iterator[Operand]:
    """The inputs whose neighbours in memory lie along a batch, unless they are row-major."""
    operation = spec.operation
    batches = {dim for dim in batches_of_some(operation) if spec.size(dim) > 1}
    for index, operand in enumerate(operation.operands):
        as_it_is = spec.placements[index].layout.row_major
        if not (operand.written or as_it_is) and batches & _fastest(spec, index):
            yield operand


def _fastest_dims(spec: Spec) -> set[str]:
    """The dimensions along which neighbours in memory lie, of any operand."""
    return {name for index in range(len(spec.placements)) for name in _fastest(spec, index)}


def _fastest(spec: Spec, index: int) -> set[str]:
    """The dimensions along which neighbours of an operand lie in memory."""
    order = spec.placements[index].layout.order
    return set(spec.operation.axes[index][order[-1]].names) if order else set()


def _buffers(spec: Spec, target: Target) -> Iterator[_Cut]:
    """The ways to cut the last piece or two off, with a buffer in main memory."""
    operation, memory = spec.operation, target.levels[0].name
    for tensor in boundaries(operation)[:-3:-1]:
        rank, component = len(tensor_dims(operation, tensor)), tensor - inputs_of(operation)
        rewrite = Bufferize(component, memory, row_major(rank))
        yield _Cut(rewrite, apply(rewrite, spec, target), whole=False)


def _cost(program: Program) -> float:
    return program[0]
