"""The command: measure Morello and its peers on groups of cases, in turns, and write a report.

python -m benchmarks [GROUP...] [--threads 1,2] [--seconds 0.5] [--out DIR]
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from benchmarks import peers
from benchmarks.collection import GROUPS, group
from benchmarks.machine import measure_machine
from benchmarks.peers.peer import Options, UnavailableError
from benchmarks.plots import draw
from benchmarks.process import Process
from benchmarks.race import race
from benchmarks.report import markdown
from benchmarks.results import Failure, Outcome, Run
from benchmarks.summary import best_peer
from benchmarks.work import Work
from morello.base.errors import MorelloError
from morello.base.files import write_text
from morello.cli.output import readable

USAGE_ERROR, INTERRUPTED = 2, 130


class Team:
    """The processes of all peers on `options.threads` threads; those that ended are restarted."""

    def __init__(self, where: Mapping[str, str], options: Options, logs: Path) -> None:
        self.where, self.options, self.logs = where, options, logs
        self.processes: list[Process] = []
        self.absent: list[Failure] = []
        for name in where:
            try:
                self.processes.append(self._start(name))
            except UnavailableError as problem:
                self.absent.append(Failure(name, str(problem)))

    def ready(self) -> Sequence[Process]:
        """All processes, those that ended restarted."""
        for i, process in enumerate(self.processes):
            if not process.alive:
                self.processes[i] = self._start(process.name)
        return self.processes

    def end(self) -> None:
        """End all processes."""
        for process in self.processes:
            process.end()

    def _start(self, name: str) -> Process:
        is_path = self.where[name] == peers.LIBRARY
        options = replace(self.options, library=name if is_path else None)
        return Process(Path(name).name, self.where[name], options, self.logs)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    arguments = _parser().parse_args(argv)
    console = Console(stderr=True, highlight=False)
    try:
        run = measure(arguments, console)
    except MorelloError as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return USAGE_ERROR
    except KeyboardInterrupt:
        print("\nbenchmarks: interrupted.", file=sys.stderr)
        return INTERRUPTED
    write(run, arguments.out, console)
    if arguments.json:
        print(json.dumps(run.to_json(), indent=2))
    return 0


def measure(arguments: argparse.Namespace, console: Console) -> Run:
    """Measure all peers on all cases."""
    groups = arguments.groups or list(GROUPS)
    logs = arguments.out / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    table = str(arguments.db.absolute()) if arguments.db else None
    options = Options(
        table=table, measure=arguments.measure, weights=arguments.weights, trials=arguments.tvm
    )
    where = {peers.OURS: peers.MORELLO}
    where |= {n: at for n, at in peers.PEERS.items() if n in (arguments.peers or peers.PEERS)}
    where |= {"tvm": peers.TVM} if arguments.tvm else {}
    where |= {str(path): peers.LIBRARY for path in arguments.lib or ()}
    console.print("measuring the machine")
    machine = measure_machine(tuple(arguments.threads))
    versions: dict[str, str] = {}
    absent: list[tuple[int, Failure]] = []
    outcomes: list[Outcome] = []
    for threads in arguments.threads:
        team = Team(where, replace(options, threads=threads), logs)
        try:
            versions |= {process.name: process.version for process in team.processes}
            absent += [(threads, failure) for failure in team.absent]
            for group, work in _cases(groups, arguments.only):
                outcomes.append(race(group, work, team.ready(), threads, arguments.seconds))
                _tell(outcomes[-1], console)
                partial = Run(machine, arguments.seconds, versions, tuple(absent), tuple(outcomes))
                _save(partial, arguments.out)
        finally:
            team.end()
    return Run(machine, arguments.seconds, versions, tuple(absent), tuple(outcomes))


def write(run: Run, folder: Path, console: Console) -> None:
    """Write the report, its data and its plots."""
    _save(run, folder)
    try:
        drawn = draw(run, folder)
    except ImportError:
        drawn = []
        console.print("no plots: matplotlib is not installed")
    text = markdown(run) + "".join(f"\n![{path.stem}]({path.name})\n" for path in drawn)
    write_text(folder / "report.md", text)
    console.print(f"wrote {folder / 'report.md'}")


def _save(run: Run, folder: Path) -> None:
    write_text(folder / "results.json", json.dumps(run.to_json(), indent=1) + "\n")


def _cases(groups: Sequence[str], only: str | None) -> list[tuple[str, Work]]:
    cases = [(group, work) for group in groups for work in GROUPS[group]]
    return [(g, w) for g, w in cases if only is None or only in w.size.split()]


def _tell(outcome: Outcome, console: Console) -> None:
    """Print one line about a case."""
    ours, best = outcome.ours("C"), best_peer(outcome)
    text = f"{outcome.group} {outcome.size}, {outcome.threads}t: "
    text += readable(ours.median_s) if ours else "we failed"
    if best is not None:
        text += f"; {best.peer} {outcome.ratios[best.peer]:.2f}x ({best.setting})"
    console.print(text)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Race Morello against its peers, in turns."
    )
    parser.add_argument(
        "groups", nargs="*", type=group, metavar="GROUP", help=f"of {', '.join(GROUPS)} (all)"
    )
    parser.add_argument("--only", metavar="SIZE", help="only cases of this size")
    parser.add_argument("--threads", type=_counts, default=[1, 2], help="such as 1,2 (the default)")
    parser.add_argument("--seconds", type=float, default=0.5, help="for each peer and case (0.5)")
    parser.add_argument("--out", type=Path, default=Path("bench-out"), help="folder (bench-out)")
    parser.add_argument("--db", type=Path, metavar="PATH", help="a table of what searches found")
    parser.add_argument(
        "--measure", type=int, default=1, metavar="K", help="time the K best programs (1)"
    )
    parser.add_argument(
        "--weights", choices=["plain", "constant"], default="plain",
        help="constant: ours and oneDNN's are laid out ahead, which is not timed (plain)",
    )  # fmt: skip
    parser.add_argument(
        "--peers", type=lambda text: text.split(","), help=f"of {','.join(peers.PEERS)} (all)"
    )
    parser.add_argument(
        "--tvm", type=int, default=0, metavar="TRIALS", help="tune TVM as well, for minutes a case"
    )
    parser.add_argument(
        "--lib", type=Path, action="append", metavar="PATH", help="a BLAS or oneDNN to race, too"
    )
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    return parser


def _counts(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


if __name__ == "__main__":
    sys.exit(main())
