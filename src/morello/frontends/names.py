"""Names of inputs, which generated C has them by."""

from __future__ import annotations

import re

_SAFE = re.compile(r"(?![a-z]\d+$)[A-Za-z][A-Za-z_]{0,30}\d{0,3}", re.ASCII)
"""A letter and a number is what loops are called in generated code."""

_C = """
    auto break case char const continue default do double else enum extern float for goto if
    inline int long register restrict return short signed sizeof static struct switch typedef
    union unsigned void volatile while
"""
_OWN = "begin end environment item items kernel main out piece pool run taken workspace"
_TAKEN = frozenset(f"{_C} {_OWN}".split())
"""Words of C, and names that generated code has for itself."""


def kept(name: str) -> str:
    """The name if generated code may have it, or else none."""
    return name if _SAFE.fullmatch(name) and name not in _TAKEN else ""
