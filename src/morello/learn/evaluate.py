"""How good models are on Specs that they have not seen, by the paper's protocols."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import isnan
from typing import Any

import numpy as np
import numpy.typing as npt

from morello.base.errors import CorpusError
from morello.learn.affine import Affine, Estimator, Refitted
from morello.learn.corpus import MeasuredSpec
from morello.learn.groups import ProgramGroup
from morello.learn.metrics import Chosen, ape, chosen, interval, mape, regret
from morello.learn.programs import ORIGINS
from morello.learn.splits import TrainTestSplit, by_family, by_spec
from morello.measure.correlation import kendall_tau

FOLDS = 5
TOPS = (1, 5, 10, 50)
"""How many programs are measured, for regrets."""

Floats = npt.NDArray[np.float64]
Predictions = Mapping[int, Floats]
"""A model's predictions for the programs of unseen Specs, by the Spec's number."""


@dataclass(frozen=True)
class Judged:
    """How a model did on one Spec that it had not seen."""

    family: str
    expression: str
    tau: float
    chosen: Mapping[int, Chosen]
    mape: float
    reranked: Chosen | None
    """The first choice among the search's best programs, and the fastest of these, if known."""


@dataclass(frozen=True)
class Score:
    """A model under one protocol: each figure with its bootstrap interval by Spec.

    `tau` is the mean over Specs, `ape` the mean over families of the paper's APE of the first
    choice, `mape` the mean error of seconds, and `regrets` has, by number of first choices, how
    much slower the fastest of these is: the last three in percent. `reranked` is how much slower
    the first choice among the search's best programs is than the fastest of these, in percent.
    `relative` is the APE over that of the affine cost, for the same draws of Specs.
    """

    protocol: str
    model: str
    specs: int
    tau: tuple[float, float, float]
    ape: tuple[float, float, float]
    mape: tuple[float, float, float]
    regrets: Mapping[int, float]
    reranked: tuple[float, float, float]
    relative: tuple[float, float, float]


def protocols(groups: Sequence[ProgramGroup], seed: int) -> Mapping[str, list[TrainTestSplit]]:
    """The splits of both protocols: random by Spec, and a family held out.

    Splits that leave nothing to train on are left out, and protocols with no others. Raises
    `CorpusError` if there are none.
    """
    families = [group.family for group in groups]
    expressions = [group.expression for group in groups]
    every = {
        "random": by_spec(families, expressions, min(FOLDS, len(groups)), seed),
        "family": by_family(families),
    }
    kept = {name: [split for split in splits if split.train] for name, splits in every.items()}
    if not any(kept.values()):
        raise CorpusError(
            "the corpus has Specs of one family and of similar shapes only, so that none are left "
            "to train on when they are held out; collect other Specs as well."
        )
    return {name: splits for name, splits in kept.items() if splits}


def predictions(
    make: Callable[[], Estimator],
    groups: Sequence[ProgramGroup],
    splits: Sequence[TrainTestSplit],
    seed: int,
) -> Predictions:
    """Predictions for each Spec, by a model trained on the training Specs of its split."""
    result: dict[int, Floats] = {}
    for split in splits:
        model = make()
        model.fit([groups[n] for n in split.train], seed)
        result |= {number: model.predict(groups[number]) for number in split.test}
    return result


def judge(
    groups: Sequence[ProgramGroup], predicted: Predictions, *, absolute: bool
) -> list[Judged]:
    """Evaluate predictions Spec by Spec; their MAPE only if they are `absolute`."""
    return [
        judge_one(groups[n], predicted[n], groups[n].seconds, groups[n].origins, absolute=absolute)
        for n in sorted(predicted)
    ]


def judge_one(
    measured: ProgramGroup | MeasuredSpec,
    predicted: Floats,
    seconds: Floats,
    origins: npt.NDArray[np.integer],
    *,
    absolute: bool,
) -> Judged:
    """Evaluate predictions of one Spec's programs, or of some of them."""
    best = origins == ORIGINS.index("best")
    return Judged(
        measured.family,
        measured.expression,
        kendall_tau(predicted, seconds, measured.noise),
        {count: chosen(predicted, seconds, count) for count in TOPS},
        mape(np.exp(predicted), seconds) if absolute else float("nan"),
        chosen(predicted[best], seconds[best]) if best.any() else None,
    )


def score(
    protocol: str, model: str, judged: Sequence[Judged], affine: Sequence[Judged] = ()
) -> Score:
    """The figures of a model, with intervals; `relative` to the results of the affine cost."""
    taus, mapes = (np.array([getattr(result, f) for result in judged]) for f in ("tau", "mape"))

    def families(rows: Sequence[int], of: Sequence[Judged] = judged) -> float:
        by: dict[str, list[Chosen]] = {}
        for row in rows:
            by.setdefault(of[row].family, []).append(of[row].chosen[1])
        return float(np.mean([ape(specs) for specs in by.values()]))

    def relative(rows: Sequence[int]) -> float:
        least = families(rows, affine) if affine else 0.0
        return families(rows) / least if least else float("nan")

    def figure(statistic: Callable[[Sequence[int]], float]) -> tuple[float, float, float]:
        low, high = interval(len(judged), lambda rows: statistic(rows.tolist()))
        return statistic(range(len(judged))), low, high

    def mean(values: np.ndarray) -> Callable[[Sequence[int]], float]:
        def of(rows: Sequence[int]) -> float:
            selected = values[list(rows)]
            return float(np.nanmean(selected)) if np.isfinite(selected).any() else float("nan")

        return of

    def reranked(rows: Sequence[int]) -> float:
        known = [pair for row in rows if (pair := judged[row].reranked) is not None]
        return regret(known) if known else float("nan")

    return Score(
        protocol, model, len(judged), figure(mean(taus)), figure(families), figure(mean(mapes)),
        {count: regret([result.chosen[count] for result in judged]) for count in TOPS},
        figure(reranked),
        figure(relative),
    )  # fmt: skip


def judged_by_cost(groups: Sequence[ProgramGroup], numbers: Iterable[int]) -> list[Judged]:
    """How the affine cost does on the Specs with these numbers, which others are compared with."""
    return judge(groups, {n: Affine().predict(groups[n]) for n in numbers}, absolute=True)


def baselines() -> Mapping[str, Callable[[], Estimator]]:
    """The models that use only the affine cost."""
    return {"affine": Affine, "refitted": Refitted}


def evaluate(groups: Sequence[ProgramGroup], seed: int = 0) -> Iterator[Score]:
    """Evaluate the baselines under all protocols."""
    for protocol, splits in protocols(groups, seed).items():
        for name, make in baselines().items():
            predicted = predictions(make, groups, splits, seed)
            judged = judge(groups, predicted, absolute=make().absolute)
            yield score(protocol, name, judged, judged_by_cost(groups, predicted))


def extent(groups: Sequence[ProgramGroup]) -> str:
    """How many programs models are evaluated on, for people."""
    programs = sum(len(group.seconds) for group in groups)
    return f"{programs:,} programs of {len(groups)} Specs, each Spec held out once"


def described(score: Score) -> dict[str, Any]:
    """A score as data for JSON, with None in place of nan."""
    data = asdict(score)
    for name in ("tau", "ape", "mape", "reranked", "relative"):
        data[name] = [None if isnan(value) else value for value in data[name]]
    return data
