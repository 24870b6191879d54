"""Labels: how long programs of a Spec take, many of them in one shared object.

They are timed in turns, pinned to one CPU, and interleaved with a reference kernel (the search's
first choice), whose times show what other load on a shared machine did meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import cycle
from pathlib import Path

import numpy as np
import numpy.typing as npt

from morello.base.errors import VerificationError
from morello.codegen.source import Unit, complete, joined, unit
from morello.frontends.text import parse
from morello.impl.tree import Impl
from morello.measure.stopwatch import Candidate, Stopwatch
from morello.measure.timing import Runner, calls_for, in_turns, quiet
from morello.native.toolchain import Compiler
from morello.runtime.load import Library
from morello.runtime.packing import random_inputs
from morello.runtime.threads import attach
from morello.runtime.verify import CheckedOutputs

Floats = npt.NDArray[np.float64]

REPEATS = 5
SAMPLE_NS = 10_000_000
"""A repeat is about as many calls as take this long."""

SAMPLE_PARTS = 10
"""A sample of one of so many parts of this tells how many calls those are."""

SLOW = 4.0
"""Programs that take this many times the fastest one are repeated `FEW` times in a corpus."""

FEW = 2
EVERY = 8
"""The reference kernel is timed once before every `EVERY` programs."""

COLD_REPEATS = 3
COLD_BYTES = 128 << 20
"""Calls that rotate through arrays of this many bytes in total find none of them in a cache."""

MOST_COLD_SETS = 64


@dataclass(frozen=True)
class BuiltPrograms:
    """Programs of a Spec in shared objects: the paths, and the names of functions in each.

    They run on so many `threads`.
    """

    expression: str
    libraries: Sequence[tuple[Path, Sequence[str]]]
    threads: int = 1


@dataclass(frozen=True)
class Labels:
    """Nanoseconds per call of each program, by repeat; nan where there is none.

    `reference` has the reference kernel's times at that moment. `cold` has the times of calls with
    operands in memory, if they do not fit the caches; else it has no columns. Programs whose
    results were `wrong` have no times.
    """

    repeats: Floats
    reference: Floats
    cold: Floats
    wrong: npt.NDArray[np.bool_]

    @classmethod
    def none(cls, cold: bool) -> Labels:
        """Labels of one program that could not be timed."""
        empty = np.full((1, REPEATS), np.nan)
        columns = COLD_REPEATS if cold else 0
        return cls(empty, empty, np.full((1, columns), np.nan), np.zeros(1, np.bool_))

    @classmethod
    def joined(cls, parts: Sequence[Labels]) -> Labels:
        """The labels of all parts, one after the other."""
        columns = zip(*((x.repeats, x.reference, x.cold, x.wrong) for x in parts), strict=True)
        return cls(*(np.concatenate(column) for column in columns))

    def rows(self, chosen: slice) -> Labels:
        """The labels of some of the programs."""
        kept = self.repeats[chosen], self.reference[chosen], self.cold[chosen], self.wrong[chosen]
        return Labels(*kept)


def source(impls: Sequence[Impl], names: Sequence[str]) -> str:
    """C of one file with all these programs of one target."""
    units: list[Unit] = []
    regions: set[str] = set()
    for impl, name in zip(impls, names, strict=True):
        units.append(unit(impl, name, taken=regions))
        regions.update(units[-1].regions)
    includes = dict.fromkeys(line for c_unit in units for line in c_unit.includes)
    shared = dict.fromkeys(text for c_unit in units for text in c_unit.shared)
    helpers: dict[str, str] = {}
    for c_unit in units:
        helpers |= c_unit.helpers
    code = [
        line for c_unit, name in zip(units, names, strict=True) for line in complete(c_unit, name)
    ]
    return joined([*includes, "", *shared, *helpers.values(), "", *code])


def label(built: BuiltPrograms, compiler: Compiler, cold: bool, slow: float = SLOW) -> Labels:
    """Check and time programs; the first one is the reference. To be run in a `Worker`.

    Those that take `slow` times the fastest are repeated `FEW` times.
    """
    spec = parse(built.expression)
    inputs = random_inputs(spec)
    outputs = CheckedOutputs(spec, inputs.plain)
    arrays = (*inputs.taken, *outputs.taken)
    loaded = [(Library(path), names) for path, names in built.libraries]
    programs = [Candidate(library, name, arrays) for library, names in loaded for name in names]
    for program in programs if built.threads > 1 else ():
        if program.library.defines(f"{program.symbol}_set_parallel"):
            attach(program.library, program.symbol, built.threads, compiler=compiler)
    watch = Stopwatch(compiler)
    runs = [watch.runner(candidate) for candidate in programs]
    wrong = np.zeros(len(runs), np.bool_)
    for index, run in enumerate(runs):
        outputs.clear()
        run(1)
        try:
            outputs.check(f"({programs[index].symbol})")
        except VerificationError:
            wrong[index] = True
    with quiet(pin=built.threads == 1):
        repeats, reference = _warm(runs, wrong, slow)
        columns = COLD_REPEATS if cold else 0
        cold_times = np.full((len(runs), columns), np.nan)
        if cold:
            _cold(watch, programs, wrong, cold_times)
    return Labels(repeats, reference, cold_times, wrong)


def _warm(
    runs: Sequence[Runner], wrong: npt.NDArray[np.bool_], slow: float
) -> tuple[Floats, Floats]:
    """The nanoseconds of a call by program and repeat, and those of the reference before it."""
    repeats = np.full((len(runs), REPEATS), np.nan)
    reference = np.full_like(repeats, np.nan)
    programs = np.flatnonzero(~wrong).tolist()
    calls = {n: _calls(runs[n]) for n in programs}
    for columns in (range(FEW), range(FEW, REPEATS)):
        if columns.start and programs:
            fastest = repeats[programs, :FEW].min(axis=1)
            near = fastest <= slow * fastest.min()
            programs = [n for n, is_near in zip(programs, near, strict=True) if is_near]
        turns = list(_turns(programs, reference=0 in calls))
        rounds = in_turns([runs[n] for n, _ in turns], [calls[n] for n, _ in turns])
        for column, samples in zip(columns, rounds, strict=False):
            now = np.nan
            for (n, is_reference), took in zip(turns, samples, strict=True):
                if is_reference:
                    now = took
                else:
                    repeats[n, column], reference[n, column] = took, now
    return repeats, reference


def _calls(run: Runner) -> int:
    """About as many calls as take `SAMPLE_NS`; finding some that do takes at least twice that."""
    few = calls_for(run, SAMPLE_NS // SAMPLE_PARTS)
    elapsed = min(run(few) for _ in range(2))  # one may have been interrupted
    return max(1, round(few * SAMPLE_NS / elapsed))


def _turns(programs: Sequence[int], *, reference: bool) -> Iterator[tuple[int, bool]]:
    """The programs in order, by number; before every `EVERY`, the first as the reference."""
    for place, n in enumerate(programs):
        if reference and place % EVERY == 0:
            yield 0, True
        yield n, False


def _cold(
    watch: Stopwatch,
    programs: Sequence[Candidate],
    wrong: npt.NDArray[np.bool_],
    times: Floats,
) -> None:
    """Fill `times` with the times of calls that rotate through enough arrays to miss the caches."""
    size = sum(array.nbytes for array in programs[0].arrays)
    count = min(MOST_COLD_SETS, max(2, COLD_BYTES // size))
    turns = cycle([tuple(array.copy() for array in programs[0].arrays) for _ in range(count)])
    for index, candidate in enumerate(programs):
        if wrong[index]:
            continue
        run = watch.runner(replace(candidate, turns=turns))
        for repeat in range(times.shape[1]):
            times[index, repeat] = run(count) / count


def seconds_for(impls: Sequence[Impl], hertz: float) -> float:
    """A generous limit of the seconds for labelling these programs."""
    cycles = sum(impl.cost for impl in impls)
    return 60.0 + 0.2 * len(impls) + 100.0 * cycles / hertz
