"""JAX: XLA's compiler for CPUs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks.peers.peer import Candidate, Options, UnavailableError, from_python
from benchmarks.work import Array, Chain, Conv, Epilogue, Matmul, Scores, Work


class Jax:
    """Functions compiled by `jit`, on inputs that are on the device already, until ready."""

    def __init__(self, options: Options) -> None:
        del options  # the environment of its process sets the threads
        try:
            import jax
        except ImportError:
            raise UnavailableError("pip install jax") from None
        self.jax: Any = jax

    def version(self) -> str:
        import jaxlib

        return f"jax {self.jax.__version__}, jaxlib {jaxlib.__version__}"

    def prepare(self, work: Work, inputs: Sequence[Array]) -> Sequence[Candidate]:
        held = [self.jax.device_put(np.ascontiguousarray(x)) for x in inputs]
        candidates = []
        if isinstance(work, Matmul) and work.b_by_columns:
            flipped = self.jax.device_put(np.ascontiguousarray(inputs[1].T))
            compiled = self.jax.jit(lambda a, b: self.dot(a, b.T, "float32"))
            candidates.append(self.called("jit, of the transposed", compiled, [held[0], flipped]))
            return candidates
        for setting, function in self.functions(work):
            candidates.append(self.called(setting, self.jax.jit(function), held))
        return candidates

    def called(self, setting: str, function: Callable[..., Any], held: Sequence[Any]) -> Candidate:
        return from_python(setting, lambda: function(*held).block_until_ready(), np.asarray)

    def dot(self, a: Any, b: Any, dtype: str) -> Any:
        return self.jax.numpy.matmul(a, b, preferred_element_type=dtype)

    def functions(self, work: Work) -> Sequence[tuple[str, Callable[..., Any]]]:
        """The functions to compile, each with a name for the report."""
        nn, lax, jnp = self.jax.nn, self.jax.lax, self.jax.numpy
        match work:
            case Matmul(a="u8"):
                c = {"i32": "int32", "i16": "int16"}[work.c]
                ways = [("jit, of i32", lambda a, b: (a.astype("i4") @ b.astype("i4")).astype(c))]
                if work.k * 255 * 128 <= 2**24:  # f32 holds the sums

                    def through(a: Any, b: Any) -> Any:
                        return (a.astype("f4") @ b.astype("f4")).astype("i4").astype(c)

                    ways.append(("jit, of f32", through))
                return ways
            case Matmul():
                return [("jit", lambda a, b: self.dot(a, b, "float32"))]
            case Chain():
                return [("jit", lambda a, b, c: (a @ b) @ c)]
            case Epilogue(function="relu"):
                return [("jit", lambda a, b, bias: nn.relu(a @ b + bias))]
            case Epilogue():
                return [("jit", lambda a, b, bias: nn.gelu(a @ b + bias, approximate=False))]
            case Scores():
                return [("jit", lambda q, k: nn.softmax(q @ k, axis=-1))]
            case Conv():
                return [("jit", lambda x, w: lax.conv_general_dilated(x, w, (1, 1), "VALID"))]
        return [("jit", lambda x: nn.softmax(jnp.asarray(x), axis=-1))]
