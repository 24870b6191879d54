"""Collecting a corpus on this machine, Spec by Spec; what is there already is left alone."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from morello.errors import BuildError, MorelloError
from morello.frontends.text import parse
from morello.impl.saved import save, spec_data
from morello.ir.batch import LINE_BYTES
from morello.ir.spec import Spec
from morello.learn.corpus import SUFFIX, Measured, files, kept, read, write
from morello.learn.hardware import Compiled, compiled_apart, timed
from morello.learn.label import seconds_for
from morello.learn.programs import propose
from morello.learn.specs import interleaved
from morello.learn.worker import Worker
from morello.measure.stopwatch import Stopwatch
from morello.runtime.toolchain import Compiler, find_compiler
from morello.targets.catalog import host_machine, uncalibrated
from morello.targets.cpu import host_cpu
from morello.targets.target import Target

SEARCH_S = 30.0
"""How long each search for the programs of a Spec may take."""

ALONE_S = 30.0
"""How long a program is given that is timed alone, as one of its Spec's crashed."""


@dataclass(frozen=True)
class Progress:
    """How many Specs are done, of how many, and what came of the last one."""

    done: int
    specs: int
    expression: str
    programs: int = 0
    noise: float = float("nan")
    problem: str = ""


def name_of(expression: str) -> str:
    """The name of a Spec's file: its expression, and a part of its hash, as files may be called."""
    plain = "".join(c if c.isalnum() else "-" for c in expression)
    short = "-".join(part for part in plain.split("-") if part)[:60]
    return f"{short}-{hashlib.sha256(expression.encode()).hexdigest()[:6]}{SUFFIX}"


def collect(
    folder: Path,
    count: int,
    specs: Sequence[tuple[str, str]] | None = None,
    workers: Executor | None = None,
) -> Iterator[Progress]:
    """Measure about `count` programs of each Spec that the folder has no file of.

    `specs` are families and expressions, by default those of `learn.specs`. With `workers`, all
    of which must be machines of one kind, they do it; a machine must not have two.
    """
    wanted = interleaved() if specs is None else specs
    missing = [one for one in wanted if not (folder / name_of(one[1])).exists()]
    done = len(wanted) - len(missing)
    here = Machine.here() if workers is None and missing else None
    futures = [workers.submit(collect_one, f, e, count) for f, e in missing] if workers else []
    for number, (family, expression) in enumerate(missing):
        yield Progress(done, len(wanted), expression)
        done += 1
        try:
            if here is not None:
                found = here.measured(family, expression, count)
            else:
                found = futures[number].result()
        except MorelloError as error:
            yield Progress(done, len(wanted), expression, problem=str(error))
            continue
        write(folder / name_of(expression), found)
        yield Progress(done, len(wanted), expression, len(found.schedules), found.noise)


def collect_one(family: str, expression: str, count: int) -> Measured:
    """What `Machine.measured` gives; called in the process of a cluster's worker."""
    return Machine.here().measured(family, expression, count)


@dataclass(frozen=True)
class Machine:
    """This machine, and what is used to measure programs on it."""

    compiler: Compiler
    target: Target
    hertz: float

    @classmethod
    def here(cls) -> Machine:
        """This machine with the costs that come with Morello."""
        compiler = find_compiler()
        return cls(compiler, uncalibrated(), Stopwatch(compiler).hertz())

    def measured(self, family: str, expression: str, count: int) -> Measured:
        """About `count` programs of a Spec and their times. Raises `MorelloError`."""
        goal = parse(expression)
        seed = int(hashlib.sha256(expression.encode()).hexdigest()[:8], 16)
        proposals = propose(goal, self.target, count, seed, SEARCH_S)
        made = compiled_apart([one.impl for one in proposals], self.compiler)
        programs = [one for one in made if one is not None]
        if not programs:
            raise BuildError(f"the compiler takes no program of {expression}.")
        size = sum(tensor.bytes for tensor in goal.tensors)
        cold = size > self.target.levels[1].capacity * LINE_BYTES
        with Worker() as worker:
            labels = timed(worker, expression, programs, self.compiler, cold, self._patience)
        about = self._about(goal) | {"family": family, "expression": expression}
        schedules: list[list[dict[str, Any]]] = [save(one.impl)["rewrites"] for one in programs]
        pairs = zip(proposals, made, strict=True)
        origins = [one.origin for one, program in pairs if program is not None]
        return kept(about, schedules, origins, labels)

    def _about(self, goal: Spec) -> dict[str, Any]:
        machine, target = host_machine(), self.target
        return {
            "cpu": host_cpu().name,
            "microarchitecture": machine.name if machine else "",
            "target": target.name,
            "compiler": str(self.compiler),
            "hertz": self.hertz,
            "caches": {level.name: level.capacity for level in target.levels[1:]},
            "spec": spec_data(goal, target),
        }

    def _patience(self, programs: Sequence[Compiled]) -> float:
        if len(programs) == 1:
            return ALONE_S
        return seconds_for([one.impl for one in programs], self.hertz)


def summary(folder: Path) -> dict[str, Any]:
    """What a corpus has."""
    found = [read(path) for path in files(folder)]
    noises = [one.noise for one in found if not np.isnan(one.noise)]
    return {
        "specs": len(found),
        "families": len({one.family for one in found}),
        "programs": sum(len(one.schedules) for one in found),
        "noise": float(np.median(noises)) if noises else None,
        "wrong": sum(one.about["wrong"] for one in found),
        "bytes": sum(path.stat().st_size for path in files(folder)),
        "cpus": sorted({one.about["cpu"] for one in found}),
    }
