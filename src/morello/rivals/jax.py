"""JAX: the expression compiled by `jax.jit`, on arrays that are on the device already."""

from __future__ import annotations

import os
import sys
from typing import Any

import numpy as np

from morello.rivals.functions import function_of
from morello.rivals.rival import RacedExpression, Rival


def prepare(raced: RacedExpression) -> Rival:
    """The compiled expression; XLA keeps the threads that it had when JAX was imported first."""
    if "jax" not in sys.modules:
        os.environ |= {"JAX_PLATFORMS": "cpu", "NPROC": str(raced.threads)}
        if raced.threads == 1:
            os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")
    import jax

    from morello.rivals.jax_functions import FUNCTIONS

    function, dtype = function_of(raced.sequence, FUNCTIONS, "JAX"), raced.sequence.dtype.np

    expression: Any = jax.jit(lambda *arrays: function(*arrays).astype(dtype))
    held = [jax.device_put(np.ascontiguousarray(array)) for array in raced.inputs]
    return Rival(
        f"jax {jax.__version__}", lambda: expression(*held).block_until_ready(), np.asarray
    )
