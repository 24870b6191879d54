"""Chooses which programs of a goal to measure next, guided by a predictor.

Its predictions are corrected by what was measured.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from math import log
from random import Random
from time import monotonic

import numpy as np

from morello.codegen.distinct import Distinct
from morello.impl.tree import Impl
from morello.learn.anneal import CHAINS, anneal
from morello.learn.choosers import NEAR, nearby_walker, program, random_programs, walker_of, watch
from morello.learn.predictors import Predictor
from morello.learn.programs import WORTH
from morello.learn.stepwise import stepwise
from morello.learn.trait_errors import TraitErrors
from morello.search.budget import Progress, Watch
from morello.search.candidates import candidates
from morello.search.graph import SearchGraph
from morello.search.sample import Walk, Walker
from morello.search.session import Session
from morello.search.structure import Structure, structure

ALIKE = 3
"""The most programs of one structure that are measured together, if there are others."""

HEDGE = 4
"""One in so many programs is measured because its cost is least, whatever its prediction."""

EXPLORE = 4
"""One in so many programs is drawn at random: the fastest may be unlike all that are predicted."""

CHOICES_SHARE, WALKER_SHARE, FARTHER_SHARE = 0.3, 0.5, 0.2
"""The parts of the time left that the search's choices may take, then the graph to walk in, and
then a larger one."""

ATTEMPTS = 3
"""The runs of annealing in a row without a new program after which none is left."""

WalkerIn = Callable[[Session, Random, Watch], Walker | None]
"""Builds a graph to walk in."""


@dataclass(frozen=True)
class Scored:
    """A program, and the predicted logarithm of its seconds."""

    impl: Impl
    predicted: float
    structure: Structure


class ByPrediction:
    """Chooses those predicted fastest of all programs so far.

    And the cheapest of the search's choices while too few are predicted, as in the first batch:
    to wait for predictions would take longer than to measure these. What takes seconds is done by
    `look_further`, while programs are compiled: at first it predicts the search's choices in order
    of cost, later what annealing visits, from the fastest of those measured and of those predicted.
    From then on some are drawn at random, and annealing starts from these as well if they are fast.
    """

    def __init__(self, session: Session, predictor: Predictor, random: Random, ends: float) -> None:
        """Searches may take parts of the time until `ends`, of `time.monotonic`."""
        self._session, self._predictor = session, predictor
        self._random, self._ends = random, ends
        self._new, self._correction = Distinct(), TraitErrors([], [])
        self._scored: dict[int, Scored] = {}
        self._measured: list[tuple[float, Impl]] = []
        self._left: list[Scored] = []
        self._choices, self._unpredicted = self._search_choices(), list[Impl]()
        self._step = self._predict_choices
        self._walker: Walker | None = None
        self._graphs, self._builds = self._build_graphs(), False
        self._drawn: Iterator[tuple[Impl, Walk]] = iter(())
        self._walks: dict[int, Walk] = {}
        self._by_walk: dict[Walk, Scored] = {}

    def choose(self, count: int) -> list[Impl]:
        results = self._results()
        self._correction = TraitErrors(
            [scored.structure for _, scored in results],
            [logarithm - scored.predicted for logarithm, scored in results],
        )
        drawn = list(islice(self._drawn, count // EXPLORE))
        for _ in range(ATTEMPTS):
            if chosen := self._best(count - len(drawn)):
                break
            self.look_further(lambda: monotonic() > self._ends)
        random = self._predicted([impl for impl, _ in drawn])
        self._keep_walks(random, [edges for _, edges in drawn])
        return [*chosen, *(scored.impl for scored in random)]

    def look_further(self, compiled: Callable[[], bool]) -> None:
        step, self._step = self._step, self._walk
        for _ in step():
            if compiled():
                return

    def learn(self, impl: Impl, seconds: float) -> None:
        if id(impl) not in self._scored:
            self._new(impl)
        self._measured.append((log(seconds), impl))

    def close(self) -> None:
        self._graphs.close()

    def _results(self) -> list[tuple[float, Scored]]:
        """The programs measured so far, each with the logarithm of its seconds."""
        self._predicted([impl for _, impl in self._measured])
        return [(logarithm, self._scored[id(impl)]) for logarithm, impl in self._measured]

    def _predicted(self, impls: Sequence[Impl]) -> list[Scored]:
        """Programs with their predictions, each of which is made once."""
        if new := [impl for impl in impls if id(impl) not in self._scored]:
            logarithms = np.log(self._predictor.seconds(new)).tolist()
            for impl, logarithm in zip(new, logarithms, strict=True):
                self._scored[id(impl)] = Scored(impl, logarithm, structure(impl))
        return [self._scored[id(impl)] for impl in impls]

    def _search_choices(self) -> Iterator[Impl]:
        session, ends = self._session, watch(self._ends, CHOICES_SHARE)
        for decisions in candidates(self._graph, session.cost, ends, NEAR):
            yield program(session, decisions)

    def _graph(self, upper: float, progress: Progress | None = None) -> SearchGraph:
        """A graph of the session, once the walker's is finished: both grow the same one."""
        while self._builds:
            next(self._graphs, None)  # none if it was the last one, and had too little time
        return self._session.graph(upper, progress)

    def _predict_choices(self) -> Iterator[None]:
        """Predict the search's choices, first those that are measured without a prediction."""
        self._predicted(self._unpredicted)
        self._unpredicted = []
        for impl in self._choices:
            self._left += self._predicted([impl])
            yield

    def _walk(self) -> Iterator[None]:
        """Anneal, at first in the graph that the search's choices come from.

        Later in a larger one: the fastest program may cost more than all in the first one. A graph
        that was not finished while programs were compiled is gone on with.
        """
        for ready in self._graphs:
            if ready:
                break
            yield
        yield from self._anneal()

    def _build_graphs(self) -> Generator[bool | None, None, None]:
        """Build one graph to walk in after the other; true for each that is there."""
        share = WALKER_SHARE
        for walker_in in (nearby_walker, walker_of):
            walker = yield from stepwise(partial(self._built, walker_in, share))
            if walker is not None:
                self._walk_in(walker)
                share = FARTHER_SHARE
                yield True

    def _built(self, walker_in: WalkerIn, share: float, step: Progress) -> Walker | None:
        self._builds = True
        try:
            return walker_in(self._session, self._random, watch(self._ends, share, step))
        finally:
            self._builds = False

    def _walk_in(self, walker: Walker) -> None:
        """Take random programs and mutations from another graph."""
        self._walker = walker
        self._drawn = random_programs(self._session, walker, self._new)
        self._walks, self._by_walk = {}, {}
        known = [*self._scored.values()]
        walks = [walker.edges(scored.impl.decisions()) for scored in known]
        self._keep_walks(known, [edges or () for edges in walks])

    def _keep_walks(self, programs: Sequence[Scored], walks: Sequence[Walk]) -> None:
        """Record the edges of programs in the walker's graph; none if it lacks one of them."""
        for scored, edges in zip(programs, walks, strict=True):
            if edges:
                self._walks[id(scored.impl)] = edges
                self._by_walk[edges] = scored

    def _energy(self, scored: Scored) -> float:
        """The predicted logarithm of its seconds, corrected by all that was measured."""
        return scored.predicted + self._correction.of(scored.structure)

    def _best(self, count: int) -> list[Impl]:
        """Take the new programs predicted fastest, few of them of the same structure.

        And some that cost least, in case the predictions are wrong for this Spec; others of these
        where too few are predicted.
        """
        cheapest = sorted(self._left, key=lambda scored: scored.impl.cost)[: count // HEDGE]
        hedges = {id(scored) for scored in cheapest}
        alike: Counter[Structure] = Counter()
        first: list[Scored] = []
        last: list[Scored] = []
        for scored in sorted(self._left, key=self._energy):
            (first if alike[scored.structure] < ALIKE else last).append(scored)
            alike[scored.structure] += 1
        chosen: list[Impl] = []
        self._left = []
        for scored in [*cheapest, *(s for s in (*first, *last) if id(s) not in hedges)]:
            if len(chosen) == count:
                self._left.append(scored)
            elif self._new(scored.impl):
                chosen.append(scored.impl)
        if len(chosen) < count:
            others = [*islice(filter(self._new, self._choices), count - len(chosen))]
            self._unpredicted += others
            chosen += others
        return chosen

    def _anneal(self) -> Iterator[None]:
        """Anneal, and keep all programs that it visits; predict choices if there is no graph."""
        if self._walker is None:
            yield from self._predict_choices()
            return
        fastest = [scored for _, scored in sorted(self._results(), key=lambda pair: pair[0])]
        promising = sorted(self._by_walk.values(), key=self._energy)
        starts = [
            edges
            for order in (fastest, promising)
            for edges in islice(filter(None, map(self._walk_of, order)), CHAINS // 2)
        ]
        if starts:
            most = WORTH * self._session.cost
            yield from anneal(self._walker, starts, most, self._energies, self._random)

    def _walk_of(self, scored: Scored) -> Walk | None:
        return self._walks.get(id(scored.impl))

    def _energies(self, programs: Sequence[Walk]) -> list[float]:
        assert self._walker is not None
        fresh = [edges for edges in dict.fromkeys(programs) if edges not in self._by_walk]
        impls = [program(self._session, self._walker.rewrites(edges)) for edges in fresh]
        mutations = self._predicted(impls)
        self._keep_walks(mutations, fresh)
        self._left += mutations
        return [self._energy(self._by_walk[edges]) for edges in programs]
