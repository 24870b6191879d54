"""How well Specs are predicted that were held out, by machine and by family.

    python -m study.folds CORPUS... [--programs N] [--protocol P] [--steps N]

Those of all corpora are held out once, as the protocol says: *random* folds of Specs, *family* by
family (related ones together), or *machine* by machine. The network, and the mean of its logarithms
and those of the affine cost, are compared with the cost: the ratio of APEs has a paired interval.
Of machines that were held out, predictions are also corrected by a minute of measuring there.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from morello.frontends.text import parse
from morello.learn.affine import Affine
from morello.learn.batches import Scale
from morello.learn.evaluate import Floats, Predictions, Score, judge, score
from morello.learn.families import family_of
from morello.learn.groups import ProgramGroup
from study.command import corpora_parser, exit_code
from study.experiments import BEST, ExperimentResult, of_machine, together
from study.held_out import PROTOCOLS, Predicted, held_out
from study.report import table_of
from study.transfer import corrected

LEAST = 5
"""Families of fewer Specs have no rows of their own."""

MACHINE = "machine"
"""The protocol whose predictions are corrected as well."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    parser = corpora_parser("study.folds", "Judge predictions of Specs that were held out.")
    parser.add_argument(
        "--protocol", choices=[*PROTOCOLS], help="what is held out (each of them once)"
    )
    parser.add_argument("--steps", type=int, default=BEST.steps, help=f"of training ({BEST.steps})")
    arguments = parser.parse_args(argv)
    recipe = replace(BEST, steps=arguments.steps)

    def run() -> None:
        for protocol in PROTOCOLS if arguments.protocol is None else [arguments.protocol]:
            specs = [*held_out(arguments.corpora, recipe, protocol, arguments.programs)]
            print("\n".join(table_of([*judged(specs, protocol)])))

    return exit_code("study.folds", run)


def judged(specs: Sequence[Predicted], protocol: str) -> Iterator[ExperimentResult]:
    """The scores of all predictors, for each machine and then for each family."""
    predictors = {"network": [spec.logarithms for spec in specs]}
    if protocol == MACHINE:
        predictors["network, corrected"] = _corrected(specs)
    for of in (_machine, _family):
        names = [of(spec) for spec in specs]
        for name in sorted(set(names)):
            rows = [n for n, other in enumerate(names) if other == name]
            if len(rows) >= LEAST:
                some = {model: [known[n] for n in rows] for model, known in predictors.items()}
                found = scores([specs[n].group for n in rows], some, protocol)
                yield from of_machine(f"{name}, {len(rows)} Specs", found)


def scores(
    groups: Sequence[ProgramGroup], predictors: Mapping[str, Sequence[Floats]], protocol: str
) -> Iterator[Score]:
    """The scores of the affine cost, and of predicted log seconds by themselves and with it."""
    costs = {number: Affine().predict(group) for number, group in enumerate(groups)}
    by_cost = judge(groups, costs, absolute=True)
    several: dict[str, Predictions] = {"affine": costs}
    for name, logarithms in predictors.items():
        several[name] = dict(enumerate(logarithms))
        several[f"{name} and cost"] = together([several[name], costs])
    for name, predicted in several.items():
        yield score(protocol, name, judge(groups, predicted, absolute=True), by_cost)


def _corrected(specs: Sequence[Predicted]) -> list[Floats]:
    """The predictions of each machine, corrected by programs of it."""
    logarithms = [spec.logarithms for spec in specs]
    names = [_machine(spec) for spec in specs]
    for machine in set(names):
        rows = [n for n, name in enumerate(names) if name == machine]
        others = [spec.group.configs for spec in specs if _machine(spec) != machine]
        groups = [specs[n].group for n in rows]
        scale = Scale.of(np.concatenate(others))
        better = corrected([logarithms[n] for n in rows], groups, scale)
        for n, corrected_one in zip(rows, better, strict=True):
            logarithms[n] = corrected_one
    return logarithms


def _machine(spec: Predicted) -> str:
    return spec.corpus


def _family(spec: Predicted) -> str:
    return family_of(parse(spec.group.expression))


if __name__ == "__main__":
    sys.exit(main())
