from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.machine import Machine
from benchmarks.report import markdown
from benchmarks.results import Entry, Failure, Outcome, Run
from benchmarks.summary import (
    BEST,
    best_peer,
    memory_bound,
    predicted_s,
    rank_correlation,
    scores,
    share,
)
from morello.measure.bounds import Peak

PEAK = Peak({"f32": 100.0, "bf16": 0.0}, {1 << 10: 200.0, 1 << 20: 50.0})
MACHINE = Machine("a CPU", 2, 4.0, {1: PEAK, 2: PEAK}, {"from C": 2.0})


def entry(peer: str, median_s: float, language: str = "C") -> Entry:
    return Entry(peer, language, "a setting", median_s, median_s / 2, 9, 1e-7)


def outcome(size: str, *entries: Entry, threads: int = 1, flops: int = 10**6) -> Outcome:
    return Outcome(
        "a group", size, "f32[1]", threads, flops, 1000, "f32", entries, (),
        {"cycles": 40_000.0, "search_s": 0.5, "specs": 3},
    )  # fmt: skip


OUTCOMES = [
    outcome("small", entry("morello", 1e-5), entry("a", 2e-5), entry("b", 0.5e-5)),
    outcome("large", entry("morello", 2e-5), entry("a", 16e-5), entry("b", 4e-5)),
    outcome("one", entry("morello", 4e-5), entry("a", 2e-5), threads=2),
]


def test_scores() -> None:
    found = {(s.threads, s.peer): s for s in scores(OUTCOMES)}
    assert found.keys() == {(1, "a"), (1, "b"), (1, BEST), (2, "a"), (2, BEST)}
    assert found[1, "a"].mean == pytest.approx(4)  # of 2 and 8
    assert found[1, "a"].lowest == pytest.approx(2)
    assert found[1, "b"].mean == pytest.approx(1)  # of 0.5 and 2
    assert found[1, "b"].lowest == pytest.approx(0.5)
    assert found[1, "b"].worst_case == "small"
    assert found[1, BEST].mean == pytest.approx(1)
    assert found[2, BEST].mean == pytest.approx(0.5)
    assert [found[1, p].cases for p in ("a", "b", BEST)] == [2, 2, 2]


def test_a_peer_is_compared_with_us_called_from_where_it_is_called() -> None:
    both = outcome(
        "both", entry("morello", 1e-6), entry("morello", 3e-6, "Python"),
        entry("a", 2e-6), entry("p", 6e-6, "Python"),
    )  # fmt: skip
    assert both.ratios == {"a": pytest.approx(2), "p": pytest.approx(2)}
    failed = outcome("failed", entry("a", 2e-6))
    assert failed.ratios == {}
    assert best_peer(failed) is None
    assert scores([failed]) == []


def test_a_case_without_a_peer_does_not_count_for_it() -> None:
    cases = [OUTCOMES[0], outcome("alone", entry("morello", 1.0), entry("a", 3.0))]
    found = {s.peer: s for s in scores(cases)}
    assert found["b"].cases == 1
    assert found[BEST].mean == pytest.approx((0.5 * 3) ** 0.5)


def test_what_reading_took_in_the_race_counts_rather_than_the_peak() -> None:
    few = outcome("few", entry("morello", 4e-5), flops=10)
    slow = replace(few, reads_s=1e-5)
    assert share(slow, slow.entries[0], MACHINE) == pytest.approx(0.25)
    assert memory_bound(slow, MACHINE)
    assert share(few, few.entries[0], MACHINE) < 0.25


def test_shares_of_the_machine() -> None:
    small = OUTCOMES[0]
    # a million operations at 100 a nanosecond
    assert share(small, small.entries[0], MACHINE) == pytest.approx(1.0)
    assert not memory_bound(small, MACHINE)
    moving = outcome("moving", entry("morello", 1e-8), flops=100)
    assert memory_bound(moving, MACHINE)
    assert share(moving, moving.entries[0], MACHINE) == pytest.approx(0.5)  # 1000 B at 200 GB/s
    assert predicted_s(small, MACHINE) == pytest.approx(1e-5)


def test_rank_correlation() -> None:
    assert rank_correlation([(1, 10), (2, 1000), (3, 1001)]) == pytest.approx(1)
    assert rank_correlation([(1, 3), (2, 2), (3, 1)]) == pytest.approx(-1)
    assert rank_correlation([(1, 1), (2, 3), (3, 2), (4, 4)]) == pytest.approx(0.8)
    assert rank_correlation([(1, 1), (2, 2)]) is None
    assert rank_correlation([(1, 1), (1, 2), (1, 3)]) is None


def test_the_report() -> None:
    absent = ((2, Failure("b", "not | here")),)
    text = markdown(Run(MACHINE, 0.5, {"a": "a 1.0"}, absent, tuple(OUTCOMES)))
    assert "| a group | 1 | 4.00 | 1.00 | 1.00 | 0.50 (small) |" in text
    assert "| a group | 2 | 0.50 | - | 0.50 | 0.50 (one) |" in text
    assert "| b | 2 | every case | not / here |" in text
    assert "b 5 us, a setting" in text
