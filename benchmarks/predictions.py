"""How near predicted times are to measured ones, by family and by where the operands lie.

    python -m benchmarks.predictions FOLDER [--only TEXT] [--model PATH]

The first choices of Specs that no corpus has are measured on this machine, with nothing else
running, and kept in FOLDER; those that it has are not measured again, so that another model can be
judged by the same times.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.prediction_specs import SPECS
from morello.base.errors import MorelloError
from morello.frontends.text import parse
from morello.impl.reconstruct import reconstruct
from morello.ir.tensor import LINE_BYTES
from morello.learn.collect import MeasuringMachine, name_of
from morello.learn.corpus import MeasuredSpec, files, read, write
from morello.learn.model import read_model
from morello.learn.predictors import SHIPPED, Learned
from morello.learn.programs import Proposal
from morello.search.budget import Budget
from morello.search.session import Session
from morello.targets.costs import on_cores

GAP = 0.02
NEAR = 1.25
"""A prediction within this factor of the measured time is near."""

SHORT_S = 1e-6
MEMORY, L3, L2, L1 = "memory", "L3", "L2", "L1"


@dataclass(frozen=True)
class Judged:
    """A first choice: its Spec, where its operands fit, and seconds measured and predicted."""

    family: str
    expression: str
    level: str
    seconds: float
    predicted: float

    @property
    def error(self) -> float:
        """The logarithm of predicted over measured seconds."""
        return float(np.log(self.predicted / self.seconds))


def measured_first(machine: MeasuringMachine, family: str, expression: str) -> MeasuredSpec:
    """The search's first choice of a Spec, and its times. Raises `MorelloError`."""
    goal, target = on_cores(parse(expression), machine.target)
    session = Session(goal, target)
    session.solve(Budget(gap=GAP))
    first = reconstruct(goal, target, list(session.decisions))
    return machine.timed(family, expression, [Proposal(first, 0)])


def judged(measured: MeasuredSpec, predictor: Learned) -> Judged:
    """The first program of a Spec, predicted. It has to be legal still."""
    (impl,) = measured.only([0]).impls()
    if impl is None:
        raise MorelloError(f"the program of {measured.expression} is not legal any more.")
    (seconds,) = predictor.seconds([impl]).tolist()
    level = _level(measured, impl.spec.bytes)
    return Judged(measured.family, measured.expression, level, float(measured.seconds[0]), seconds)


def _level(measured: MeasuredSpec, size: int) -> str:
    """The nearest memory that has room for all operands."""
    target = measured.target
    for name, lines in ((L1, target.levels[2].capacity), (L2, target.levels[1].capacity)):
        if size <= lines * LINE_BYTES:
            return name
    return L3 if size <= target.last_cache * LINE_BYTES else MEMORY


def table(every: Sequence[Judged]) -> Iterator[str]:
    """Lines of Markdown, by family, by level, of short programs and of all."""
    yield "| programs | Specs | within 25 % | off by (median) | predicted / measured (mean) |"
    yield "|---|---|---|---|---|"
    kinds: list[tuple[str, Callable[[Judged], bool]]] = [
        *((family, lambda j, f=family: j.family == f) for family in SPECS),
        *((f"in {level}", lambda j, at=level: j.level == at) for level in (L1, L2, L3, MEMORY)),
        ("below 1 us", lambda j: j.seconds < SHORT_S),
        ("all", lambda j: True),
    ]  # fmt: skip
    for name, belongs in kinds:
        errors = np.array([j.error for j in every if belongs(j)])
        if len(errors):
            near = np.mean(np.abs(errors) <= np.log(NEAR))
            off, mean = np.expm1(np.median(np.abs(errors))), np.exp(errors.mean())
            yield f"| {name} | {len(errors)} | {near:.0%} | {off:.0%} | {mean:.2f} |"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.predictions", description="Judge predicted times."
    )
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--only", default="", metavar="TEXT", help="Specs whose text has this")
    parser.add_argument("--model", type=Path, default=SHIPPED, help="another than what ships")
    arguments = parser.parse_args(argv)
    try:
        _measure(arguments.folder, arguments.only)
        _judge(arguments.folder, arguments.only, arguments.model)
    except MorelloError as error:
        print(f"benchmarks.predictions: {error}", file=sys.stderr)
        return 2
    return 0


def _measure(folder: Path, only: str) -> None:
    missing = [
        (family, expression)
        for family, members in SPECS.items()
        for expression in members
        if only in expression and not (folder / name_of(expression)).exists()
    ]
    if not missing:
        return
    machine = MeasuringMachine.here()
    for family, expression in missing:
        write(folder / name_of(expression), measured_first(machine, family, expression))


def _judge(folder: Path, only: str, path: Path) -> None:
    specs = [measured for measured in map(read, files(folder)) if only in measured.expression]
    if not specs:
        raise MorelloError(f"no Spec has {only!r} in its text; leave it out for all.")
    predictor = Learned(read_model(path), specs[0].target)
    every = [judged(measured, predictor) for measured in specs]
    for each in sorted(every, key=lambda j: j.error):
        print(
            f"{np.exp(each.error):6.2f}  {each.seconds * 1e6:10.2f} us  "
            f"{each.level:6s}  {each.expression}"
        )
    print("\n".join(table(every)))


if __name__ == "__main__":
    sys.exit(main())
