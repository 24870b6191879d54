"""Operands whose neighbours stay along the same dimension where Specs are relaxed."""

from __future__ import annotations

Kept = str
"""The name of the operand whose neighbours are kept; or `EVERY`, or `NONE`."""

EVERY, NONE = "every operand", ""


def keeps(kept: Kept, operand: str) -> bool:
    """Whether the neighbours of an operand are kept."""
    return kept in (EVERY, operand)
