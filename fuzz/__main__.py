"""The command line: run fuzzers for some time, or run one case.

python -m fuzz [KIND...] [--seconds 60] [--seed N] [--count N] [-j 2] [--json]
python -m fuzz KIND --case CASE
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from fuzz.campaign import Campaign
from fuzz.kinds import KINDS
from fuzz.process import ROOT, CaseWorker
from fuzz.report import Progress, data, summary, tell
from morello.base.workers import StartError

FOUND, USAGE_ERROR, INTERRUPTED = 1, 2, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code: 1 if there are findings."""
    parser = _parser()
    arguments = parser.parse_args(argv)
    console = Console(stderr=True, highlight=False)
    folder = Path(tempfile.mkdtemp(prefix="morello-fuzz-"))
    try:
        if arguments.case is not None:
            if len(arguments.kinds) != 1:
                parser.error("a case is of one kind: python -m fuzz KIND --case CASE")
            return _one(arguments.kinds[0], arguments.case, folder, console)
        return _many(arguments, folder, console)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _one(kind: str, case: str, folder: Path, console: Console) -> int:
    """Run one case and print its outcome."""
    with CaseWorker(folder / "0", environment(folder)) as worker:
        outcome = worker.check(kind, case, KINDS[kind].patience_s)
    if outcome.name != "fault":
        console.print(outcome.name)
        return 0
    console.print(f"{outcome.sort}: {outcome.detail}", markup=False, soft_wrap=True)
    return FOUND


def _many(arguments: argparse.Namespace, folder: Path, console: Console) -> int:
    seed = random.SystemRandom().randrange(10**6) if arguments.seed is None else arguments.seed
    kinds = [KINDS[name] for name in dict.fromkeys(arguments.kinds or KINDS)]
    console.print(f"seed {seed}: {', '.join(kind.name for kind in kinds)}")
    code = 0
    with Progress(console) as progress:
        campaign = Campaign(
            kinds, seed, folder, environment(folder), seconds=arguments.seconds,
            count=arguments.count, first=arguments.first, workers=arguments.workers,
            on_progress=lambda: progress.tell(campaign),
        )  # fmt: skip
        try:
            campaign.run()
        except KeyboardInterrupt:
            code = INTERRUPTED
        except StartError as error:
            console.print(f"fuzz: {error}", markup=False, soft_wrap=True)
            code = USAGE_ERROR
    for finding in campaign.findings:
        tell(finding, console)
    console.print(summary(campaign))
    if arguments.json:
        print(json.dumps(data(campaign), indent=1))
    return code or (FOUND if campaign.findings else 0)


def environment(folder: Path) -> dict[str, str]:
    """The environment of workers: a kernel cache in this folder, the default costs, no table."""
    paths = [str(ROOT / "src"), str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return os.environ | {
        "PYTHONPATH": os.pathsep.join(paths),
        "MORELLO_CACHE": str(folder / "cache"),
        "MORELLO_CALIBRATION": "off",
        "MORELLO_TABLE": "off",
        "TMPDIR": str(folder),
        "OPENBLAS_NUM_THREADS": "1",
    }


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description="Try to break Morello.")
    parser.add_argument("kinds", nargs="*", metavar="KIND", type=_kind,
                        help=f"of {', '.join(KINDS)} (all)")  # fmt: skip
    parser.add_argument("--seconds", type=float, default=60.0, help="to go on for (60)")
    parser.add_argument("--seed", type=int, help="of the cases (random, and printed)")
    parser.add_argument("--count", type=int, help="cases of each kind, at most")
    parser.add_argument("--first", type=int, default=0, help="the number of the first case (0)")
    parser.add_argument("-j", "--workers", type=int, default=1, help="processes (1)")
    parser.add_argument("--case", help="try this case of a kind, and no other")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser


def _kind(name: str) -> str:
    if name not in KINDS:
        raise argparse.ArgumentTypeError(f"no kind {name!r}; the kinds are: {', '.join(KINDS)}")
    return name


if __name__ == "__main__":
    sys.exit(main())
