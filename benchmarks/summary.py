"""The figures of a report: ratios by group and peer, shares of the peak, rank correlation."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchmarks.machine import Machine
from benchmarks.results import Entry, Outcome

BEST = "best of all"


@dataclass(frozen=True)
class Score:
    """A group's ratios to one peer, summarized; above 1, Morello is faster."""

    group: str
    threads: int
    peer: str
    cases: int
    mean: float
    lowest: float
    worst_case: str


def scores(outcomes: Sequence[Outcome]) -> list[Score]:
    """For each group and number of threads: scores by peer, and by the best peer of each case."""
    result = []
    for group, threads in dict.fromkeys((o.group, o.threads) for o in outcomes):
        here = [o for o in outcomes if (o.group, o.threads) == (group, threads) and o.ratios]
        for peer in (*dict.fromkeys(p for o in here for p in o.ratios), BEST):
            ratios = {o.size: against(o, peer) for o in here if peer in (*o.ratios, BEST)}
            if ratios:
                lowest = min(ratios, key=lambda size: ratios[size])
                mean = statistics.geometric_mean(ratios.values())
                result.append(
                    Score(group, threads, peer, len(ratios), mean, ratios[lowest], lowest)
                )
    return result


def against(outcome: Outcome, peer: str) -> float:
    """A peer's time over Morello's; for `BEST`, that of the fastest peer."""
    ratios = outcome.ratios
    return min(ratios.values()) if peer == BEST else ratios[peer]


def best_peer(outcome: Outcome) -> Entry | None:
    """The fastest peer: that with the lowest ratio."""
    ratios = outcome.ratios
    if not ratios:
        return None
    name = min(ratios, key=lambda peer: ratios[peer])
    return next(entry for entry in outcome.entries if entry.peer == name)


def share(outcome: Outcome, entry: Entry, machine: Machine) -> float:
    """The roofline's lower bound of the time, as a fraction of an entry's time."""
    return max(_least_seconds(outcome, machine)) / entry.median_s


def memory_bound(outcome: Outcome, machine: Machine) -> bool:
    """Whether memory, not products, determines the lower bound."""
    products, memory = _least_seconds(outcome, machine)
    return products <= memory


def _least_seconds(outcome: Outcome, machine: Machine) -> tuple[float, float]:
    """Lower bounds of the seconds: for the products, and for reading and writing the operands."""
    peak = machine.peaks[outcome.threads]
    memory = outcome.reads_s or outcome.bytes / peak.bandwidth(outcome.bytes) / 1e9
    return peak.product_seconds(outcome.flops, outcome.multiplies), memory


def predicted_s(outcome: Outcome, machine: Machine) -> float | None:
    """The seconds that the cost model predicts for Morello's kernel."""
    cycles = outcome.facts.get("cycles")
    return cycles / machine.ghz * 1e-9 if cycles and machine.ghz else None


def rank_correlation(pairs: Iterable[tuple[float, float]]) -> float | None:
    """Spearman's rank correlation of pairs; None for fewer than three, or if a side is constant."""
    xs, ys = zip(*pairs, strict=True) if (pairs := list(pairs)) else ((), ())
    if len(xs) < 3 or len(set(xs)) == 1 or len(set(ys)) == 1:
        return None
    return statistics.correlation(_ranks(xs), _ranks(ys))


def _ranks(values: Sequence[float]) -> list[float]:
    """The rank of each value; equal values share the mean of their ranks."""
    ordered = sorted(values)
    return [ordered.index(x) + (ordered.count(x) - 1) / 2 for x in values]
