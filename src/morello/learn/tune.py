"""Tuning: measures programs of a goal in batches, and keeps the fastest."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from math import inf, isnan, nan
from random import Random
from time import monotonic

import numpy as np

from morello.base.errors import SearchError, TargetError, VerificationError
from morello.base.status import tell
from morello.base.workers import Worker
from morello.impl.reconstruct import reconstruct
from morello.impl.tree import Impl
from morello.ir.spec import Spec
from morello.learn.choosers import Chooser, Order, at_random, by_affine_cost
from morello.learn.guided_chooser import ByPrediction
from morello.learn.hardware import (
    TOGETHER,
    Compiled,
    Hardware,
    Patience,
    compiled,
    compiled_apart,
)
from morello.learn.label import Floats, Labels, seconds_for
from morello.learn.predictors import ByCost, Predictor, learned
from morello.measure.stopwatch import Stopwatch
from morello.native.build import PATIENCE_S
from morello.native.toolchain import find_compiler
from morello.request.goal import check_callable, goal_and_target
from morello.runtime.threads import available_threads
from morello.search.budget import SECONDS, Budget
from morello.search.result import SearchResult
from morello.search.session import Session
from morello.targets.target import Target

SEARCHING = 0.3
"""The share of the time that the search for the first choice may take."""

FINALISTS = 3
"""At the end, this many of the fastest are compiled alone, as they ship, and timed again."""

CONFIRMATIONS = 3
"""How often they are timed then. The median counts: one of these times may be off by a fifth."""

BEHIND = 1.25
"""Programs that take this many times the fastest of a batch are repeated less often."""

FIRST_S = 300.0
"""The time limit for timing the first choice, in seconds."""

FIRST_BATCH = 3
"""The programs of the first batch: those predicted fastest are measured soon, and alone."""

BATCH_S = 3.0
SLOWER = 50.0
"""A batch may take `BATCH_S` seconds, and `SLOWER` times the expected call of each program."""


@dataclass(frozen=True)
class Enough:
    """When tuning ends before its time: whichever comes first.

    After so many programs besides the first choice, after so many in a row without a faster one (a
    `plateau`), or with a program of which a call takes at most so many `seconds`.
    """

    programs: float = inf
    plateau: float = inf
    seconds: float = 0.0

    def __post_init__(self) -> None:
        for what, end in (
            ("a number of programs", self.programs),
            ("a plateau of a number of programs", self.plateau),
            ("a call of a number of seconds", self.seconds),
        ):
            if not end >= 0:
                raise SearchError(f"tuning ends with {what} of at least 0, not {end}.")

    def left(self, ratios: Sequence[float], first_s: float) -> float:
        """How many programs there are to measure after those with these times; 0 if none.

        The times are multiples of the first one, `first_s` seconds.
        """
        best = min(range(len(ratios)), key=ratios.__getitem__)
        if ratios[best] * first_s <= self.seconds:
            return 0
        measured = len(ratios) - 1
        return max(0, min(self.programs - measured, self.plateau - (measured - best)))


@dataclass(frozen=True)
class Trial:
    """A correct program and its time, as a multiple of the first choice's, timed with it.

    `labels` are all its times, `hardware_s` the seconds that programs had run until then, and
    `seconds` those since tuning began.
    """

    impl: Impl
    ratio: float
    hardware_s: float
    seconds: float
    labels: Labels


@dataclass(frozen=True)
class Tuning:
    """The results of tuning so far; the first of its trials is the search's first choice.

    `first_s` are the seconds of a call of that, `seconds` those since tuning began. `failed`
    counts programs that crashed, hung or were wrong, or were not built and timed in time.
    The first choice may cost `gap` (a fraction) more than the cheapest program.
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
        return min(self.trials, key=lambda trial: trial.ratio)

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
        """Where the least time of a call fell: hardware seconds until then, and the new time."""
        points: list[tuple[float, float]] = []
        least = inf
        for trial in self.trials:
            if trial.ratio < least:
                least = trial.ratio
                points.append((trial.hardware_s, least * self.first_s))
        return points


def plan(
    expression: str | Spec, target: str | Target = "native", threads: int | str = 1
) -> tuple[Spec, Target]:
    """The goal and the machine that `morello.compile` has for these.

    Raises `MorelloError` for what cannot be timed here.
    """
    goal, machine = goal_and_target(expression, target, threads)
    if machine.tunings:
        raise TargetError(
            f"{machine.name} is many machines, and times of this one tell nothing of the others; "
            "tune for native."
        )
    check_callable(goal, machine)
    return goal, machine


def tune(
    goal: Spec,
    target: Target,
    seconds: float,
    *,
    order: Order = "learned",
    predictor: Predictor | None = None,
    seed: int = 0,
    known: Sequence[Impl] = (),
    earlier: Sequence[tuple[Impl, float]] = (),
    enough: Enough = Enough(),
    cold: bool = False,
    compiler: str | None = None,
) -> Generator[Tuning, None, None]:
    """Measure programs for `seconds` in all, or until it is `enough`.

    Yields the results so far after each batch.

    The search's first choice comes first, then programs that are `known`, however long these
    take, then others in an order. "learned": those predicted fastest of the search's choices and
    of mutations, by the predictor (by default the machine's learned model, which knows programs for
    one thread, else the affine cost), corrected by what was measured. "affine": the search's
    choices by cost. "random": random programs. Those measured `earlier`, with the seconds of a
    call, are not measured again, but correct predictions, and are varied. `cold` times are of calls
    that find no operand in a cache.

    Raises `MorelloError` if the first choice cannot be found, built or timed, or is wrong.
    """
    began = monotonic()
    ends = began + Budget(seconds).seconds
    toolchain = find_compiler(compiler)
    with Worker() as worker, ThreadPoolExecutor(1) as beside:
        # its process imports what it needs while the search runs
        ready = beside.submit(worker.run, seconds_for, [], 1.0, seconds=PATIENCE_S)
        session, random = Session(goal, target), Random(seed)
        solution = session.solve(Budget(min(SECONDS, SEARCHING * seconds)))

        def chooser() -> Chooser:
            if order == "affine":
                return by_affine_cost(session, ends)
            if order == "random":
                return at_random(session, random, ends)
            model = None if goal.parallel else learned(target)
            ranks = predictor or model or ByCost(Stopwatch(toolchain).hertz())
            return ByPrediction(session, ranks, random, ends)

        ready.result()
        hardware = Hardware(worker, toolchain, cold, BEHIND)
        run = _Run(hardware, solution, chooser, enough, began, ends)
        yield run.so_far()
        yield from run.batches(known, earlier)
        yield run.confirmed()


class _Run:
    """A tuning run: the programs measured so far, and how to measure more."""

    def __init__(
        self,
        hardware: Hardware,
        solution: SearchResult,
        chooser: Callable[[], Chooser],
        enough: Enough,
        began: float,
        ends: float,
    ) -> None:
        """Builds the first choice, while its chooser of others is made, and times it.

        The time may run out meanwhile: all others are compared with this program.
        """
        self._hardware, self._compiler = hardware, hardware.compiler
        self._gap = solution.statistics.gap
        self._began, self._ends, self._limits = began, ends, enough
        self._failed, self._hardware_s = 0, 0.0
        first = reconstruct(solution.goal, solution.target, solution.decisions)
        started = monotonic()
        with ThreadPoolExecutor(1) as compiling:
            future = compiling.submit(compiled, [first], self._compiler, PATIENCE_S)
            built = compiling.submit(monotonic)  # once the compiler is done
            self._chooser = chooser()
            (self._first,) = future.result()
        labels = self._labels([self._first], lambda programs: FIRST_S, ())
        times = labels.cold if hardware.cold else labels.repeats
        self._first_s = float(np.fmin.reduce(times, axis=None)) * 1e-9
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
        self._alone_s = self._each_s = built.result() - started + self._hardware_s
        self._trials = [Trial(first, 1.0, self._hardware_s, monotonic() - began, labels)]

    def so_far(self) -> Tuning:
        """The results so far."""
        return Tuning(
            self._first_s, tuple(self._trials), self._failed, self._hardware_s,
            monotonic() - self._began, self._gap,
        )  # fmt: skip

    def batches(
        self, known: Sequence[Impl], earlier: Sequence[tuple[Impl, float]]
    ) -> Iterator[Tuning]:
        """Measure known programs in any case, then chosen ones while there is time."""
        with closing(self._chooser):
            yield from self._batches(known, earlier)

    def _batches(
        self, known: Sequence[Impl], earlier: Sequence[tuple[Impl, float]]
    ) -> Iterator[Tuning]:
        self._chooser.learn(self._first.impl, self._first_s)
        for impl, seconds in earlier:
            self._chooser.learn(impl, seconds)
        known = [impl for impl in known if impl != self._first.impl]
        if known:
            self._measure(known, inf)
            yield self.so_far()
        for most in batch_sizes():
            size = self._size(most)
            impls = self._chooser.choose(size)[: self._size(most)] if size else []
            if not impls:  # choosing takes time, too
                return
            self._measure(impls, self._ends)
            yield self.so_far()

    def confirmed(self) -> Tuning:
        """Time the fastest programs again, until the fastest of all has been timed twice.

        Second times replace the first ones: the minimum of many noisy times is biased, and in a
        file with others, a program may not be what it is alone.
        """
        sure = {id(self._first.impl)}
        while True:
            fastest = sorted(self._trials, key=lambda trial: trial.ratio)[:FINALISTS]
            if id(fastest[0].impl) in sure or (len(sure) > 1 and monotonic() > self._ends):
                return self.so_far()
            again = [trial.impl for trial in fastest if id(trial.impl) not in sure]
            new: dict[int, Trial | None] = {id(impl): None for impl in again}
            tell(phase="build")
            if alone := [x for x in compiled_apart(again, self._compiler, 1) if x is not None]:
                timings = [self._timed(alone, self._enough) for _ in range(CONFIRMATIONS)]
                for program, *times in zip(alone, *timings, strict=True):
                    new[id(program.impl)] = _median(times)
            trials = [(trial, new.get(id(trial.impl), trial)) for trial in self._trials]
            self._trials = [
                replace(later, hardware_s=trial.hardware_s, seconds=trial.seconds)
                for trial, later in trials
                if later is not None
            ]
            self._failed += len(trials) - len(self._trials)
            sure |= new.keys()

    def _size(self, most: int) -> int:
        """How many programs to measure next.

        There has to be time for them, and for the finalists.
        """
        time = self._ends - monotonic() - FINALISTS * self._alone_s
        return max(0, int(min(time / self._each_s, self._wanted(), most)))

    def _wanted(self) -> float:
        """How many programs there are to measure until it is enough."""
        return self._limits.left([trial.ratio for trial in self._trials], self._first_s)

    def _measure(self, impls: Sequence[Impl], ends: float) -> None:
        def patience(programs: Sequence[Compiled]) -> float:
            return max(0.0, min(self._enough(programs), ends - monotonic()))

        began = monotonic()
        tell(phase="build")
        together = -(-len(impls) // available_threads())
        with ThreadPoolExecutor(1) as compiling:
            future = compiling.submit(compiled_apart, impls, self._compiler, together, ends)
            if self._wanted() > len(impls):
                # not while programs are timed: it would disturb them
                self._chooser.look_further(future.done)
            built = future.result()
        programs = [program for program in built if program is not None]
        programs = programs[: self._in_time(len(programs), ends)]  # the most promising come first
        trials = [x for x in self._timed(programs, patience) if x is not None] if programs else []
        for trial in trials:
            self._chooser.learn(trial.impl, trial.ratio * self._first_s)
        self._trials += trials
        self._failed += len(impls) - len(trials)
        self._each_s = (monotonic() - began) / len(impls)

    def _in_time(self, most: int, ends: float) -> int:
        """How many programs can be timed until `ends`, if they take as long as those so far."""
        time = max(0.0, ends - monotonic())
        return int(min(time * len(self._trials) / self._hardware_s, most))

    def _timed(self, programs: Sequence[Compiled], patience: Patience) -> list[Trial | None]:
        """Programs timed in turns with the first choice; None for failed ones."""
        if self._hardware.cold:
            labels = self._labels([self._first, *programs], patience, ())
            first, labels = labels.rows(slice(1)).cold, labels.rows(slice(1, None))
            times = labels.cold
        else:
            labels = self._labels(programs, patience, [self._first])
            first, times = labels.reference, labels.repeats
        least = float(np.fmin.reduce(first, axis=None))  # fmin ignores nan
        self._first_s = float(np.fmin(self._first_s, 1e-9 * least))
        ratios = [
            relative(*pair) for pair in zip(times, np.broadcast_to(first, times.shape), strict=True)
        ]
        seconds = monotonic() - self._began
        return [
            None if isnan(ratio)
            else Trial(program.impl, ratio, self._hardware_s, seconds, labels.rows(slice(n, n + 1)))
            for n, (program, ratio) in enumerate(zip(programs, ratios, strict=True))
        ]  # fmt: skip

    def _labels(
        self, programs: Sequence[Compiled], patience: Patience, reference: Sequence[Compiled]
    ) -> Labels:
        began = monotonic()
        tell(phase="time", cost=inf, ends=inf)
        labels = self._hardware.labels(programs, patience, reference)
        self._hardware_s += monotonic() - began
        return labels

    def _enough(self, programs: Sequence[Compiled]) -> float:
        """A generous time limit for programs, in seconds."""
        first = self._trials[0]
        cost = sum(program.impl.cost for program in programs) / first.impl.cost
        return BATCH_S + 3 * first.hardware_s + len(programs) + SLOWER * cost * self._first_s


def batch_sizes() -> Iterator[int]:
    """The most programs of each batch: `FIRST_BATCH`, then twice as many, up to a file of them."""
    most = FIRST_BATCH
    while True:
        yield min(most, TOGETHER)
        most *= 2


def relative(times: Floats, reference: Floats) -> float:
    """The median of a program's times, each over that of the reference at that moment.

    Not the least over the least: the machine may be faster for a moment, and then a program that
    was timed in it is not faster than others. Nan if there are no times.
    """
    known = ~np.isnan(times)
    return float(np.median(times[known] / reference[known])) if known.any() else nan


def _median(trials: Sequence[Trial | None]) -> Trial | None:
    """The trial of the median time among those of one program; None if one failed."""
    known = [trial for trial in trials if trial is not None]
    if len(known) < len(trials):
        return None
    return sorted(known, key=lambda trial: trial.ratio)[len(known) // 2]
