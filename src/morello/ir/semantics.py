"""What operations compute, on NumPy arrays: the reference that kernels are checked against."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from morello.ir.operation import Operation

Array = npt.NDArray[np.floating[Any]]


def reference(operation: Operation) -> Callable[..., Array]:
    """The function of the inputs that an operation which overwrites its output computes."""
    if operation.name.endswith("Matmul"):
        return np.matmul
    raise ValueError(f"{operation} has no reference")
