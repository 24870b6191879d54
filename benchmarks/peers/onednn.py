"""oneDNN by its own interface: matmul, softmax, convolution, on plain arrays."""

from __future__ import annotations

import ctypes
import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.data import empty
from benchmarks.native import Gemm, gemm, loop
from benchmarks.peers.dnnl import (
    ACCURATE_SOFTMAX,
    BIAS,
    CONVOLUTION,
    INFERENCE,
    QUERY_SOURCE,
    QUERY_TARGET,
    QUERY_WEIGHTS,
    SOURCE,
    TARGET,
    WEIGHTS,
    Dnnl,
    Handle,
    Step,
    dims,
)
from benchmarks.peers.peer import Candidate, Options, UnavailableError, unable
from benchmarks.work import Array, Chain, Conv, Epilogue, Matmul, Scores, Softmax, Work

PLAIN, WEIGHTS_FREE, ALL_FREE = "plain", "weights reordered", "all reordered"
"""The layouts that a primitive reads: those given, or those it prefers, and copies are timed too.
If weights are constant, their copies are not timed."""


class OneDnn:
    """The newest oneDNN without SYCL in a wheel: the library inside PaddlePaddle's."""

    def __init__(self, options: Options) -> None:
        self.dnnl = Dnnl(ctypes.CDLL(str(self.path(options))))
        self.constant_weights = options.weights == "constant"

    def path(self, options: Options) -> Path:
        """The path of the library; raises `UnavailableError`."""
        del options
        wheel = importlib.util.find_spec("paddle")  # found, not imported
        library = (
            Path(wheel.origin).parent / "libs" / "libdnnl.so.3" if wheel and wheel.origin else None
        )
        if library is None or not library.exists():
            raise UnavailableError("pip install --no-deps paddlepaddle, for the oneDNN inside it")
        return library

    def version(self) -> str:
        return self.dnnl.version()

    def prepare(self, work: Work, inputs: Sequence[Array]) -> Sequence[Candidate]:
        out = empty(
            replace(work.output, dtype="i32") if work.output.dtype == "i16" else work.output
        )
        match work:
            case Matmul():
                a, b = inputs
                candidates = self.tried(lambda how: self.matmul(how, a, b, out), out)
                if work.a == "f32":
                    candidates.append(self.sgemm(a, b, out))
                return candidates
            case Epilogue():
                a, b, bias = inputs
                return self.tried(
                    lambda how: self.matmul(how, a, b, out, bias[None, :], work.function), out
                )
            case Chain():
                a, b, c = inputs
                between = np.empty_like(a)
                return self.tried(
                    lambda how: self.matmul(how, a, b, between) + self.matmul(how, between, c, out),
                    out,
                )
            case Scores():
                q, k = inputs
                return self.tried(
                    lambda how: self.matmul(how, q, k, out) + self.softmax(out, out), out
                )
            case Softmax():
                return [self.candidate(PLAIN, self.softmax(inputs[0], out), out)]
            case Conv():
                x, w = inputs
                return self.tried(lambda how: self.convolution(how, x, w, out), out, ALL_FREE)
        raise unable("oneDNN", work)

    def tried(self, steps: Callable[[str], list[Step]], out: Array, *more: str) -> list[Candidate]:
        """A candidate for each choice of layouts."""
        ways = (PLAIN, WEIGHTS_FREE, *more)
        ahead = ", weights ahead" if self.constant_weights else ""
        return [self.candidate(how + ahead * (how != PLAIN), steps(how), out) for how in ways]

    def candidate(self, setting: str, steps: list[Step], out: Array) -> Candidate:
        library = self.dnnl.library
        array = (Step * len(steps))(*steps)
        arguments = (library.dnnl_stream_wait, self.dnnl.stream, array, len(steps))
        repeat = loop("primitives", library.dnnl_primitive_execute, *arguments, keep=(out, self))
        return Candidate("C", setting, repeat, lambda: out)

    def sgemm(self, a: Array, b: Array, out: Array) -> Candidate:
        """`dnnl_sgemm`, which is row-major and takes only plain arrays."""
        calls = (Gemm * 1)(gemm(a, b, out))
        repeat = loop("dnnl_gemms", self.dnnl.library.dnnl_sgemm, calls, 1, keep=(a, b, out))
        return Candidate("C", "dnnl_sgemm", repeat, lambda: out)

    def matmul(
        self, how: str, a: Array, b: Array, out: Array, bias: Array | None = None, then: str = ""
    ) -> list[Step]:
        """A product, with a bias and a function as the epilogue in the same primitive."""
        dnnl = self.dnnl
        plain = [dnnl.layout(x) for x in (a, b, out)]
        weights = plain[1] if how == PLAIN else dnnl.any_layout(b)
        shift = dnnl.layout(bias) if bias is not None else None
        description = dnnl.make(
            "dnnl_matmul_primitive_desc_create", dnnl.engine, plain[0], weights, shift, plain[2],
            dnnl.eltwise_after(then) if then else None,
        )  # fmt: skip
        chosen = dnnl.chosen(description, QUERY_WEIGHTS)
        first, second = self.weights(b, plain[1], chosen, how)
        operands = {SOURCE: dnnl.memory(plain[0], a), WEIGHTS: second}
        if bias is not None and shift is not None:
            operands[BIAS] = dnnl.memory(shift, bias)
        operands[TARGET] = dnnl.memory(plain[2], out)
        return [*first, dnnl.step(description, operands)]

    def given(
        self, array: Array, plain: Handle, chosen: Handle, how: str
    ) -> tuple[list[Step], Handle]:
        """An operand in the chosen layout, and the copy into that layout, if any."""
        dnnl = self.dnnl
        source = dnnl.memory(plain, array)
        if how == PLAIN:
            return [], source
        target = dnnl.buffer(chosen)
        return [dnnl.reorder(source, plain, target, chosen)], target

    def weights(
        self, array: Array, plain: Handle, chosen: Handle, how: str
    ) -> tuple[list[Step], Handle]:
        """`given` for weights; if they are constant, the copy runs now and is not timed."""
        copies, target = self.given(array, plain, chosen, how)
        if not self.constant_weights:
            return copies, target
        for copy in copies:
            self.dnnl.run(copy)
        return [], target

    def softmax(self, x: Array, out: Array) -> list[Step]:
        """The softmax of each row."""
        dnnl = self.dnnl
        source, target = dnnl.layout(x), dnnl.layout(out)
        description = dnnl.make(
            "dnnl_softmax_forward_primitive_desc_create", dnnl.engine, INFERENCE,
            ACCURATE_SOFTMAX, source, target, 1, None,
        )  # fmt: skip
        operands = {SOURCE: dnnl.memory(source, x), TARGET: dnnl.memory(target, out)}
        return [dnnl.step(description, operands)]

    def convolution(self, how: str, x: Array, w: Array, out: Array) -> list[Step]:
        """A convolution, with copies before and after it where layouts are free."""
        dnnl = self.dnnl
        plain = [dnnl.layout(array) for array in (x, w, out)]
        free = {PLAIN: (), WEIGHTS_FREE: (1,), ALL_FREE: (0, 1, 2)}[how]
        wanted = [
            dnnl.any_layout(array) if i in free else plain[i] for i, array in enumerate((x, w, out))
        ]
        description = dnnl.make(
            "dnnl_convolution_forward_primitive_desc_create", dnnl.engine, INFERENCE, CONVOLUTION,
            wanted[0], wanted[1], None, wanted[2], dims([1, 1]), dims([0, 0]), dims([0, 0]),
            dims([0, 0]), None,
        )  # fmt: skip
        queries = (QUERY_SOURCE, QUERY_WEIGHTS, QUERY_TARGET)
        chosen = [dnnl.chosen(description, query) for query in queries]
        ways = [how if i in free else PLAIN for i in range(3)]
        before_x, source = self.given(x, plain[0], chosen[0], ways[0])
        before_w, weights = self.weights(w, plain[1], chosen[1], ways[1])
        result = dnnl.memory(plain[2], out)
        target = dnnl.buffer(chosen[2]) if 2 in free else result
        main = dnnl.step(description, {SOURCE: source, WEIGHTS: weights, TARGET: target})
        after = [dnnl.reorder(target, chosen[2], result, plain[2])] if 2 in free else []
        return [*before_x, *before_w, main, *after]


class AnyOneDnn(OneDnn):
    """A oneDNN given on the command line."""

    def path(self, options: Options) -> Path:
        return Path(str(options.library))
