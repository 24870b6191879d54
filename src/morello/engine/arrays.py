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
