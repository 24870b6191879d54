"""A function written in NumPy, computed by kernels."""

import numpy as np
import numpy.typing as npt

import morello

Array = npt.NDArray[np.float32]


@morello.jit
def block(x: Array, w: Array, b: Array) -> Array:
    """A layer, and the softmax of its rows."""
    hidden = np.maximum(x @ w + b, 0)
    powers = np.exp(hidden - hidden.max(axis=-1, keepdims=True))
    rows: Array = powers / powers.sum(axis=-1, keepdims=True)
    return rows


random = np.random.default_rng(0)
x, w, b = (random.standard_normal(shape, np.float32) for shape in ((64, 32), (32, 16), 16))

first = block(x, w, b)  # NumPy's results: the kernels are compiled, and compared with them
again = block(x, w, b)  # one call of C
print(morello.report(block))
print(f"largest error: {np.abs(again - first).max():.1e}")
