"""JAX: the expression compiled by `jax.jit`, on arrays that are on the device already."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from morello.rivals.functions import function_of
from morello.rivals.jax_functions import FUNCTIONS
from morello.rivals.rival import RacedExpression, Rival


def prepare(raced: RacedExpression) -> Rival:
    """The compiled expression; the environment of the process sets XLA's threads."""
    function, dtype = function_of(raced.sequence, FUNCTIONS, "JAX"), raced.sequence.dtype.np

    expression: Any = jax.jit(lambda *arrays: function(*arrays).astype(dtype))
    held = [jax.device_put(np.ascontiguousarray(array)) for array in raced.inputs]
    return Rival(
        f"jax {jax.__version__}", lambda: expression(*held).block_until_ready(), np.asarray
    )
