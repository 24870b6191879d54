"""Arguments of the study's commands that are corpora, and how all of its commands end."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from morello.base.errors import MorelloError
from morello.base.workers import processor_s

USAGE_ERROR, INTERRUPTED = 2, 130


def run_on_corpora(
    name: str,
    description: str,
    run: Callable[[Sequence[Path], int | None], None],
    argv: Sequence[str] | None,
) -> int:
    """Run a command on corpora, and at most so many programs of each Spec, as its arguments say.

    Returns its exit code.
    """
    arguments = corpora_parser(name, description).parse_args(argv)
    return exit_code(name, lambda: run(arguments.corpora, arguments.programs))


def corpora_parser(name: str, description: str) -> argparse.ArgumentParser:
    """A parser of the arguments of a command on corpora."""
    parser = argparse.ArgumentParser(prog=f"python -m {name}", description=description)
    parser.add_argument("corpora", type=Path, nargs="+", metavar="CORPUS")
    parser.add_argument(
        "--programs", type=int, metavar="N", help="at most N of each Spec, 2 or more (all)"
    )
    return parser


def exit_code(name: str, command: Callable[[], None]) -> int:
    """The exit code of a command, which says on stderr what it took, or why it ended early."""
    try:
        command()
        print(f"{name}: {processor_s():.0f} s of the processor.", file=sys.stderr)
    except MorelloError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return USAGE_ERROR
    except KeyboardInterrupt:
        print(f"{name}: interrupted.", file=sys.stderr)
        return INTERRUPTED
    return 0
