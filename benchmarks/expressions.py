"""Thirty expressions as people write them in NumPy, and how fast `morello.jit` computes them.

The first 21 are of the kinds that STENSO (Tensor Program Superoptimization through Cost-Guided
Symbolic Program Synthesis, CGO 2026) took from public code, by their names there.

python -m benchmarks.expressions [NAME...] [--size 256] [--seconds 0.2] [--threads 1]

Both take turns, and the last line is the geometric mean of all ratios.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from statistics import geometric_mean
from typing import Any

import numpy as np
import numpy.typing as npt

import morello
from morello.measure.timing import limit_threads, measure

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Expression:
    """A function of arrays, and their shapes: "nn n" are a matrix and a vector of one size."""

    name: str
    function: Callable[..., Any]
    shapes: str

    def arrays(self, size: int, generator: np.random.Generator) -> list[Array]:
        """Random arguments; the dimension `h` is of a few heads, `d` of 64 or fewer elements."""
        sizes = {"n": size, "h": 4, "d": min(size, 64)}
        shapes = [tuple(sizes[letter] for letter in shape) for shape in self.shapes.split()]
        return [generator.uniform(0.1, 1.0, shape).astype(np.float32) for shape in shapes]


def _reshape_dot(a: Array, b: Array) -> Any:
    rows, columns, inner = a.shape
    return (a.reshape(rows, columns, 1, inner) @ b).reshape(rows, columns, b.shape[1])


def _cosine(a: Array, b: Array) -> Any:
    return np.sum(a * b, axis=1) / (np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1))


def _layer_norm(x: Array, gamma: Array, beta: Array) -> Any:
    mean = x.mean(axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5) * gamma + beta


def _softmax(x: Array) -> Any:
    exponentials = np.exp(x - x.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def _attention(q: Array, k: Array, v: Array) -> Any:
    return _softmax(q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])) @ v


def _gelu(x: Array) -> Any:
    return 0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x**3)))


EXPRESSIONS = (
    Expression("diag_dot", lambda a, b: np.diag(a @ b), "nn nn"),
    Expression("elem_square", lambda a: np.power(a, 2), "nn"),
    Expression("log_exp_1", lambda a: np.log(np.exp(a)), "nn"),
    Expression("log_exp_2", lambda a, b: np.exp(np.log(a) + np.log(b)), "nn nn"),
    Expression("mat_vec_prod", lambda a, x: np.sum(a * x, axis=1), "nn n"),
    Expression("dot_trans_1", lambda a, b: np.dot(a.T, b.T).T, "nn nn"),
    Expression("scalar_sum", lambda a: np.sum(2.5 * a), "nn"),
    Expression("vec_lerp", lambda a, x, y: np.stack([t * x + (1 - t) * y for t in a]), "hn n n"),
    Expression("euclidian_dist", lambda x: np.sum(np.power(x, 2), axis=-1), "n"),
    Expression("common_factor", lambda a, b, c: a * b + c * b, "nn nn nn"),
    Expression("inner_prod", lambda x, y: np.sum(x * y), "n n"),
    Expression("scale_dot", lambda a, b: 3 * a @ b, "nn nn"),
    Expression("reshape_dot", _reshape_dot, "hnd dd"),
    Expression("power_neg", lambda a: np.power(a, -1), "nn"),
    Expression("dot_trans_2", lambda a, b: (a.T @ b).T, "nn nn"),
    Expression("reorder_dot", lambda a, x: x.T @ a @ x, "nn n"),
    Expression("trace_dot", lambda a, b: np.trace(a @ b.T), "nn nn"),
    Expression("sum_stack", lambda a, b, c: np.sum(np.stack([a, b, c]), axis=0), "nn nn nn"),
    Expression("sum_sum", lambda a: np.sum(np.sum(a, axis=0), axis=0), "nn"),
    Expression("sum_diag_dot", lambda a, b: np.sum(np.diag(np.dot(a, b))), "nn nn"),
    Expression("max_stack", lambda a, b: np.max(np.stack([a, b]), axis=0), "nn nn"),
    Expression("polynomial", lambda x: x**4 + 3 * x**3 - 2 * x**2 + x - 1, "nn"),
    Expression("normalize", lambda x: x / np.sqrt(np.sum(x * x, axis=1, keepdims=True)), "nn"),
    Expression("rbf", lambda x, c: np.exp(-0.5 * np.square(x - c).sum(axis=-1)), "nn n"),
    Expression("cosine", _cosine, "nn nn"),
    Expression("logistic", lambda x, w, b: 1 / (1 + np.exp(-(x @ w + b))), "nn nd d"),
    Expression("gelu", _gelu, "nn"),
    Expression("softmax", _softmax, "nn"),
    Expression("layer_norm", _layer_norm, "nn n n"),
    Expression("attention", _attention, "hnd hnd hnd"),
)


def main() -> None:
    """Print the times of NumPy and of `morello.jit`, and the geometric mean of their ratios."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("names", nargs="*", help="expressions (default: all)")
    parser.add_argument("--size", type=int, default=256, help="elements along a dimension")
    parser.add_argument("--seconds", type=float, default=0.2, help="of calls, of each")
    parser.add_argument("--threads", type=int, default=1, help="of kernels, and of NumPy's BLAS")
    options = parser.parse_args()
    ratios = []
    for expression in EXPRESSIONS:
        if options.names and expression.name not in options.names:
            continue
        arrays = expression.arrays(options.size, np.random.default_rng(0))
        jitted = morello.jit(expression.function, threads=options.threads)
        jitted(*arrays)
        calls = {
            "morello": partial(jitted, *arrays),
            "numpy": partial(expression.function, *arrays),
        }
        with limit_threads(options.threads):
            timings = measure(calls, seconds=options.seconds, pin=options.threads == 1)
        ours, theirs = (timings[name].median_s for name in calls)
        ratios.append(theirs / ours)
        first, *_ = str(morello.report(jitted)).partition("\n")
        what = first.partition("): ")[2].partition(", as ")[0]
        print(
            f"{expression.name:15} numpy {theirs * 1e6:9.2f} us  morello {ours * 1e6:9.2f} us"
            f"  {theirs / ours:6.2f} times as fast  ({what})",
            flush=True,
        )
    print(f"geometric mean of {len(ratios)}: {geometric_mean(ratios):.2f} times as fast as NumPy")


if __name__ == "__main__":
    main()
