"""Chooses which programs of a goal to measure next, guided by a predictor.

Its predictions are corrected by what was measured.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from math import log
from random import Random

import numpy as np

from morello.codegen.distinct import Distinct
from morello.impl.tree import Impl
from morello.learn.anneal import CHAINS, Edges, anneal
from morello.learn.choosers import program, random_programs, walker_of, watch
from morello.learn.predictors import Predictor
from morello.learn.programs import WORTH
from morello.learn.trait_errors import TraitErrors
from morello.search.session import Session
from morello.search.structure import Structure, structure

CANDIDATES = 36
"""How many of the search's choices the predictor ranks."""

ALIKE = 3
"""The most programs of one structure that are measured together, if there are others."""

HEDGE = 4
"""One in so many programs is measured because its cost is least, whatever its prediction."""

EXPLORE = 4
"""One in so many programs is drawn at random: the fastest may be unlike all that are predicted."""

WALKER_SHARE, CHOICES_SHARE = 0.5, 0.3
"""The parts of the time left that the graph to walk in, and then the search's choices, may take."""

ATTEMPTS = 3
"""If annealing finds nothing new this often in a row, there is nothing left."""


@dataclass(frozen=True)
class Scored:
    """A program, and the predicted logarithm of its seconds.

    `edges` are its edges in the walker's graph; empty if the graph lacks one of them.
    """

    impl: Impl
    predicted: float
    structure: Structure
    edges: Edges


class ByPrediction:
    """Chooses those predicted fastest: of the search's choices, then of all programs so far.

    Annealing adds programs, from the fastest of those measured and of those predicted. Some are
    drawn at random, and annealing starts from these as well if they are fast.
    """

    def __init__(self, session: Session, predictor: Predictor, random: Random, ends: float) -> None:
        """Annealing ends at `ends`, of `time.monotonic`; each search may take half of the time."""
        self._session, self._predictor = session, predictor
        self._random, self._ends = random, ends
        self._new, self._correction = Distinct(), TraitErrors([], [])
        self._walker = walker_of(session, random, watch(ends, WALKER_SHARE))
        self._drawn = random_programs(session, self._walker, self._new)
        self._scored_edges: dict[Edges, Scored] = {}
        self._given: dict[int, Scored] = {}
        self._measured: list[tuple[float, Scored]] = []
        others = islice(session.candidates(watch(ends, CHOICES_SHARE)), CANDIDATES)
        first = [list(session.decisions), *others]
        edges = [(self._walker and self._walker.edges(decisions)) or [] for decisions in first]
        self._left = self._scored(
            [program(session, decisions) for decisions in first], [tuple(e or ()) for e in edges]
        )
        self._started = False

    def choose(self, count: int) -> list[Impl]:
        pairs = [
            (logarithm - scored.predicted, scored.structure) for logarithm, scored in self._measured
        ]
        self._correction = TraitErrors(
            [traits for _, traits in pairs], [error for error, _ in pairs]
        )
        drawn = list(islice(self._drawn, count // EXPLORE))
        for _ in range(ATTEMPTS):
            if self._started:
                self._anneal()
            self._started = True
            if chosen := self._best(count - len(drawn)):
                break
        random = self._scored([impl for impl, _ in drawn], [edges for _, edges in drawn])
        chosen += random
        self._given |= {id(scored.impl): scored for scored in chosen}
        return [scored.impl for scored in chosen]

    def learn(self, impl: Impl, seconds: float) -> None:
        scored = self._given.pop(id(impl), None)
        if scored is None:
            self._new(impl)
            edges = self._walker and self._walker.edges(impl.decisions())
            (scored,) = self._scored([impl], [tuple(edges or ())])
        self._measured.append((log(seconds), scored))

    def _scored(self, impls: Sequence[Impl], edges: Sequence[Edges]) -> list[Scored]:
        if not impls:
            return []
        predicted = np.log(self._predictor.seconds(impls)).tolist()
        triples = zip(impls, predicted, edges, strict=True)
        result = [Scored(impl, p, structure(impl), own) for impl, p, own in triples]
        self._scored_edges |= {scored.edges: scored for scored in result if scored.edges}
        return result

    def _energy(self, scored: Scored) -> float:
        """The predicted logarithm of its seconds, corrected by all that was measured."""
        return scored.predicted + self._correction.of(scored.structure)

    def _best(self, count: int) -> list[Scored]:
        """Take the new programs predicted fastest, few of them of the same structure.

        And some that cost least, in case the predictions are wrong for this Spec.
        """
        cheapest = sorted(self._left, key=lambda scored: scored.impl.cost)[: count // HEDGE]
        hedges = {id(scored) for scored in cheapest}
        alike: Counter[Structure] = Counter()
        first: list[Scored] = []
        last: list[Scored] = []
        for scored in sorted(self._left, key=self._energy):
            (first if alike[scored.structure] < ALIKE else last).append(scored)
            alike[scored.structure] += 1
        chosen: list[Scored] = []
        self._left = []
        for scored in [*cheapest, *(s for s in (*first, *last) if id(s) not in hedges)]:
            if len(chosen) == count:
                self._left.append(scored)
            elif self._new(scored.impl):
                chosen.append(scored)
        return chosen

    def _anneal(self) -> None:
        """Anneal, and keep all programs that it visits."""
        if self._walker is None:
            return
        fastest = [scored for _, scored in sorted(self._measured, key=lambda pair: pair[0])]
        promising = sorted(self._scored_edges.values(), key=self._energy)
        starts = [
            edges
            for order in (fastest, promising)
            for edges in islice((scored.edges for scored in order if scored.edges), CHAINS // 2)
        ]
        if starts:
            most = WORTH * self._session.cost
            anneal(self._walker, starts, most, self._energies, self._random, self._ends)

    def _energies(self, programs: Sequence[Edges]) -> list[float]:
        assert self._walker is not None
        fresh = [edges for edges in dict.fromkeys(programs) if edges not in self._scored_edges]
        impls = [program(self._session, self._walker.rewrites(list(edges))) for edges in fresh]
        self._left += self._scored(impls, fresh)
        return [self._energy(self._scored_edges[edges]) for edges in programs]
