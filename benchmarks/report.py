"""The report of a run, as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks.results import Entry, Outcome, Run
from benchmarks.summary import (
    BEST,
    best_peer,
    memory_bound,
    predicted_s,
    rank_correlation,
    scores,
    share,
)
from morello.base.wording import counted
from morello.cli.output import readable, size_text


def markdown(run: Run) -> str:
    """The report of a run."""
    return "\n".join(
        [
            "# Morello against its peers",
            "",
            *_setting(run),
            "",
            "## Summary",
            "",
            "Geometric means of (peer's time / ours), above 1 where we are faster, and the lowest.",
            "",
            *_summary(run),
            "",
            *_groups(run),
            "## What was not measured",
            "",
            *_failures(run),
            "",
        ]
    )


def _setting(run: Run) -> Iterator[str]:
    machine = run.machine
    yield f"{machine.cpu}, {machine.cores} CPUs, {machine.ghz:.2f} GHz. {run.seconds:g} s for each "
    yield "implementation and case, in turns, each in a process of its own; medians."
    yield ""
    yield from _table(
        ["threads", "f32 GFLOP/s", "bf16", "u8 x i8 GOP/s", "reads, GB/s by working set"],
        [
            [
                str(threads),
                *(f"{peak.gops[dtype]:.0f}" if peak.gops[dtype] else "-" for dtype in peak.gops),
                ", ".join(f"{size_text(size)} {rate:.0f}" for size, rate in peak.reads.items()),
            ]
            for threads, peak in machine.peaks.items()
        ],
    )
    yield ""
    calls = ", ".join(f"{what} {ns:.0f} ns" for what, ns in machine.call_ns.items())
    yield f"An empty call: {calls}."
    yield ""
    yield from _table(["peer", "version"], [[k, v] for k, v in run.versions.items()])


def _summary(run: Run) -> Iterator[str]:
    results = scores(run.outcomes)
    peers = [*dict.fromkeys(s.peer for s in results if s.peer != BEST), BEST]
    rows = []
    for key in dict.fromkeys((s.group, s.threads) for s in results):
        by_peer = {s.peer: s for s in results if (s.group, s.threads) == key}
        best = by_peer[BEST]
        cells = [f"{by_peer[p].mean:.2f}" if p in by_peer else "-" for p in peers]
        rows.append([key[0], str(key[1]), *cells, f"{best.lowest:.2f} ({best.worst_case})"])
    yield from _table(["group", "threads", *peers, "lowest"], rows)
    pairs = [
        (predicted, ours.median_s)
        for o in run.outcomes
        if o.threads == 1 and (ours := o.ours("C")) and (predicted := predicted_s(o, run.machine))
    ]
    correlation = rank_correlation(pairs)
    if correlation is not None:
        yield ""
        yield f"Rank correlation of predicted and measured time, one thread: {correlation:.3f}."


def _groups(run: Run) -> Iterator[str]:
    for group, threads in dict.fromkeys((o.group, o.threads) for o in run.outcomes):
        here = [o for o in run.outcomes if (o.group, o.threads) == (group, threads)]
        peers = list(dict.fromkeys(e.peer for o in here for e in o.entries if not e.ours))
        yield f"## {group}, {counted(threads, 'thread')}"
        yield ""
        headings = ["size", "ours", "rate", "of the machine", "best peer", *peers]
        headings += ["predicted", "search"]
        yield from _table(headings, [_row(run, o, peers) for o in here])
        yield ""


def _row(run: Run, outcome: Outcome, peers: Sequence[str]) -> list[str]:
    ours = outcome.ours("C")
    ratios = outcome.ratios
    best = best_peer(outcome)
    predicted = predicted_s(outcome, run.machine)
    search = outcome.facts.get("search_s")
    bound = "memory" if memory_bound(outcome, run.machine) else "products"
    return [
        outcome.size,
        readable(ours.median_s) if ours else "-",
        _rate(run, outcome, ours) if ours else "-",
        f"{share(outcome, ours, run.machine):.0%} ({bound})" if ours else "-",
        f"{best.peer} {readable(best.median_s)}, {best.setting}" if best else "-",
        *(f"{ratios[p]:.2f}" if p in ratios else _time_alone(outcome, p) for p in peers),
        f"{predicted / ours.median_s:.2f}" if predicted and ours else "-",
        f"{search:.2f} s" if search is not None else "-",
    ]


def _time_alone(outcome: Outcome, peer: str) -> str:
    """A peer's time, for cases where Morello has none to compare with."""
    entry = next((e for e in outcome.entries if e.peer == peer), None)
    return readable(entry.median_s) if entry else "-"


def _rate(run: Run, outcome: Outcome, entry: Entry) -> str:
    if memory_bound(outcome, run.machine):
        return f"{outcome.bytes / entry.median_s / 1e9:.1f} GB/s"
    return f"{outcome.flops / entry.median_s / 1e9:.0f} GOP/s"


def _failures(run: Run) -> Iterator[str]:
    rows = [[f.peer, str(threads), "every case", f.why] for threads, f in run.absent]
    rows += [
        [f.peer, str(o.threads), f"{o.group} {o.size}", f.why]
        for o in run.outcomes
        for f in o.failures
    ]
    if rows:
        yield from _table(["peer", "threads", "case", "why"], rows)
    else:
        yield "Nothing: every peer did every case."


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(headings)} |"
    yield "|" + "-|" * len(headings)
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', '/') for cell in row)} |"
