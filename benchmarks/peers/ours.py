"""Morello itself, called from C and from Python."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import morello
from benchmarks.data import empty
from benchmarks.native import on_pointers
from benchmarks.peers.peer import Candidate, Options, UnavailableError, from_python
from benchmarks.work import Array, Work
from morello.base.errors import MorelloError
from morello.native.toolchain import find_compiler


class Morello:
    """Kernels found by search; Morello verifies each as well."""

    def __init__(self, options: Options) -> None:
        self.options = options

    def version(self) -> str:
        return f"morello {morello.__version__}, {find_compiler()}"

    def prepare(self, work: Work, inputs: Sequence[Array]) -> Sequence[Candidate]:
        options = self.options
        try:
            kernel = morello.compile(
                work.expression,
                threads=options.threads,
                table=options.table,
                measure=options.measure,
                weights=options.weights,
            )
        except MorelloError as error:
            raise UnavailableError(str(error)) from None
        if options.weights == "constant":
            names = [argument.name for argument in kernel.arguments]
            inputs = [kernel.pack(name, x) for name, x in zip(names, inputs, strict=False)]
        out = empty(work.output)
        bits = [x.view(a.raw) for x, a in zip(inputs, kernel.arguments, strict=False)]
        raw = out.view(kernel.arguments[-1].raw)
        statistics = kernel.statistics
        facts = {
            "search_s": statistics.seconds if statistics else 0.0,
            "specs": statistics.specs if statistics else 0,
            "cycles": kernel.impl.cost,
        }
        called = on_pointers(kernel.address, [*inputs, out], keep=kernel)
        python = from_python("kernel.fast", lambda: kernel.fast(*bits, raw), lambda _: out)
        return [
            Candidate("C", "the C function", called, lambda: out, facts, narrows=False),
            replace(python, narrows=False),
        ]
