"""Functions written in NumPy, computed by kernels."""

from collections.abc import Callable
from typing import Any

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


EXPRESSIONS: dict[str, Callable[..., Any]] = {
    "diagonal": lambda a, b: np.diag(a @ b),
    "trace": lambda a, b: np.trace(a @ b.T),
    "logarithms": lambda a, b: np.exp(np.log(a) + np.log(b)),
    "factor": lambda a, b: a * b + 3 * b,
    "stack": lambda a, b: np.max(np.stack([a, b]), axis=0),
}
"""Expressions as people write them; most are among those of STENSO, a superoptimizer."""


def main() -> None:
    random = np.random.default_rng(0)
    x, w, b = (random.standard_normal(shape, np.float32) for shape in ((64, 32), (32, 16), 16))
    first = block(x, w, b)  # NumPy's results: the kernels are compiled, and compared with them
    again = block(x, w, b)  # one call of C
    print(morello.report(block))
    print(f"largest error: {np.abs(again - first).max():.1e}")

    matrices = [random.uniform(0.5, 1, (24, 24)).astype(np.float32) for _ in range(2)]
    for name, function in EXPRESSIONS.items():
        fast = morello.jit(function, gap=0.1)
        fast(*matrices)
        error = np.abs(fast(*matrices) - function(*matrices)).max()
        assert error < 1e-4
        print(f"{name}: largest error: {error:.1e}")


main()
