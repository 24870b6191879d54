"""Collects a corpus on this machine, Spec by Spec; files that exist are kept."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from morello.base.errors import BuildError, MorelloError
from morello.base.status import tell
from morello.base.workers import Worker
from morello.frontends.text import parse
from morello.impl.saved import save, spec_data
from morello.ir.spec import Spec
from morello.ir.tensor import LINE_BYTES
from morello.learn.corpus import SUFFIX, MeasuredSpec, files, kept, read, write
from morello.learn.hardware import Compiled, Hardware, compiled_apart
from morello.learn.label import seconds_for
from morello.learn.programs import Proposal, propose
from morello.learn.specs import interleaved
from morello.measure.stopwatch import Stopwatch
from morello.native.toolchain import Compiler, find_compiler
from morello.targets.catalog import host_machine, uncalibrated
from morello.targets.cpu import host_cpu
from morello.targets.target import Target

SEARCH_S = 30.0
"""How long each search for the programs of a Spec may take."""

ALONE_S = 30.0
"""The time limit of a program timed alone, because one of its Spec's programs crashed."""


@dataclass(frozen=True)
class CollectProgress:
    """How many Specs are done, of how many, and the outcome of the last one."""

    done: int
    specs: int
    expression: str
    programs: int = 0
    noise: float = float("nan")
    problem: str = ""


def name_of(expression: str, key: str = "") -> str:
    """The name of a Spec's file: its expression in characters for files, and a part of its hash.

    That of a `key` if there is one, which says what tells files of the same expression apart.
    """
    plain = "".join(c if c.isalnum() else "-" for c in expression)
    short = "-".join(part for part in plain.split("-") if part)[:60]
    return f"{short}-{hashlib.sha256((key or expression).encode()).hexdigest()[:6]}{SUFFIX}"


def collect(
    folder: Path,
    count: int,
    specs: Sequence[tuple[str, str]] | None = None,
    workers: Executor | None = None,
) -> Iterator[CollectProgress]:
    """Measure about `count` programs of each Spec that the folder has no file of.

    `specs` are families and expressions, by default those of `learn.specs`. If given, `workers`
    measure instead of this process: at most one on each machine, and all machines of one kind.
    """
    wanted = interleaved() if specs is None else specs
    missing = [pair for pair in wanted if not (folder / name_of(pair[1])).exists()]
    done = len(wanted) - len(missing)
    here = MeasuringMachine.here() if workers is None and missing else None
    futures = [workers.submit(collect_one, f, e, count) for f, e in missing] if workers else []
    for number, (family, expression) in enumerate(missing):
        yield CollectProgress(done, len(wanted), expression)
        done += 1
        try:
            if here is not None:
                measured = here.measured(family, expression, count)
            else:
                measured = futures[number].result()
        except MorelloError as error:
            yield CollectProgress(done, len(wanted), expression, problem=str(error))
            continue
        write(folder / name_of(expression), measured)
        yield CollectProgress(
            done, len(wanted), expression, len(measured.schedules), measured.noise
        )


def collect_one(family: str, expression: str, count: int) -> MeasuredSpec:
    """`MeasuringMachine.measured` on this machine, for the processes of a cluster's workers."""
    return MeasuringMachine.here().measured(family, expression, count)


@dataclass(frozen=True)
class MeasuringMachine:
    """This machine: the compiler, target and clock for measuring programs."""

    compiler: Compiler
    target: Target
    hertz: float

    @classmethod
    def here(cls) -> MeasuringMachine:
        """This machine with the costs that ship with Morello."""
        compiler = find_compiler()
        return cls(compiler, uncalibrated(), Stopwatch(compiler).hertz())

    def measured(self, family: str, expression: str, count: int) -> MeasuredSpec:
        """About `count` programs of a Spec and their times. Raises `MorelloError`."""
        seed = int(hashlib.sha256(expression.encode()).hexdigest()[:8], 16)
        proposals = propose(parse(expression), self.target, count, seed, SEARCH_S)
        return self.timed(family, expression, proposals)

    def timed(self, family: str, expression: str, proposals: Sequence[Proposal]) -> MeasuredSpec:
        """These programs of a Spec and their times. Raises `MorelloError`."""
        goal = parse(expression)
        tell(phase="build")
        built = compiled_apart([proposal.impl for proposal in proposals], self.compiler)
        programs = [program for program in built if program is not None]
        if not programs:
            raise BuildError(f"the compiler takes no program of {expression}.")
        size = sum(tensor.bytes for tensor in goal.tensors)
        cold = size > self.target.levels[1].capacity * LINE_BYTES
        tell(phase="time")
        with Worker() as worker:
            labels = Hardware(worker, self.compiler, cold).labels(programs, self._patience)
        about = about_here(goal, self.target, self.compiler)
        about |= {"family": family, "expression": expression, "hertz": self.hertz}
        schedules: list[list[dict[str, Any]]] = [
            save(program.impl)["rewrites"] for program in programs
        ]
        pairs = zip(proposals, built, strict=True)
        origins = [proposal.origin for proposal, program in pairs if program is not None]
        return kept(about, schedules, origins, labels)

    def _patience(self, programs: Sequence[Compiled]) -> float:
        if len(programs) == 1:
            return ALONE_S
        return seconds_for([program.impl for program in programs], self.hertz)


def about_here(goal: Spec | None, target: Target, compiler: Compiler) -> dict[str, Any]:
    """The metadata of a corpus: CPU, target, compiler and caches, and the goal if there is one."""
    machine = host_machine()
    about = {
        "cpu": host_cpu().name,
        "microarchitecture": machine.name if machine else "",
        "target": target.name,
        "compiler": str(compiler),
        "caches": {level.name: level.capacity for level in target.levels[1:]},
    }
    if goal is None:
        return about
    return about | {"expression": goal.expression, "spec": spec_data(goal, target)}


def summary(folder: Path) -> dict[str, Any]:
    """Statistics of a corpus."""
    corpus = [read(path) for path in files(folder)]
    noises = [measured.noise for measured in corpus if not np.isnan(measured.noise)]
    return {
        "specs": len(corpus),
        "families": len({measured.family for measured in corpus}),
        "programs": sum(len(measured.schedules) for measured in corpus),
        "noise": float(np.median(noises)) if noises else None,
        "wrong": sum(measured.about["wrong"] for measured in corpus),
        "bytes": sum(path.stat().st_size for path in files(folder)),
        "cpus": sorted({measured.about["cpu"] for measured in corpus}),
    }
