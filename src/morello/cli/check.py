"""`morello check`: checks a certificate, with nothing of the search."""

from __future__ import annotations

import argparse
from pathlib import Path

from morello.base.errors import FileError
from morello.base.status import tell
from morello.certificate.check import Checked, check
from morello.cli.arguments import add_json
from morello.cli.hints import hint
from morello.cli.output import print_json, progress
from morello.impl import saved
from morello.impl.tree import cycles


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", type=Path, metavar="PATH", help="the certificate")
    add_json(parser)


def run(arguments: argparse.Namespace) -> None:
    """Check a certificate, and say what it proves."""
    try:
        data = arguments.path.read_bytes()
    except OSError as error:
        raise FileError(f"cannot read {arguments.path}: {error.strerror}.") from None
    with progress():
        tell(phase="check")
        checked = check(data)
    if arguments.json:
        print_json(
            {
                "spec": checked.impl.spec.expression,
                "target": checked.impl.target.name,
                "cost": checked.impl.cost,
                "lower": checked.lower,
                "gap": checked.gap,
                "cheapest": checked.cheapest,
                "relaxed": checked.relaxed,
                "specs": checked.specs,
                "rewrites": checked.rewrites,
                "schedule": saved.save(checked.impl),
            }
        )
        return
    print(_text(checked))
    hint("`morello explain EXPR --html x.html` shows why each other step lost.")


def _text(checked: Checked) -> str:
    impl = checked.impl
    proven = "no program costs less"
    if not checked.cheapest:
        proven = f"no program costs less than {cycles(checked.lower)}, a gap of {checked.gap:.2%}"
    return (
        f"{impl.spec.expression} for {impl.target.name}: the program costs {cycles(impl.cost)} "
        f"cycles, and {proven}.\n"
        f"Derived anew: {checked.specs:,} Specs, {checked.relaxed:,} relaxed Specs, and all "
        f"{checked.rewrites:,} rewrites of those that the proof rests on."
    )
