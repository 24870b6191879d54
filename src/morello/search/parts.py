"""Programs that are found soon, whatever the goal: of few sizes, and part by part.

A batch of products becomes a loop over one of them; an operand whose neighbours in memory lie
along the batch is copied before. A composition is cut into pieces, with a buffer in main memory
between one and the next. Each distinct piece is searched alone, and dynamic programming over the
cuts chooses among the splits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import inf

from morello.base.errors import RewriteError
from morello.ir.compose import batches_of, batches_of_some, inputs_of, tensor_dims, touches_product
from morello.ir.layout import row_major
from morello.ir.operation import Operand, Operation
from morello.ir.spec import Spec
from morello.rewrites import Bufferize, Move, Rewrite, Tile
from morello.rewrites.rewrite import Step, apply
from morello.search.best_first import BestFirst
from morello.search.budget import BudgetError, Watch
from morello.search.deepening import narrow
from morello.search.graph import of_spec
from morello.search.incumbent import Incumbent, tell_best
from morello.search.prepacking import weights_of
from morello.search.pruned_space import PrunedSpace
from morello.space.space import Goal, coarse_sizes, goal_sizes
from morello.space.steps import cut_points
from morello.space.tiling import is_long
from morello.targets.target import Target

FUSED = 2
"""The most cuts of a piece: it is searched as a whole, too."""

MOST_CUTS, MOST_CUTS_WITHOUT = 4, 6
"""The most cuts, with and without sums of products, of a composition that is searched as a whole:
its bound takes far longer where there are products, unless it is `long` (see `RuleTraits`)."""

LONG_S, MORE_CUTS = 2.5, 4
"""The least seconds for the bound in which it may have more, and how many more."""

COARSEST, COARSE = 16, 4
"""The ratios of sizes: by the first, there is a program soonest, by the second a better one."""

WHOLE = 0.5
"""The share of the time for the whole, of few sizes, if there is time for pieces as well."""

FIRST_S = 0.2
"""The least seconds for the first program of a piece without products: it mostly has one that is
proven by then, while narrowed spaces take longer and have worse ones. Of products, it is not so."""

Program = tuple[float, tuple[Rewrite, ...]]
"""A program as its cost and its decisions in pre-order."""

_NONE: Program = inf, ()


@dataclass(frozen=True)
class _Cut:
    """A way to take a Spec apart: the rewrite, and what it leaves.

    It may be one that makes `plain` programs (see `Parts.plain`), and may leave the composition
    `whole`.
    """

    rewrite: Rewrite
    step: Step
    plain: bool = True
    whole: bool = True


class Parts:
    """The pieces of a goal, and the cheapest program found so far for each.

    Of Specs that differ in the layouts of weights, it is one that kernels read as it is. `cuts` has
    the ways to cut Specs, of those that were asked for; what cannot be cut has none.
    """

    def __init__(self, goal: Goal, target: Target) -> None:
        self._goal, self._number = goal, _easiest(goal)
        self.spec, self.target = goal[self._number], target
        self.cuts: dict[Spec, list[_Cut]] = {}
        self.found: dict[Spec, Program] = {}
        self._lower = 0.0
        self._searched: list[Incumbent] = []
        self._ended: set[tuple[Spec, int | None]] = set()

    def plain(self, watch: Watch) -> Incumbent:
        """One product of each batch, and what is between products, one after the other.

        The first programs of these, whatever the time. Once they are found, this takes no time.
        """
        for spec in dict.fromkeys(self._plain(self.spec)):
            if spec not in self.found:
                self._find(spec, watch)
        return self._best()

    def plain_of_all_sizes(self, watch: Watch) -> Incumbent:
        """The best program of the pieces of `plain`, or of the goal's `_rests`, as time allows.

        There is none if the goal is the only piece.
        """
        pieces = [*dict.fromkeys([*self._plain(self.spec), *self._rests(self.spec)])]
        pieces = [spec for spec in pieces if spec != self.spec]
        if pieces:
            self.plain(watch)
            self._improve(self._dearest_last(pieces), COARSE, watch.part(WHOLE))
            self._improve(self._dearest_last(pieces), None, watch)
        return self._best()

    def _dearest_last(self, pieces: Iterable[Spec]) -> list[Spec]:
        """Pieces by the costs of their programs so far, as the dearest takes longest."""
        return sorted(pieces, key=lambda spec: self.found.get(spec, _NONE)[0])

    def soon(self, watch: Watch) -> Incumbent:
        """The program of `plain`, or a better one of the whole Spec, of few sizes."""
        self.plain(watch)
        if not in_parts(self.spec.operation, watch.left):
            self._improve([self.spec], COARSEST, watch)
        return self._best()

    def best(self, watch: Watch) -> Incumbent:
        """The program of `soon`, or a better one of all pieces and more sizes, as time allows.

        Those of `plain` come first: there may be hundreds of others, with too little time for each.
        """
        soon = self.soon(watch.part(WHOLE))
        if watch.over:
            return soon
        plain = [*self.found]
        every = self._specs(watch)
        whole = [spec for spec in every if _is_piece(spec) and not self._batched(spec)]
        pieces = sorted(whole, key=_cut_count)
        passes = [(plain, COARSE), ([spec for spec in plain if spec != self.spec], None)]
        passes += [(pieces, ratio) for ratio in (COARSEST, COARSE, None)]
        for number, (specs, ratio) in enumerate(passes):
            self._improve(specs, ratio, watch.part(1 / (len(passes) - number)))
        return self._best()

    def _improve(self, specs: Sequence[Spec], ratio: int | None, watch: Watch) -> None:
        """Search pieces one after the other, which share the time; none twice for a ratio."""
        left = [spec for spec in specs if (spec, ratio) not in self._ended]
        for number, spec in enumerate(left):
            if watch.over:
                break
            with suppress(BudgetError, MemoryError):
                self._search(spec, ratio, watch.part(1 / (len(left) - number)))
                self._ended.add((spec, ratio))

    def _plain(self, spec: Spec) -> Iterator[Spec]:
        """The pieces of a Spec that is cut where plain programs are."""
        cuts = [cut for cut in self._cuts(spec) if cut.plain]
        if not cuts and not _is_piece(spec):
            cuts = self._cuts(spec)[-1:]
        if not cuts:
            yield spec
        for hole in cuts[0].step.holes if cuts else ():
            yield from self._plain(hole.spec)

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

    def _batched(self, spec: Spec) -> bool:
        """Whether a Spec is taken apart by a loop over a batch."""
        return any(isinstance(cut.rewrite, Tile) for cut in self._cuts(spec))

    def _specs(self, watch: Watch) -> Iterable[Spec]:
        """The goal, and all Specs that cuts leave, over and over, as far as time allows."""
        todo, specs = [self.spec], dict[Spec, None]()
        while todo and not watch.over:
            spec = todo.pop()
            if spec not in specs:
                specs[spec] = None
                todo += [hole.spec for cut in self._cuts(spec) for hole in cut.step.holes]
        return specs

    def _cuts(self, spec: Spec) -> list[_Cut]:
        if spec not in self.cuts:
            self.cuts[spec] = _cuts(spec, self.target)
        return self.cuts[spec]

    def _find(self, spec: Spec, watch: Watch) -> None:
        """Find a program of a piece: the first of a search, or when the time is used up, any."""
        sizes = coarse_sizes(spec, self.target, COARSEST)
        pruned = PrunedSpace([(spec,)], self.target, sizes=sizes)
        bound = pruned.bound(watch.untimed())
        first = watch if spec.operation.sums_products else watch.at_least(FIRST_S)
        (incumbent,) = BestFirst(pruned.space, bound, watch.part(0), first).run()
        if incumbent.undecided:
            incumbent = narrow(pruned.space, bound, incumbent.lower, watch)
        self._keep(spec, incumbent)

    def _search(self, spec: Spec, ratio: int | None, watch: Watch) -> None:
        """Search a piece, of all sizes or those of a ratio.

        Raises `BudgetError` or `MemoryError` if there is no bound in time.
        """
        sizes = (
            goal_sizes([(spec,)], self.target)
            if ratio is None
            else coarse_sizes(spec, self.target, ratio)
        )
        pruned = PrunedSpace([(spec,)], self.target, sizes=sizes)
        (incumbent,) = BestFirst(pruned.space, pruned.bound(watch), watch).run()
        if ratio is None and self._goal == (spec,):  # others may have cheaper programs
            self._lower = incumbent.lower
        self._keep(spec, incumbent)

    def _keep(self, spec: Spec, incumbent: Incumbent) -> None:
        self._searched.append(incumbent)
        program = incumbent.cost, incumbent.decisions
        self.found[spec] = min(self.found.get(spec, _NONE), program, key=_cost)
        tell_best(self._best().cost, self._lower)

    def _best(self) -> Incumbent:
        """The cheapest program of the goal that consists of what was found, by the known cuts."""
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

        cost, decisions = solve(self.spec)
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


def in_parts(operation: Operation, seconds: float = 0.0) -> bool:
    """Whether a composition is searched part by part, if its bound may take so many seconds."""
    few = operation.sums_products and not is_long(operation)
    most_cuts = MOST_CUTS if few else MOST_CUTS_WITHOUT
    if seconds >= LONG_S:
        most_cuts += MORE_CUTS
    return len(cut_points(operation)) > most_cuts


def _cuts(spec: Spec, target: Target) -> list[_Cut]:
    """The ways to cut a Spec: a loop over a batch, otherwise with a copy or buffer in main memory.

    Of what is no piece, only pieces are cut off, in the order of the components if possible.
    """
    loops = list(_loops(spec, target))
    if loops:
        return loops[:1]
    cuts = dict(_buffers(spec, target))
    if not _is_piece(spec):
        small = [n for n, cut in cuts.items() if _is_piece(cut.step.holes[0].spec)] or [*cuts]
        first = [n for n in small if _begins(spec.operation, n)]
        cuts = {n: cuts[n] for n in first or small}
    return [*_copies(spec, target), *cuts.values()]


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


def _buffers(spec: Spec, target: Target) -> Iterator[tuple[int, _Cut]]:
    """The ways to cut a Spec with a buffer in main memory, after each of some components."""
    operation, memory = spec.operation, target.levels[0].name
    for tensor in cut_points(operation):
        rank, component = len(tensor_dims(operation, tensor)), tensor - inputs_of(operation)
        rewrite = Bufferize(component, memory, row_major(rank))
        plain = touches_product(operation, tensor)
        yield component, _Cut(rewrite, apply(rewrite, spec, target), plain, whole=False)


def _begins(operation: Operation, component: int) -> bool:
    """Whether a component needs the first one, or is it."""
    inputs = inputs_of(operation)
    sources = (tensor - inputs for tensor in operation.components[component].inputs)
    return component == 0 or any(_begins(operation, n) for n in sources if n >= 0)


def _is_piece(spec: Spec) -> bool:
    return _cut_count(spec) <= FUSED


def _cut_count(spec: Spec) -> int:
    return len(cut_points(spec.operation))


def _cost(program: Program) -> float:
    return program[0]
