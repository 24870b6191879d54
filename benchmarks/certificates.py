"""Certificates of the benchmark's Specs: what they take to make and to check, and what they prove.

    python -m benchmarks.certificates [GROUP ...] [--only TEXT] [--target NAME] [--budget S]
                                      [--json PATH]

GROUP is one of the benchmark's (all). Seconds are of the processor. The command fails if a
certificate is not accepted, or proves less than the search said.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TypeVar

from rich.console import Console

from benchmarks.collection import GROUPS, group
from morello.base.errors import MorelloError
from morello.base.files import write_text
from morello.certificate.check import check
from morello.certificate.write import certify
from morello.options import requested
from morello.request import answer
from morello.search.budget import Budget
from morello.search.session import Session

ROUNDING = 1e-9
T = TypeVar("T")


@dataclass(frozen=True)
class Certified:
    """A certificate: the processor's seconds to search, certify and check, its bytes, its gap."""

    expression: str
    search_s: float
    certify_s: float
    check_s: float
    size: int
    gap: float


def expressions(groups: Sequence[str], only: str = "") -> list[str]:
    """The different Specs of these groups that have this text in them."""
    works = (work.expression for name in groups or GROUPS for work in GROUPS[name])
    return [text for text in dict.fromkeys(works) if only in text]


def certified(text: str, target: str, budget: Budget) -> Certified:
    """Search a Spec, certify its program, and check that; raises `MorelloError`."""
    searches: list[Session] = []
    with requested(text, target=target, table="off", budget=budget.seconds) as request:
        kept = replace(request, searched=searches.append)
        (impl, statistics), search_s = _timed(lambda: answer(kept))
    certificate, certify_s = _timed(lambda: certify(impl, budget, searches=searches))
    checked, check_s = _timed(lambda: check(certificate))
    assert statistics is not None and checked.gap <= statistics.gap + ROUNDING, text
    return Certified(text, search_s, certify_s, check_s, len(certificate), checked.gap)


def _timed(work: Callable[[], T]) -> tuple[T, float]:
    began = time.process_time()
    return work(), time.process_time() - began


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    arguments = _parser().parse_args(argv)
    console = Console(highlight=False)
    rows: list[Certified] = []
    failures = 0
    console.print(" search s  certify s  check s        kB    gap")
    for row in _rows(arguments):
        if isinstance(row, Certified):
            rows.append(row)
            console.print(_line(row), markup=False, soft_wrap=True)
        else:
            failures += 1
            console.print(row, markup=False, soft_wrap=True)
    console.print(f"{len(rows)} certificates were accepted, {failures} could not be made.")
    if arguments.json:
        write_text(arguments.json, json.dumps([asdict(row) for row in rows], indent=1) + "\n")
    return int(failures > 0)


def _rows(arguments: argparse.Namespace) -> Iterator[Certified | str]:
    """The certificates, or the reasons why there are none."""
    budget = Budget(arguments.budget)
    for text in expressions(arguments.groups, arguments.only):
        try:
            yield certified(text, arguments.target, budget)
        except MorelloError as error:
            yield f"{text}: {error}"


def _line(row: Certified) -> str:
    return (
        f"{row.search_s:9.2f} {row.certify_s:10.2f} {row.check_s:8.2f} {row.size / 1e3:9.1f} "
        f"{row.gap:6.1%}  {row.expression}"
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.certificates",
        description="Certificates of the benchmark's Specs, made and checked.",
    )
    parser.add_argument("groups", nargs="*", type=group, metavar="GROUP", help="groups (all)")
    parser.add_argument("--only", default="", metavar="TEXT", help="Specs with this text")
    parser.add_argument("--target", default="native", help="the machine (native)")
    parser.add_argument("--budget", type=float, default=20.0, help="seconds for each search (20)")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write the rows there")
    return parser


if __name__ == "__main__":
    sys.exit(main())
