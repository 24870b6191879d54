"""Tuning: programs of a goal are measured one batch after the other, and the fastest is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf, isnan
from random import Random
from time import monotonic

import numpy as np

from morello.api import check_memory, check_runs_here
from morello.errors import SearchError, TargetError, VerificationError
from morello.frontends.text import parse
from morello.impl.tree import Impl
from morello.ir.spec import Spec
from morello.learn.hardware import TOGETHER, Compiled, compiled, compiled_apart, timed
from morello.learn.label import Labels, seconds_for
from morello.learn.orders import AtRandom, ByAffineCost, Chooser, Order
from morello.learn.predict import ByCost, Predictor, learned
from morello.learn.prediction import ByPrediction
from morello.learn.worker import Worker
from morello.measure.calibrate.first_use import find_measured
from morello.measure.stopwatch import Stopwatch
from morello.runtime.argument import arguments
from morello.runtime.build import PATIENCE_S
from morello.runtime.threads import available_threads
from morello.runtime.toolchain import Compiler, find_compiler
from morello.search.budget import SECONDS, Budget
from morello.search.reconstruct import reconstruct
from morello.search.session import Session
from morello.targets.costs import streamed
from morello.targets.target import Target

SEARCHING = 0.3
"""The share of the time that the search for the first choice may take."""

FINALISTS = 3
"""At the end, so many of the fastest are timed again at once."""

FIRST_S = 300.0
"""How long the first choice is given to be timed, in seconds."""

BATCH_S = 3.0
SLOWER = 50.0
"""A batch is given so many seconds, and each program so many times what a call should take."""


Patience = Callable[[Sequence[Compiled]], float]


@dataclass(frozen=True)
class Trial:
    """A correct program and its time, as a multiple of that of the first choice beside it.

    `hardware_s` are the seconds that programs had run until it was known.
    """

    impl: Impl
    ratio: float
    hardware_s: float


@dataclass(frozen=True)
class Tuning:
    """What tuning has found so far; the first of its trials is the search's first choice.

    `first_s` are the seconds of a call of that, `seconds` those since tuning began. `failed`
    counts programs that crashed, hung or were wrong, or were not built and timed in time.
    The first choice may cost `gap` (a part) more than the cheapest program.
    """

    first_s: float
    trials: tuple[Trial, ...]
    failed: int
    hardware_s: float
    seconds: float
    gap: float

    @property
    def best(self) -> Trial:
        """The fastest program."""
        return min(self.trials, key=lambda one: one.ratio)

    @property
    def best_s(self) -> float:
        """The seconds of a call of the fastest program."""
        return self.best.ratio * self.first_s

    @property
    def speedup(self) -> float:
        """How many times as fast as the first choice the fastest program is."""
        return 1 / self.best.ratio

    @property
    def curve(self) -> list[tuple[float, float]]:
        """Hardware seconds and, after so many, the least time of a call, where that fell."""
        points: list[tuple[float, float]] = []
        least = inf
        for one in self.trials:
            if one.ratio < least:
                least = one.ratio
                points.append((one.hardware_s, least * self.first_s))
        return points


def plan(expression: str, target: str = "native") -> tuple[Spec, Target]:
    """The goal and the machine that `morello.compile` has for these, on one thread.

    Raises `MorelloError` for what cannot be timed here.
    """
    goal, machine = parse(expression), find_measured(target)
    if machine.tunings:
        raise TargetError(
            f"{machine.name} is many machines, and times of this one tell nothing of the others; "
            "tune for native."
        )
    check_runs_here(machine)
    check_memory(goal)
    arguments(goal)
    return goal, streamed(replace(machine, cores=1), goal)


def tune(
    goal: Spec,
    target: Target,
    seconds: float,
    *,
    order: Order = "learned",
    predictor: Predictor | None = None,
    seed: int = 0,
    known: Sequence[Impl] = (),
    compiler: str | None = None,
) -> Iterator[Tuning]:
    """Measure programs for so many seconds in all; tells what was found after each batch.

    The search's first choice comes first, then programs that are `known`, however long these
    take, then others in an order: "learned" is what the predictor takes for the fastest (by
    default the machine's learned model, else the affine cost) of the search's choices and of
    mutations, corrected by what was measured; "affine" the search's choices by cost; "random"
    random programs. Raises `MorelloError` if the first choice cannot be found, built or timed, or
    is wrong.
    """
    began = monotonic()
    ends = began + Budget(seconds).seconds
    found = find_compiler(compiler)
    with Worker() as worker:
        session = Session(goal, target)
        solution = session.solve(Budget(min(SECONDS, SEARCHING * seconds)))
        first = reconstruct(goal, target, solution.decisions)
        run = _Run(worker, found, first, solution.statistics.gap, began, ends)
        yield run.so_far()
        random = Random(seed)
        chooser: Chooser
        if order == "learned":
            predictor = predictor or learned(target) or ByCost(Stopwatch(found).hertz())
            chooser = ByPrediction(session, predictor, random, ends)
        elif order == "affine":
            chooser = ByAffineCost(session, ends)
        else:
            chooser = AtRandom(session, random, ends)
        yield from run.batches(chooser, known)
        yield run.confirmed()


class _Run:
    """The programs of a goal that were measured, and those that are."""

    def __init__(
        self,
        worker: Worker,
        compiler: Compiler,
        first: Impl,
        gap: float,
        began: float,
        ends: float,
    ) -> None:
        """Builds and times the first choice, however long that takes."""
        self._worker, self._compiler, self._gap = worker, compiler, gap
        self._began, self._ends = began, ends
        self._failed, self._hardware_s = 0, 0.0
        self._built: dict[int, Compiled] = {}
        here = monotonic()
        (self._first,) = compiled([first], compiler, PATIENCE_S)
        built = monotonic()
        # What timing needs is loaded first, which does not count.
        worker.run(seconds_for, [], 1.0, seconds=PATIENCE_S)
        labels = self._labels([self._first], lambda programs: FIRST_S, ())
        self._first_s = float(np.fmin.reduce(labels.repeats, axis=None)) * 1e-9
        if labels.wrong[0]:
            raise VerificationError(
                f"the first choice for {first.spec.expression} computes something else than it "
                "should; another --compiler may help."
            )
        if isnan(self._first_s):
            raise SearchError(
                f"the first choice for {first.spec.expression} crashed, or was still running "
                f"after {FIRST_S:.0f} s; make the sizes smaller."
            )
        self._alone_s = self._each_s = built - here + self._hardware_s
        self._trials = [Trial(first, 1.0, self._hardware_s)]

    def so_far(self) -> Tuning:
        """What was found."""
        return Tuning(
            self._first_s, tuple(self._trials), self._failed, self._hardware_s,
            monotonic() - self._began, self._gap,
        )  # fmt: skip

    def batches(self, chooser: Chooser, known: Sequence[Impl]) -> Iterator[Tuning]:
        """Measure known programs in any case, then what is chosen, while there is time."""
        chooser.learn(self._first.impl, self._first_s)
        if known:
            self._measure(known, chooser, inf)
            yield self.so_far()
        while size := self._size():
            impls = chooser.choose(size)[: self._size()]  # choosing takes time, too
            if not impls:
                return
            self._measure(impls, chooser, self._ends)
            yield self.so_far()

    def confirmed(self) -> Tuning:
        """Time the fastest again until the fastest of all is one whose second time is known.

        Second times replace the first ones: the least of many noisy times is too good.
        """
        sure = {id(self._first.impl)}
        while True:
            fastest = sorted(self._trials, key=lambda one: one.ratio)[:FINALISTS]
            if id(fastest[0].impl) in sure or (len(sure) > 1 and monotonic() > self._ends):
                return self.so_far()
            again = [id(one.impl) for one in fastest if id(one.impl) not in sure]
            found = self._ratios([self._built[one] for one in again], self._enough)
            ratios = dict(zip(again, found, strict=True))
            trials = [replace(t, ratio=ratios.get(id(t.impl), t.ratio)) for t in self._trials]
            self._trials = [one for one in trials if not isnan(one.ratio)]
            self._failed += len(trials) - len(self._trials)
            sure |= ratios.keys()

    def _size(self) -> int:
        """How many programs there is time for, and for the finalists; at most a file."""
        left = self._ends - monotonic() - self._alone_s - FINALISTS * self._trials[0].hardware_s
        return max(0, int(min(left / self._each_s, TOGETHER)))

    def _measure(self, impls: Sequence[Impl], chooser: Chooser, ends: float) -> None:
        def patience(programs: Sequence[Compiled]) -> float:
            return max(0.0, min(self._enough(programs), ends - monotonic()))

        began = monotonic()
        together = -(-len(impls) // available_threads())
        made = compiled_apart(impls, self._compiler, together, ends)
        programs = [one for one in made if one is not None]
        ratios = self._ratios(programs, patience) if programs else []
        for program, ratio in zip(programs, ratios, strict=True):
            if not isnan(ratio):
                self._built[id(program.impl)] = program
                self._trials.append(Trial(program.impl, ratio, self._hardware_s))
                chooser.learn(program.impl, ratio * self._first_s)
        self._failed += len(impls) - sum(not isnan(ratio) for ratio in ratios)
        self._each_s = (monotonic() - began) / len(impls)

    def _ratios(self, programs: Sequence[Compiled], patience: Patience) -> list[float]:
        """Least times as multiples of the first choice's, timed in turns with it; nan if none."""
        labels = self._labels(programs, patience, [self._first])
        # The least of all, as its times at one moment may be noisy; fmin takes what has no times.
        reference = float(np.fmin.reduce(labels.reference, axis=None))
        self._first_s = float(np.fmin(self._first_s, 1e-9 * reference))
        ratios: list[float] = (np.fmin.reduce(labels.repeats, axis=1) / reference).tolist()
        return ratios

    def _labels(
        self, programs: Sequence[Compiled], patience: Patience, reference: Sequence[Compiled]
    ) -> Labels:
        began = monotonic()
        labels = timed(
            self._worker, self._first.impl.spec.expression, programs, self._compiler, False,
            patience, reference,
        )  # fmt: skip
        self._hardware_s += monotonic() - began
        return labels

    def _enough(self, programs: Sequence[Compiled]) -> float:
        """More seconds than programs that run well need."""
        first = self._trials[0]
        cost = sum(one.impl.cost for one in programs) / first.impl.cost
        return BATCH_S + 3 * first.hardware_s + len(programs) + SLOWER * cost * self._first_s
