"""TVM, tuned by MetaSchedule for the number of trials given on the command line."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.data import empty
from benchmarks.peers.peer import Candidate, Options, UnavailableError, from_python, unable
from benchmarks.work import Array, Chain, Conv, Matmul, Work

PATIENCE_S = 200
"""Each trial builds in a separate process, which takes long to start on a busy machine."""


class Tvm:
    """Products and convolutions of f32, tuned for each case; the tuning time is reported."""

    def __init__(self, options: Options) -> None:
        try:
            import tvm
            from tvm import te
            from tvm.s_tir import meta_schedule
        except ImportError as problem:
            raise UnavailableError(f"pip install apache-tvm ({problem})") from None
        self.tvm: Any = tvm
        self.te: Any = te
        self.tuner: Any = meta_schedule
        self.options = options
        cpu = tvm.get_global_func("target.llvm_get_system_cpu")()
        self.target: Any = tvm.target.Target(
            {"kind": "llvm", "mcpu": cpu, "num-cores": options.threads}
        )

    def version(self) -> str:
        trials = self.options.trials
        return f"tvm {self.tvm.__version__}, {self.target.attrs['mcpu']}, {trials} trials"

    def prepare(self, work: Work, inputs: Sequence[Array]) -> Sequence[Candidate]:
        began = time.perf_counter()
        module = self.tuned(self.function(work))
        spent = time.perf_counter() - began
        run = module["main"]
        out = empty(work.output)
        tensors = [self.tvm.runtime.tensor(np.ascontiguousarray(x)) for x in (*inputs, out)]

        def call() -> Any:
            run(*tensors)
            return tensors[-1]

        setting = f"MetaSchedule, tuned for {spent:.0f} s"
        candidate = from_python(setting, call, lambda tensor: tensor.numpy())
        return [replace(candidate, narrows=False)]

    def tuned(self, function: Any) -> Any:
        """Build the fastest program that the tuner finds; raises `UnavailableError` if none."""
        with tempfile.TemporaryDirectory(prefix="morello-tvm-") as folder:
            database = self.tuner.tune_tir(
                function, self.target, folder, self.options.trials,
                num_tuning_cores=self.options.threads,
                builder=self.tuner.builder.LocalBuilder(timeout_sec=PATIENCE_S),
                runner=self.tuner.runner.LocalRunner(timeout_sec=PATIENCE_S),
            )  # fmt: skip
            schedule = self.tuner.tir_integration.compile_tir(database, function, self.target)
        if schedule is None:
            raise UnavailableError(f"no program in {self.options.trials} trials")
        return self.tvm.compile(schedule.mod, self.target)

    def function(self, work: Work) -> Any:
        """The function to tune; raises `UnavailableError` if there is none for this work."""
        match work:
            case Matmul(a="f32", m=m, k=k, n=n):
                a, b = self.placeholders(work)
                return self.te.create_prim_func([a, b, self.product(a, b, (m, k, n))])
            case Chain(n=n):
                a, b, c = self.placeholders(work)
                first = self.product(a, b, (n, n, n))
                return self.te.create_prim_func([a, b, c, self.product(first, c, (n, n, n))])
            case Conv():
                x, w = self.placeholders(work)
                return self.te.create_prim_func([x, w, self.convolution(work, x, w)])
        raise unable("what is tuned here of TVM", work)

    def placeholders(self, work: Work) -> list[Any]:
        """Placeholders for the inputs."""
        names = [f"in{i}" for i in range(len(work.inputs))]
        return [
            self.te.placeholder(operand.shape, "float32", name=name)
            for name, operand in zip(names, work.inputs, strict=True)
        ]

    def product(self, a: Any, b: Any, sizes: tuple[int, int, int]) -> Any:
        te, (m, k, n) = self.te, sizes
        r = te.reduce_axis((0, k), name="r")
        return te.compute((m, n), lambda i, j: te.sum(a[i, r] * b[r, j], axis=r))

    def convolution(self, work: Conv, x: Any, w: Any) -> Any:
        te = self.te
        c = te.reduce_axis((0, work.channels), name="c")
        u, v = (te.reduce_axis((0, work.kernel), name=name) for name in "uv")
        return te.compute(
            work.output.shape,
            lambda b, f, i, j: te.sum(x[b, c, i + u, j + v] * w[f, c, u, v], axis=[c, u, v]),
        )
