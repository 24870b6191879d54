"""The arithmetic of a report: ratios by group and peer, shares of the machine, the model's rank."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchmarks.machine import Machine
from benchmarks.results import Entry, Outcome

BEST = "best of all"


@dataclass(frozen=True)
class Score:
    """How a group's ratios against one peer come out; above 1, we are faster."""

    group: str
    threads: int
    peer: str
    cases: int
    mean: float
    lowest: float
    worst_case: str


def scores(outcomes: Sequence[Outcome]) -> list[Score]:
    """For each group and number of threads: against each peer, and the best of all in each case."""
    found = []
    for group, threads in dict.fromkeys((o.group, o.threads) for o in outcomes):
        here = [o for o in outcomes if (o.group, o.threads) == (group, threads) and o.ratios]
        for peer in (*dict.fromkeys(p for o in here for p in o.ratios), BEST):
            ratios = {o.size: against(o, peer) for o in here if peer in (*o.ratios, BEST)}
            if ratios:
                lowest = min(ratios, key=lambda size: ratios[size])
                mean = statistics.geometric_mean(ratios.values())
                found.append(Score(group, threads, peer, len(ratios), mean, ratios[lowest], lowest))
    return found


def against(outcome: Outcome, peer: str) -> float:
    """A peer's time over ours; the least of all peers' for the best."""
    ratios = outcome.ratios
    return min(ratios.values()) if peer == BEST else ratios[peer]


def best_peer(outcome: Outcome) -> Entry | None:
    """Whose ratio is the lowest."""
    ratios = outcome.ratios
    if not ratios:
        return None
    name = min(ratios, key=lambda peer: ratios[peer])
    return next(entry for entry in outcome.entries if entry.peer == name)


def share(outcome: Outcome, entry: Entry, machine: Machine) -> float:
    """The time the machine needs at least, as a part of what an entry took."""
    return max(_least_seconds(outcome, machine)) / entry.median_s


def memory_bound(outcome: Outcome, machine: Machine) -> bool:
    """Whether it is reading and writing that takes the machine longest."""
    products, memory = _least_seconds(outcome, machine)
    return products <= memory


def _least_seconds(outcome: Outcome, machine: Machine) -> tuple[float, float]:
    """What the products, and reading and writing the operands, take the machine at least."""
    peak = machine.peaks[outcome.threads]
    memory = outcome.reads_s or peak.memory_seconds(outcome.bytes)
    return peak.product_seconds(outcome.flops, outcome.multiplies), memory


def predicted_s(outcome: Outcome, machine: Machine) -> float | None:
    """Seconds that the cost model predicts for our kernel."""
    cycles = outcome.facts.get("cycles")
    return cycles / machine.ghz * 1e-9 if cycles and machine.ghz else None


def rank_correlation(pairs: Iterable[tuple[float, float]]) -> float | None:
    """Spearman's, of pairs; None of fewer than three, or where one side is all the same."""
    xs, ys = zip(*pairs, strict=True) if (pairs := list(pairs)) else ((), ())
    if len(xs) < 3 or len(set(xs)) == 1 or len(set(ys)) == 1:
        return None
    return statistics.correlation(_ranks(xs), _ranks(ys))


def _ranks(values: Sequence[float]) -> list[float]:
    """Each value's place; those that are the same share the middle of theirs."""
    ordered = sorted(values)
    return [ordered.index(x) + (ordered.count(x) - 1) / 2 for x in values]
