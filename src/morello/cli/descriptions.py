"""Descriptions of programs: their predicted times, rooflines and searches, as text and as data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

from morello.base.errors import BuildError
from morello.cli.output import readable
from morello.impl.tree import Impl
from morello.ir.spec import Spec
from morello.measure.bounds import Bound, Peak, bound, percent, total
from morello.measure.peaks import host_peak, keeps_peaks
from morello.request.warning import gap_text
from morello.search.result import SearchStatistics

if TYPE_CHECKING:
    from morello.learn.predictors import Prediction
    from morello.program import TextProgram


def described(impl: Impl, statistics: SearchStatistics | None) -> dict[str, Any]:
    """A program and the statistics of the search for it, as data for JSON."""
    predicted = predicted_us(impl)
    roofline = predicted_roofline(impl, predicted)
    data: dict[str, Any] = {
        "spec": impl.spec.expression,
        "target": impl.target.name,
        "threads": impl.threads,
        "cost": impl.cost,
        "predicted_us": predicted,
        "roofline": None if roofline is None else roofline.data(),
        "search": None,
    }
    if statistics is not None:
        data["search"] = {
            "seconds": statistics.seconds,
            "specs": statistics.specs,
            "entries": statistics.entries,
            "rewrites": statistics.rewrites,
            "tried": statistics.tried,
            "bounded": statistics.bounded,
            "measured": statistics.measured,
            "ranked": statistics.ranked,
            "choice": statistics.choice,
            "proven": statistics.proven,
            "gap": statistics.gap if isfinite(statistics.gap) else None,
            "of_bound": statistics.of_bound,
            "worst": statistics.worst,
        }
    return data


def described_program(program: TextProgram) -> dict[str, Any]:
    """A program of several kernels, in the order in which they run, as data for JSON."""
    kernels = [described(kernel.impl, kernel.statistics) for kernel in program.kernels]
    return {
        "spec": " ".join(program.program.text.split()),
        "target": program.kernels[0].impl.target.name,
        "threads": program.threads,
        "cost": program.cost,
        "predicted_us": _in_us(program.predicted),
        "search": None,
        "kernels": kernels,
    }


def predicted_us(impl: Impl) -> dict[str, float] | None:
    """A learned model's prediction in microseconds, if there is a model for the machine."""
    from morello.learn.predictors import predict  # models are slow to import

    return _in_us(predict(impl))


def _in_us(prediction: Prediction | None) -> dict[str, float] | None:
    return None if prediction is None else {name: 1e6 * s for name, s in asdict(prediction).items()}


@dataclass(frozen=True)
class Roofline:
    """The bound of a Spec on this machine, and the seconds that a program of it is to take."""

    bound: Bound
    seconds: float

    @property
    def text(self) -> str:
        """The fraction of the bound that the program reaches, and what the bound is."""
        reached = percent(self.bound.share(self.seconds))
        time = readable(self.bound.seconds)
        return f"{reached} of this machine's roofline for it, {time} by {self.bound.by}"

    def data(self) -> dict[str, Any]:
        """The roofline as data for JSON."""
        return asdict(self.bound) | {"reached": self.bound.share(self.seconds)}


def predicted_roofline(impl: Impl, predicted: dict[str, float] | None) -> Roofline | None:
    """The roofline for what a program is predicted to take; None if it is for another machine.

    It is predicted by a learned model (see `predicted_us`) or, without one, by the cost.
    What this machine can do at most is measured if it is not known, and may be kept.
    """
    if impl.target.name != "native" or not keeps_peaks():
        return None
    peak = _peak(impl.threads)
    if peak is None:
        return None
    seconds = 1e-6 * predicted["seconds"] if predicted else impl.cost / peak.hertz
    return Roofline(bound(impl.spec, peak), seconds)


def measured_roofline(specs: Sequence[Spec], threads: int, seconds: float) -> Roofline | None:
    """The roofline of kernels that took so many seconds in all, on so many threads, here."""
    peak = _peak(threads)
    return None if peak is None else Roofline(total(bound(spec, peak) for spec in specs), seconds)


def _peak(threads: int) -> Peak | None:
    """The peak of this machine; None if no compiler is found to measure it."""
    try:
        return host_peak(threads)
    except BuildError:
        return None


def bounds_text(statistics: SearchStatistics | None, roofline: Roofline | None) -> str:
    """The fractions of the cost's bound and of a roofline that a program reaches, if known."""
    parts = []
    if statistics is not None and isfinite(statistics.gap):
        parts.append(f"{percent(statistics.of_bound)} of the cost model's bound")
    if roofline is not None:
        parts.append(roofline.text)
    return "; ".join(parts)


def prediction_text(predicted_us: dict[str, float]) -> str:
    middle, low, high = (readable(1e-6 * predicted_us[name]) for name in ("seconds", "low", "high"))
    return f"learned model: {middle} a call ({low} to {high})"


def search_text(statistics: SearchStatistics) -> str:
    chosen = "" if statistics.ranked == "cost" else f"Ranked by the {statistics.ranked} model. "
    if statistics.measured:
        chosen += f"The fastest of {statistics.measured} measured. "
    if statistics.worst is not None:
        chosen = (
            "Of the cheapest programs for each microarchitecture, the one with the smallest "
            f"worst-case loss, {statistics.worst:.1%}. "
        )
    if statistics.choice > 1:
        chosen = f"Number {statistics.choice} of the cheapest programs of different structures. "
    if not statistics.specs:
        unproven = "" if statistics.proven else f" It has {gap_text(statistics)}."
        return f"{chosen}Known from the table, in {1e3 * statistics.seconds:.0f} ms.{unproven}"
    proven = "The cheapest was proven so" if chosen else "Proven cheapest"
    if not statistics.proven:
        proven = f"Found with {gap_text(statistics)}"
    return (
        f"{chosen}{proven} under the cost model in {statistics.seconds:.2f} s: "
        f"{statistics.specs:,} Specs expanded by {statistics.rewrites:,} rewrites, "
        f"{statistics.bounded:,} relaxed Specs bounding the rest."
    )
