"""Operands whose neighbours stay along the same dimension where Specs are relaxed."""

from __future__ import annotations

Kept = tuple[str, ...]
"""The names of the operands whose neighbours are kept; or `EVERY`, or `NONE`."""

EVERY: Kept = ("every operand",)
NONE: Kept = ()


def keeps(kept: Kept, operand: str) -> bool:
    """Whether the neighbours of an operand are kept."""
    return kept == EVERY or operand in kept
