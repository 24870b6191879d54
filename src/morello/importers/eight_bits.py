"""Floats of 8 bits, which graphs hold, and with which frameworks compute."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import ml_dtypes
import numpy as np

from morello.graph.graph import TensorType

FLOATS: dict[str, np.dtype[Any]] = {
    name: np.dtype(getattr(ml_dtypes, name))
    for name in (
        "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz",
        "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu",
    )
}  # fmt: skip
"""The dtypes by their names, which are also those of torch."""

WHY = "no kernel computes floats of 8 bits"


def any_in_8_bits(types: Iterable[TensorType]) -> bool:
    """Whether some of these tensors have floats of 8 bits.

    No operator may cast such: patterns leave out casts from which nothing but rounding follows.
    """
    return any(kind.dtype in FLOATS.values() for kind in types)
