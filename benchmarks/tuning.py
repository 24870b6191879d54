"""How much time tuning needs: ranked by a learned model, by cost, and at random.

    python -m benchmarks.tuning [EXPR...] [--seconds 40] [--seed 0] [--out DIR]

Each expression is tuned in all three orders. The best known program is the fastest of them; the
result are the seconds until a program within 2 % of it was measured: those of programs on hardware,
and those since tuning began. Times of programs are multiples of that of the search's first choice,
which all orders share and are timed in turns with. Each order has a kernel cache of its own, so
that none is given what another one has compiled.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import geometric_mean
from tempfile import TemporaryDirectory

from rich.console import Console

from morello.base.errors import MorelloError
from morello.base.files import write_text
from morello.ir.spec import Spec
from morello.learn.choosers import ORDERS, Order
from morello.learn.tune import Tuning, plan, tune
from morello.measure.timing import limit_threads
from morello.search.session import search
from morello.targets.target import Target

NEAR = 1.02
"""A program at most this many times slower than the best known counts as equally good."""

EXPRESSIONS = (
    "f32[80,80] @ f32[80,80]",
    "f32[192,320] @ f32[320,144]",
    "f32[3,1200] @ f32[1200,700]",
    "bf16[48,256] @ bf16[256,160]",
    "relu(f32[72,200] @ f32[200,264] + f32[264])",
    "conv(f32[1,24,20,20], f32[40,24,3,3])",
    "softmax(f32[40,600])",
    "layer_norm(f32[100,100], f32[100], f32[100])",
    "rms_norm(f32[1,3072], f32[3072])",
    "attention(f32[96,48], f32[96,48], f32[96,48])",
    "sum(f32[400,400], axis=0)",
    "transpose(f32[300,500])",
)
"""One of each kind, of shapes that no corpus has."""

SMALL = "relu(f32[16])"


@dataclass(frozen=True)
class Spent:
    """Seconds of programs on hardware, and of all that tuning did."""

    hardware_s: float
    wall_s: float


@dataclass(frozen=True)
class OrderResult:
    """The outcome of tuning in one order.

    It measured so many `programs` in the `whole` time; the `best` takes that many times as long as
    the search's first choice. A program as good as the best known was `reached` after some time;
    None if none was.
    """

    programs: int
    best: float
    whole: Spent
    reached: Spent | None

    @property
    def at_least(self) -> Spent:
        """The time that it needs, or a lower bound of it."""
        return self.reached or self.whole


def compare(tunings: Mapping[Order, Tuning]) -> dict[Order, OrderResult]:
    """The results of each order; the best known program is the fastest of all orders."""
    best = min(tuning.best.ratio for tuning in tunings.values())
    return {order: _result(tuning, NEAR * best) for order, tuning in tunings.items()}


def _result(tuning: Tuning, enough: float) -> OrderResult:
    good = [Spent(t.hardware_s, t.seconds) for t in tuning.trials if t.ratio <= enough]
    reached = min(good, key=lambda spent: spent.wall_s, default=None)
    whole = Spent(tuning.hardware_s, tuning.seconds)
    return OrderResult(len(tuning.trials), tuning.best.ratio, whole, reached)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    arguments = _parser().parse_args(argv)
    console = Console(stderr=True, highlight=False)
    arguments.out.mkdir(parents=True, exist_ok=True)
    rows: dict[str, dict[Order, OrderResult]] = {}
    with limit_threads():
        for expression in arguments.expressions:
            try:
                goal, target = plan(expression)
                search(goal, target)  # the first search loads what later ones find in memory
                tunings = {
                    order: _tuned(goal, target, order, arguments.seconds, arguments.seed)
                    for order in ORDERS
                }
            except MorelloError as error:
                console.print(f"{expression}: {error}", markup=False)
                continue
            rows[expression] = compare(tunings)
            console.print(_line(expression, rows[expression]), markup=False)
    if not rows:
        return 1
    data = {
        name: {o: asdict(result) for o, result in results.items()} for name, results in rows.items()
    }
    write_text(arguments.out / "tuning.json", json.dumps(data, indent=1) + "\n")
    write_text(arguments.out / "tuning.md", markdown(rows))
    console.print(f"wrote {arguments.out / 'tuning.md'}")
    return 0


def _tuned(goal: Spec, target: Target, order: Order, seconds: float, seed: int) -> Tuning:
    before = os.environ.get("MORELLO_CACHE")
    try:
        with TemporaryDirectory() as folder:
            os.environ["MORELLO_CACHE"] = folder
            for _ in tune(*plan(SMALL), 1e-3, order=order, seed=seed):  # compiles what all need
                pass
            *_, last = tune(goal, target, seconds, order=order, seed=seed)
    finally:
        os.environ.pop("MORELLO_CACHE")
        os.environ.update({} if before is None else {"MORELLO_CACHE": before})
    return last


def markdown(rows: Mapping[str, Mapping[Order, OrderResult]]) -> str:
    """A table of all expressions, and means of how much less time the learned order needs."""
    lines = [
        f"| tuned | {' | '.join(f'{order}: s, wall s, best' for order in ORDERS)} |",
        f"|---|{'---|' * len(ORDERS)}",
        *(_line(expression, results) for expression, results in rows.items()),
        "",
        "Seconds on hardware, and in all, until a program within 2 % of the best known was",
        "measured (> where none was), and the fastest's time as a part of the first choice's.",
        "",
    ]
    for other in ORDERS[1:]:
        hardware, wall = (
            geometric_mean(
                getattr(results["learned"].at_least, kind) / getattr(results[other].at_least, kind)
                for results in rows.values()
            )
            for kind in ("hardware_s", "wall_s")
        )
        lines.append(
            f"The learned order needs {hardware:.2f} times the hardware time of {other}, and "
            f"{wall:.2f} times the wall time."
        )
    return "\n".join(lines) + "\n"


def _line(expression: str, results: Mapping[Order, OrderResult]) -> str:
    return f"| {expression} | {' | '.join(_cell(results[order]) for order in ORDERS)} |"


def _cell(result: OrderResult) -> str:
    more = "> " if result.reached is None else ""
    spent = result.at_least
    return f"{more}{spent.hardware_s:.1f}, {spent.wall_s:.1f}, {result.best:.2f}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.tuning", description="How much time tuning needs."
    )
    parser.add_argument(
        "expressions", nargs="*", default=EXPRESSIONS, metavar="EXPR", help="what to tune"
    )
    parser.add_argument("--seconds", type=float, default=40.0, help="of each order (40)")
    parser.add_argument("--seed", type=int, default=0, help="of what is drawn at random (0)")
    parser.add_argument("--out", type=Path, default=Path("bench-out"), help="folder (bench-out)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
