"""Flat arrays, and the cost that stands for "no program"."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.integer[Any]]
Floats = npt.NDArray[np.floating[Any]]
Bools = npt.NDArray[np.bool_]

INFINITE = 1e30

NEARLY = 1 + 1e-9
"""Costs that differ by less than this factor count as equal, as they are sums that are rounded."""

ROUNDING = 1 - 2.0**-20
"""A factor just below 1, so that no bound of an edge exceeds the exact one when it is rounded to
single precision."""
