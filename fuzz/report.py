"""Reports of a campaign, for people and as JSON."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.table import Table

from fuzz.adversary import OVER_BUDGET, REFUSED
from fuzz.campaign import Campaign, Finding


class Progress:
    """A live table on a terminal; nothing if the output is no terminal."""

    def __init__(self, console: Console) -> None:
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._shown = console.is_terminal

    def __enter__(self) -> Progress:
        if self._shown:
            self._live.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._live.stop()

    def tell(self, campaign: Campaign) -> None:
        if self._shown:
            self._live.update(summary(campaign), refresh=True)


def summary(campaign: Campaign) -> Table:
    """A table with a line for each kind."""
    table = Table(box=None, pad_edge=False)
    for heading in ("", "cases", "refused", "out of budget", "faults", "cases/s"):
        table.add_column(heading, justify="left" if not heading else "right")
    for name, score in campaign.scores.items():
        rate = score.cases / score.seconds if score.seconds else 0.0
        faults = f"[bold red]{score.faults}[/]" if score.faults else "0"
        counts = (score.cases, score.outcomes[REFUSED], score.outcomes[OVER_BUDGET])
        table.add_row(name, *(f"{count:,}" for count in counts), faults, f"{rate:,.3g}")
    return table


def tell(finding: Finding, console: Console) -> None:
    """Print a finding, with the command that reproduces it."""
    console.print(
        f"[bold red]{escape(finding.kind)}: {escape(finding.sort)}[/] "
        f"(seed {finding.seed}, case {finding.number}, {finding.times} times)",
        soft_wrap=True,
    )
    console.print(f"  {escape(finding.detail)}", soft_wrap=True)
    console.print(f"  {escape(finding.line)}", soft_wrap=True)


def data(campaign: Campaign) -> dict[str, Any]:
    """The campaign as JSON-able data."""
    return {
        "seed": campaign.seed,
        "kinds": {
            name: {
                "cases": score.cases,
                "seconds": round(score.seconds, 3),
                "outcomes": dict(score.outcomes),
            }
            for name, score in campaign.scores.items()
        },
        "findings": [
            {
                "kind": finding.kind, "seed": finding.seed, "case": finding.number,
                "sort": finding.sort, "detail": finding.detail, "times": finding.times,
                "line": finding.line,
            }
            for finding in campaign.findings
        ],
    }  # fmt: skip
