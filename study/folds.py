"""How well Specs are predicted that were held out, by machine and by family.

    python -m study.folds CORPUS... [--protocol P] [--steps N] [--programs N]

Those of all corpora are held out once, as the protocol says: *random* folds of Specs, *family* by
family (related ones together), or *machine* by machine. The network, and the mean of its logarithms
and those of the affine cost, are compared with the cost: the ratio of APEs has a paired interval.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from morello.frontends.text import parse
from morello.learn.affine import Affine
from morello.learn.evaluate import Score, judge, score
from morello.learn.families import family_of
from study.command import exit_code
from study.experiments import BEST, ExperimentResult, of_machine, together
from study.held_out import PROTOCOLS, Predicted, held_out
from study.report import table_of

LEAST = 5
"""Families of fewer Specs have no rows of their own."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m study.folds", description="Judge predictions of Specs that were held out."
    )
    parser.add_argument("corpora", type=Path, nargs="+", metavar="CORPUS")
    parser.add_argument(
        "--protocol", choices=[*PROTOCOLS], help="what is held out (each of them once)"
    )
    parser.add_argument("--steps", type=int, default=BEST.steps, help=f"of training ({BEST.steps})")
    parser.add_argument(
        "--programs", type=int, metavar="N", help="at most N of each Spec, 2 or more (all)"
    )
    arguments = parser.parse_args(argv)
    recipe = replace(BEST, steps=arguments.steps)

    def run() -> None:
        for protocol in PROTOCOLS if arguments.protocol is None else [arguments.protocol]:
            specs = [*held_out(arguments.corpora, recipe, protocol, arguments.programs)]
            print("\n".join(table_of([*judged(specs, protocol)])))

    return exit_code("study.folds", run)


def judged(specs: Sequence[Predicted], protocol: str) -> Iterator[ExperimentResult]:
    """The scores of all predictors, for each machine and then for each family."""
    for of in (_machine, _family):
        for name in sorted({of(spec) for spec in specs}):
            some = [spec for spec in specs if of(spec) == name]
            if len(some) >= LEAST:
                yield from of_machine(f"{name}, {len(some)} Specs", _scores(some, protocol))


def _machine(spec: Predicted) -> str:
    return spec.corpus


def _family(spec: Predicted) -> str:
    return family_of(parse(spec.group.expression))


def _scores(specs: Sequence[Predicted], protocol: str) -> Iterator[Score]:
    groups = [spec.group for spec in specs]
    costs = {number: Affine().predict(group) for number, group in enumerate(groups)}
    of_network = {number: spec.logarithms for number, spec in enumerate(specs)}
    by_cost = judge(groups, costs, absolute=True)
    for name, predicted in {
        "affine": costs,
        "network": of_network,
        "network and cost": together([of_network, costs]),
    }.items():
        yield score(protocol, name, judge(groups, predicted, absolute=True), by_cost)


if __name__ == "__main__":
    sys.exit(main())
