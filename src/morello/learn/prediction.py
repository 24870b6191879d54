"""Which programs of a goal to measure next, by a predictor that learns from those measured."""

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
from morello.jit import interruptible
from morello.learn.anneal import CHAINS, Edges, anneal
from morello.learn.orders import choices, program, walker_of, watch
from morello.learn.predict import Predictor
from morello.learn.programs import WORTH
from morello.learn.trait_errors import TraitErrors
from morello.search.session import Session
from morello.search.structure import Structure, structure

CANDIDATES = 36
"""The predictor ranks so many of the search's choices."""

ALIKE = 3
"""The most programs of one structure that are measured together, if there are others."""

ATTEMPTS = 3
"""If annealing finds nothing new so often in turn, there is nothing left."""


@dataclass(frozen=True)
class Scored:
    """A program, and the predicted logarithm of its seconds.

    `edges` are those of the program in the walker's graph, none if that has not all of them.
    """

    impl: Impl
    predicted: float
    structure: Structure
    edges: Edges


class ByPrediction:
    """What should be fastest: first of the search's choices, then of all programs met so far.

    More are met by annealing, from the programs that were fastest and those that should be.
    """

    @interruptible
    def __init__(self, found: Session, predictor: Predictor, random: Random, ends: float) -> None:
        """Annealing ends at `ends`, of `time.monotonic`; searches take half of the time each."""
        self._found, self._predictor, self._random, self._ends = found, predictor, random, ends
        self._new, self._correction = Distinct(), TraitErrors([], [])
        self._walker = walker_of(found, random, watch(ends, 0.5))
        self._known: dict[Edges, Scored] = {}
        self._given: dict[int, Scored] = {}
        self._measured: list[tuple[float, Scored]] = []
        others = islice(choices(found, watch(ends, 0.5)), CANDIDATES)
        first = [list(found.decisions), *others]
        edges = [(self._walker and self._walker.edges(one)) or [] for one in first]
        self._left = self._scored(
            [program(found, one) for one in first], [tuple(e or ()) for e in edges]
        )
        self._asked = False

    @interruptible
    def choose(self, count: int) -> list[Impl]:
        pairs = [(logarithm - one.predicted, one.structure) for logarithm, one in self._measured]
        self._correction = TraitErrors([one for _, one in pairs], [error for error, _ in pairs])
        for _ in range(ATTEMPTS):
            if self._asked:
                self._meet_more()
            self._asked = True
            if chosen := self._best(count):
                return chosen
        return []

    def learn(self, impl: Impl, seconds: float) -> None:
        one = self._given.pop(id(impl), None)
        if one is None:
            self._new(impl)
            (one,) = self._scored([impl], [()])
        self._measured.append((log(seconds), one))

    def _scored(self, impls: Sequence[Impl], edges: Sequence[Edges]) -> list[Scored]:
        if not impls:
            return []
        predicted = np.log(self._predictor.seconds(impls)).tolist()
        triples = zip(impls, predicted, edges, strict=True)
        found = [Scored(impl, p, structure(impl), own) for impl, p, own in triples]
        self._known |= {one.edges: one for one in found if one.edges}
        return found

    def _energy(self, one: Scored) -> float:
        """The logarithm of the seconds that it should take, after all that was measured."""
        return one.predicted + self._correction.of(one.structure)

    def _best(self, count: int) -> list[Impl]:
        """The new programs that should be fastest, few of them alike; they are left no more."""
        alike: Counter[Structure] = Counter()
        first: list[Scored] = []
        last: list[Scored] = []
        for one in sorted(self._left, key=self._energy):
            (first if alike[one.structure] < ALIKE else last).append(one)
            alike[one.structure] += 1
        chosen: list[Scored] = []
        self._left = []
        for one in [*first, *last]:
            if len(chosen) == count:
                self._left.append(one)
            elif self._new(one.impl):
                chosen.append(one)
        self._given |= {id(one.impl): one for one in chosen}
        return [one.impl for one in chosen]

    def _meet_more(self) -> None:
        """Anneal, and keep all that was met."""
        if self._walker is None:
            return
        fastest = [one for _, one in sorted(self._measured, key=lambda pair: pair[0])]
        promising = sorted(self._known.values(), key=self._energy)
        starts = [
            edges
            for some in (fastest, promising)
            for edges in islice((one.edges for one in some if one.edges), CHAINS // 2)
        ]
        if starts:
            most = WORTH * self._found.cost
            anneal(self._walker, starts, most, self._energies, self._random, self._ends)

    def _energies(self, programs: Sequence[Edges]) -> list[float]:
        assert self._walker is not None
        fresh = [one for one in dict.fromkeys(programs) if one not in self._known]
        impls = [program(self._found, self._walker.rewrites(list(one))) for one in fresh]
        self._left += self._scored(impls, fresh)
        return [self._energy(self._known[one]) for one in programs]
