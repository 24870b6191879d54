"""The programs that come with Morello, to calibrate a machine with when it is first used."""

from __future__ import annotations

from pathlib import Path

PROBES = Path(__file__).with_name("probes")
"""A gzipped JSON file per target: Specs, each an `expression` and its `programs` (schedules)."""


def probes_of(target: str) -> Path:
    """The file of the programs for a target, which may not exist."""
    return PROBES / f"{target}.json.gz"
