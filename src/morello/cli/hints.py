"""Hints at the next command. It imports little, as `morello synth` may take no time."""

from __future__ import annotations

import os
import sys


def hint(text: str) -> None:
    """Print a dimmed hint at the next step, if output goes to a terminal."""
    if sys.stdout.isatty() and sys.stderr.isatty():
        plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
        print(text if plain else f"\x1b[2m{text}\x1b[0m", file=sys.stderr)
