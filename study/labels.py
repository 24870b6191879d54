"""The variance of measured times by its causes: build, addresses, process, and repetition.

    python -m study.labels FOLDER [--programs 80] [--processes 3]

About so many programs of one Spec of each family, as a corpus has them, are built three times: each
alone in a file, as `compile` does it; alone, but 16 bytes later in memory; and twelve in a file, as
labels are. Every process times all of them in turns, with operands at several places. Builds are
listed in FOLDER, and times are kept there: `--processes 0` builds, so that a process of a later
call only runs programs, when the machine is quiet; what is there is not built or timed again.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt

from morello.base.errors import BuildError, CorpusError
from morello.base.files import make_folder, write_text
from morello.base.workers import Worker
from morello.frontends.text import parse
from morello.impl.tree import Impl
from morello.ir.tensor import PAGE_BYTES
from morello.learn.archive import read_about, read_arrays, write_arrays
from morello.learn.collect import SEARCH_S, MeasuringMachine
from morello.learn.hardware import TOGETHER, compiled_apart
from morello.learn.programs import propose
from morello.learn.specs import SPECS
from morello.measure.load import source_of
from morello.measure.stopwatch import Candidate, Stopwatch
from morello.measure.timing import calls_for, in_turns, quiet
from morello.native.build import build
from morello.native.toolchain import Compiler, arch_flags, find_compiler
from morello.runtime.argument import Argument, Array, aligned_bytes, arguments
from morello.runtime.load import Library
from morello.runtime.packing import random_inputs, random_outputs
from morello.runtime.threads import available_threads
from study.command import exit_code

Floats = npt.NDArray[np.float64]
Built = Sequence[tuple[str, str]]
"""Shared objects, and the name of the function in each."""

BUILDS = ("alone", "later", "together")
LATER = '__asm__(".text\\n.skip 16, 0x90");\n'
"""Before a file's code: it puts its functions 16 bytes later."""

PLACES, REPEATS, SAMPLE_NS = 3, 4, 2_000_000
PROCESS_S = 600.0
CALM = 0.99
"""The part of the programs of which the variance is given by itself."""

NEAR = 0.03
"""The relative difference that a label may have from the time of what ships."""


@dataclass(frozen=True)
class Sample:
    """Programs of one Spec, by kind of build (see `BUILDS`)."""

    expression: str
    builds: Sequence[Built]


def sample_of(family: str, count: int, machine: MeasuringMachine) -> Sample:
    """`count` programs or fewer of a Spec of a family: that in the middle of its list.

    Those that the compiler refuses in a common file are left out. Raises `MorelloError`.
    """
    expression = SPECS[family][len(SPECS[family]) // 2]
    proposals = propose(parse(expression), machine.target, count, 0, SEARCH_S)
    impls = [proposal.impl for proposal in proposals[:count]]
    built = compiled_apart(impls, machine.compiler, TOGETHER)
    together = [program for program in built if program is not None]
    if not together:
        raise BuildError(f"the compiler takes no program of {expression}.")
    kept = [program.impl for program in together]
    apart = [_alone(kept, machine, before) for before in ("", LATER)]
    return Sample(expression, [*apart, [(str(program.path), program.name) for program in together]])


def _alone(impls: Sequence[Impl], machine: MeasuringMachine, before: str) -> Built:
    """Each of the programs in a file of its own, after this text. Raises `BuildError`."""
    flags = arch_flags(machine.compiler, machine.target.arch)

    def built(impl: Impl) -> tuple[str, str]:
        source = source_of(impl)
        path = build(before + source.text, compiler=machine.compiler, flags=flags)
        return str(path), source.name

    with ThreadPoolExecutor(available_threads()) as threads:
        return [*threads.map(built, impls)]


def times(expression: str, builds: Sequence[Built], compiler: Compiler, seed: int) -> Floats:
    """Nanoseconds of a call by place, build, repeat and program. To be run in a process."""
    spec, random = parse(expression), Random(seed)
    operands = arguments(spec)
    values = (*random_inputs(spec).taken, *random_outputs(operands))
    libraries = {path: Library(Path(path)) for kind in builds for path, _ in kind}
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


def label_errors(measured: Sequence[Floats]) -> dict[str, Floats]:
    """Logarithms of labels of a process, over the times of what ships in the next one."""
    found: dict[str, list[Floats]] = {}
    for ns in measured:
        least = np.log(ns).min(axis=3)
        label, later = least[:-1, :, 2], least[1:, :, 0]
        middle = np.median(later, axis=1)
        pairs = {
            "a label, and the time alone in another process": label - later,
            "a label, and the median of all places": label[:, 0] - middle,
            "medians of labels and of times at all places": np.median(label, axis=1) - middle,
        }
        for what, values in pairs.items():
            found.setdefault(what, []).append(values.ravel())
    return {what: np.concatenate(values) for what, values in found.items()}


def table(measured: Sequence[Floats]) -> list[str]:
    """Lines of Markdown: how much times differ, by cause, and labels from what ships."""
    lines = [
        "| what differs | median % | 95th percentile % | most % | within 3 % |",
        "|---|---|---|---|---|",
    ]
    for what, logs in (differences(measured) | label_errors(measured)).items():
        sizes = np.expm1(np.abs(logs))
        near = f"{100 * np.mean(sizes <= NEAR):.0f} %"
        numbers = (100 * np.quantile(sizes, part) for part in (0.5, 0.95, 1.0))
        lines.append(f"| {what} | {' | '.join(f'{n:.1f}' for n in numbers)} | {near} |")
    return lines


def variances(measured: Sequence[Floats]) -> dict[str, float]:
    """The variance of a label's logarithm that each cause adds: means over all programs.

    A label is the least of the repeats. Analysis of variance: places are those of a process, builds
    the same in all; a mean square has those of the causes below it, which are taken away.
    """
    labels = np.concatenate([np.log(ns).min(axis=3) for ns in measured], axis=-1)
    processes, places, builds, _ = labels.shape
    cells = labels - labels.mean(axis=(0, 1, 2))
    of_process, of_place = cells.mean(axis=(1, 2)), cells.mean(axis=2)
    of_build = cells.mean(axis=(0, 1))
    rest = cells - of_place[:, :, None] - of_build
    noise = (rest**2).sum() / ((processes * places - 1) * (builds - 1))
    place = builds * ((of_place - of_process[:, None]) ** 2).sum() / (processes * (places - 1))
    process = places * builds * (of_process**2).sum() / (processes - 1)
    code = processes * places * ((of_build[1] - of_build[0]) ** 2).sum() / 2
    file = processes * places * ((2 * of_build[2] - of_build[:2].sum(axis=0)) ** 2).sum() / 6
    found = {
        "repeats, and what is left": noise,
        "places of operands": (place - noise) / builds,
        "processes": (process - place) / (places * builds),
        "places of code": (code - noise) / (processes * places),
        "twelve in a file": (file - noise) / (processes * places),
    }
    return {cause: max(0.0, float(sum_)) / cells.shape[-1] for cause, sum_ in found.items()}


def table_of_variances(measured: Sequence[Floats]) -> list[str]:
    """Lines of Markdown: the standard deviation of a label by cause, and the part of its variance.

    Of all programs, and without the hundredth of them whose times vary most.
    """
    varied = np.concatenate([np.log(ns).min(axis=3).std(axis=(0, 1, 2)) for ns in measured])
    calm = np.quantile(varied, CALM)
    most = [ns[..., np.log(ns).min(axis=3).std(axis=(0, 1, 2)) <= calm] for ns in measured]
    both = variances(measured), variances(most)
    sums = [sum(found.values()) for found in both]
    lines = ["| cause | standard deviation %, part of the variance % | of 99 % of the programs |"]
    lines.append("|---|---|---|")
    for cause in both[0]:
        parts = [
            f"{100 * found[cause] ** 0.5:.2f}, {100 * found[cause] / sum_:.0f}"
            for found, sum_ in zip(both, sums, strict=True)
        ]
        lines.append(f"| {cause} | {' | '.join(parts)} |")
    return lines


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    arguments = _parser().parse_args(argv)
    return exit_code("study.labels", lambda: _compare(arguments))


def _compare(arguments: argparse.Namespace) -> None:
    chosen = _built(arguments.folder / "programs.json", arguments.families, arguments.programs)
    compiler = find_compiler()
    of_process = [
        _process(arguments.folder / f"process-{n}.npz", chosen, compiler, n)
        for n in range(arguments.processes)
    ]
    if arguments.processes > 1:
        measured = [np.stack(spec) for spec in zip(*of_process, strict=True)]
        print("\n".join([*table(measured), "", *table_of_variances(measured)]))


def _built(path: Path, families: Sequence[str], count: int) -> list[Sample]:
    """The programs of these families, from the list in a file; new ones are added to that."""
    listed = json.loads(path.read_text()) if path.exists() else {}
    for family in families:
        if family not in listed:
            sample = sample_of(family, count, MeasuringMachine.here())
            listed[family] = asdict(sample)
            make_folder(path)
            write_text(path, json.dumps(listed))
            about = f"{len(sample.builds[0])} programs of {sample.expression}"
            print(f"built {about}", file=sys.stderr)
    return [Sample(**listed[family]) for family in families]


def _process(path: Path, chosen: Sequence[Sample], compiler: Compiler, seed: int) -> list[Floats]:
    """The times of all programs in one process, from its file if there is one.

    Raises `CorpusError` if that has times of other Specs.
    """
    names = [f"spec-{n}" for n in range(len(chosen))]
    specs = [sample.expression for sample in chosen]
    if not path.exists():
        with Worker() as worker:
            found: dict[str, Any] = {
                name: worker.run(
                    times, sample.expression, sample.builds, compiler, seed, seconds=PROCESS_S
                )
                for name, sample in zip(names, chosen, strict=True)
            }
        write_arrays(path, found, {"specs": specs, "compiler": str(compiler)})
    arrays = read_arrays(path, "is no file of times, or is damaged.")
    if read_about(arrays)["specs"] != specs:
        raise CorpusError(
            f"{path} has times of other Specs: choose its families, or another folder."
        )
    return [arrays[name] for name in names]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m study.labels", description="What the times of a program depend on."
    )
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="for builds and times")
    parser.add_argument(
        "--families", nargs="+", choices=SPECS, default=[*SPECS], metavar="FAMILY",
        help="of Specs (all)",
    )  # fmt: skip
    parser.add_argument("--programs", type=int, default=80, metavar="N", help="of a Spec (80)")
    parser.add_argument("--processes", type=int, default=3, metavar="N", help="to time in (3)")
    return parser


if __name__ == "__main__":
    from study import labels  # under its own name, so that processes find its functions

    sys.exit(labels.main())
