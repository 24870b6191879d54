"""The variance of measured times by its causes: build, addresses, process, and repetition.

    python -m study.labels CORPUS FOLDER [--programs 24] [--processes 3]

Programs of one Spec of each family are built three times: each alone in a file, as `compile` does
it; alone, but 16 bytes later in memory; and twelve in a file, as labels are. Every process times
all of them in turns, with operands at several places. Its times are kept in FOLDER, so that a
process can run when the machine is quiet; those that are there are not timed again.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt
from rich.console import Console

from morello.base.workers import Worker
from morello.frontends.text import parse
from morello.impl.tree import Impl
from morello.ir.tensor import PAGE_BYTES
from morello.learn.archive import read_arrays, write_arrays
from morello.learn.corpus import MeasuredSpec, files, read
from morello.learn.hardware import TOGETHER, compiled_apart
from morello.learn.label import SLOW
from morello.measure.load import source_of
from morello.measure.stopwatch import Candidate, Stopwatch
from morello.measure.timing import calls_for, in_turns, quiet
from morello.native.build import build
from morello.native.toolchain import Compiler, arch_flags, find_compiler
from morello.runtime.argument import Argument, Array, aligned_bytes, arguments
from morello.runtime.load import Library
from morello.runtime.packing import random_inputs, random_outputs
from study.command import exit_code

Floats = npt.NDArray[np.float64]
Built = Sequence[tuple[Path, str]]
"""Shared objects, and the name of the function in each."""

BUILDS = ("alone", "later", "together")
LATER = '__asm__(".text\\n.skip 16, 0x90");\n'
"""Before a file's code: it puts its functions 16 bytes later."""

PLACES, REPEATS, SAMPLE_NS = 3, 4, 3_000_000
PROCESS_S = 600.0
NEAR = 0.03
"""The relative difference that a label may have from the time of what ships."""


@dataclass(frozen=True)
class Sample:
    """Programs of one Spec."""

    expression: str
    impls: Sequence[Impl]


def samples(corpus: Path, count: int) -> Iterator[Sample]:
    """`count` programs each of the Spec of median time of each family, slow ones left out."""
    families: dict[str, list[MeasuredSpec]] = {}
    for measured in map(read, files(corpus)):
        families.setdefault(measured.family, []).append(measured)
    for members in families.values():
        members.sort(key=lambda measured: float(measured.seconds.min()))
        measured = members[len(members) // 2]
        fast = measured.seconds < SLOW * measured.seconds.min()
        legal = [
            i for i, kept in zip(measured.impls(), fast, strict=True) if i is not None and kept
        ]
        yield Sample(measured.expression, Random(0).sample(legal, min(count, len(legal))))


def built(sample: Sample, compiler: Compiler) -> list[Built]:
    """The programs by kind of build (see `BUILDS`), without any that this machine cannot run.

    Raises `BuildError`.
    """
    flags = arch_flags(compiler, sample.impls[0].target.arch)
    together = compiled_apart(sample.impls, compiler, TOGETHER)
    kept = [program for program in together if program is not None]
    sources = [source_of(program.impl) for program in kept]
    apart: list[Built] = [
        [(build(before + s.text, compiler=compiler, flags=flags), s.name) for s in sources]
        for before in ("", LATER)
    ]
    return [*apart, [(program.path, program.name) for program in kept]]


def times(expression: str, builds: Sequence[Built], compiler: Compiler, seed: int) -> Floats:
    """Nanoseconds of a call by place, build, repeat and program. To be run in a process."""
    spec, random = parse(expression), Random(seed)
    operands = arguments(spec)
    values = (*random_inputs(spec).taken, *random_outputs(operands))
    libraries = {path: Library(path) for kind in builds for path, _ in kind}
    watch = Stopwatch(compiler)
    rounds = []
    with quiet(pin=True):
        for _ in range(PLACES):
            arrays = tuple(placed(x, v, random) for x, v in zip(operands, values, strict=True))
            runs = [
                watch.runner(Candidate(libraries[path], name, arrays))
                for kind in builds
                for path, name in kind
            ]
            calls = [calls_for(run, SAMPLE_NS) for run in runs]
            forwards, backwards = in_turns(runs, calls), in_turns(runs[::-1], calls[::-1])
            rounds.append(
                [next(backwards)[::-1] if n % 2 else next(forwards) for n in range(REPEATS)]
            )
    of_run = np.array(rounds).reshape(PLACES, REPEATS, len(builds), -1)
    return np.swapaxes(of_run, 1, 2)


def placed(argument: Argument, values: Array, random: Random) -> Array:
    """A copy of an operand in new memory, at a random cache line of a page."""
    memory, offset = aligned_bytes(0, argument.extent + PAGE_BYTES)
    line = 64 * random.randrange(PAGE_BYTES // 64)
    array = argument.view(memory, offset + line).view(argument.raw)
    array[...] = values
    return array


def differences(measured: Sequence[Floats]) -> dict[str, Floats]:
    """Differences of logarithms of a program's times, by what alone was different.

    `measured` has an array for each Spec: by process, place, build, repeat and program.
    """
    found: dict[str, list[Floats]] = {}
    for ns in measured:
        logs = np.log(ns)
        least, odd, even = (logs[:, :, :, n::k].min(axis=3) for n, k in ((0, 1), (0, 2), (1, 2)))
        alone = least[:, :, 0]
        middle = np.median(least, axis=1)  # over places
        pairs = {
            "repeats": odd[:, :, 0] - even[:, :, 0],
            "places of operands": alone[:, 1:] - alone[:, :-1],
            "processes": np.diff(middle[:, 0], axis=0),
            "processes, medians of Specs removed": np.diff(
                middle[:, 0] - np.median(middle[:, 0], axis=-1, keepdims=True), axis=0
            ),
            "places of code": np.median(middle[:, 1] - middle[:, 0], axis=0),
            "twelve in a file": np.median(middle[:, 2] - middle[:, 0], axis=0),
        }
        for cause, values in pairs.items():
            found.setdefault(cause, []).append(values.ravel())
    return {cause: np.concatenate(values) for cause, values in found.items()}


def table(measured: Sequence[Floats]) -> list[str]:
    """Lines of Markdown: how much times differ, by cause."""
    lines = [
        "| what differs | median % | 95th percentile % | most % | within 3 % |",
        "|---|---|---|---|---|",
    ]
    for cause, logs in differences(measured).items():
        sizes = np.expm1(np.abs(logs))
        near = f"{100 * np.mean(sizes <= NEAR):.0f} %"
        numbers = (100 * np.quantile(sizes, part) for part in (0.5, 0.95, 1.0))
        lines.append(f"| {cause} | {' | '.join(f'{n:.1f}' for n in numbers)} | {near} |")
    return lines


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    arguments = _parser().parse_args(argv)
    console = Console(stderr=True, highlight=False)
    return exit_code("study.labels", lambda: _compare(arguments, console))


def _compare(arguments: argparse.Namespace, console: Console) -> None:
    measured = _measured(arguments, console)
    if arguments.processes > 1:
        print("\n".join(table(measured)))


def _measured(arguments: argparse.Namespace, console: Console) -> list[Floats]:
    """The times of each Spec: by process, place, build, repeat and program."""
    compiler = find_compiler()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    chosen = []
    for sample in samples(arguments.corpus, arguments.programs):
        builds = built(sample, compiler)
        console.print(f"built {len(builds[0])} programs of {sample.expression}", markup=False)
        if builds[0]:
            chosen.append((sample, builds))
    of_process = [
        _process(arguments.folder / f"process-{n}.npz", chosen, compiler, n)
        for n in range(arguments.processes)
    ]
    return [np.stack(spec) for spec in zip(*of_process, strict=True)]


def _process(
    path: Path, chosen: Sequence[tuple[Sample, list[Built]]], compiler: Compiler, seed: int
) -> list[Floats]:
    """The times of all programs in one process, from its file if there is one."""
    names = [f"spec-{n}" for n in range(len(chosen))]
    if not path.exists():
        with Worker() as worker:
            found: dict[str, Any] = {
                name: worker.run(
                    times, sample.expression, builds, compiler, seed, seconds=PROCESS_S
                )
                for name, (sample, builds) in zip(names, chosen, strict=True)
            }
        about = {"specs": [sample.expression for sample, _ in chosen], "compiler": str(compiler)}
        write_arrays(path, found, about)
    arrays = read_arrays(path, "is no file of times, or is damaged.")
    return [arrays[name] for name in names]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m study.labels", description="What the times of a program depend on."
    )
    parser.add_argument("corpus", type=Path, metavar="CORPUS", help="programs")
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="for the times")
    parser.add_argument("--programs", type=int, default=24, metavar="N", help="of a Spec (24)")
    parser.add_argument("--processes", type=int, default=3, metavar="N", help="to time in (3)")
    return parser


if __name__ == "__main__":
    from study import labels  # under its own name, so that processes find its functions

    sys.exit(labels.main())
