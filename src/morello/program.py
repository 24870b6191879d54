"""A text that takes several kernels, compiled to one function, as users call it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np

from morello.base.errors import (
    SearchError,
    SeveralKernelsError,
    SpecError,
    VerificationError,
)
from morello.base.memory import allocatable
from morello.base.wording import counted
from morello.codegen.linking import linkable
from morello.codegen.sequence import ArrayType, ImplCall, generate_sequence
from morello.codegen.source import Source
from morello.graph.frameworks import C
from morello.graph.graph import Node
from morello.graph.interpreter import evaluate, random_values
from morello.graph.operators import Cast, PrimitiveOperator
from morello.importers.text import TextGraph, order_in_memory, text_graph
from morello.ir.computation import Tensor, letter
from morello.ir.functions import COMPARISONS
from morello.kernel import Kernel
from morello.measure.load import GIL_CYCLES
from morello.models.compiling import CompiledGraph, compile_graph
from morello.models.export import only_segment, tolerance_of
from morello.models.segment import Segment
from morello.native.build import build
from morello.native.toolchain import arch_flags
from morello.options import Options
from morello.runtime.argument import Argument, row_major_strides
from morello.runtime.load import MAX_ARGUMENTS
from morello.runtime.parts import ELEMENT_BYTES
from morello.runtime.threads import attach
from morello.runtime.verified import mark_verified, verified_error

MOST_JUMPS = 0.01
"""The share of elements that may differ if functions jump, as `floor` does: rounding moves some."""

JUMPING = frozenset({*COMPARISONS, "ceil", "floor", "quotient", "remainder", "round", "sign"})


@dataclass(frozen=True)
class KernelSequence:
    """The text and the kernels of a program, the latter in the order in which they run."""

    text: str
    kernels: tuple[Kernel, ...]
    source: Source

    @property
    def cost(self) -> float:
        return sum(kernel.cost for kernel in self.kernels)

    @property
    def spec(self) -> NoReturn:
        raise self._has_no("Spec")

    @property
    def impl(self) -> NoReturn:
        raise self._has_no("schedule")

    def _has_no(self, what: str) -> SeveralKernelsError:
        return SeveralKernelsError(
            f"{self.text:.200} is a program of {counted(len(self.kernels), 'kernel')}, and has no "
            f"{what}; each of its `kernels` has one."
        )


class TextProgram(Kernel):
    """A text that no single kernel computes, as one function that calls several `kernels`.

    It is called as any kernel. Its `cost` and its `source` are those of all of them, and it has no
    `spec`, `impl` or `statistics`, as each of the kernels has.
    """

    __slots__ = ()

    program: KernelSequence

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """The kernels in the order in which they run; one may run several times."""
        return self.program.kernels

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError(
            f"{self!r} cannot be pickled; compile its text where it is needed, as its kernels are "
            "remembered."
        )

    def __repr__(self) -> str:
        count = counted(len(self.kernels), "kernel")
        return f"<morello.TextProgram {self.program.text:.200} of {count}>"


def compile_program(
    text: str, options: Options, *, verify: bool = True, name: str = "kernel"
) -> TextProgram:
    """The program of a text, each of whose kernels is found and verified; raises `MorelloError`.

    The options are those of `compile`, and `name` is that of the function in C. To verify, the
    whole is compared with NumPy in float64 as well, if that does not take too much memory.
    """
    read = text_graph(text)
    if len(read.inputs) >= MAX_ARGUMENTS:
        raise SpecError(
            f"this takes {len(read.inputs)} tensors, and a function takes {MAX_ARGUMENTS - 1}; "
            "`morello export` writes a program that takes more."
        )
    if options.get("weights", "plain") != "plain" or options.get("choice", 1) != 1:
        raise SearchError(
            "a program of several kernels has plain weights, and is the first choice; leave "
            "out weights and choice."
        )
    model = compile_graph(read.graph, C, **options)
    segment = only_segment(model)
    arguments = _arguments(read)
    source = program_source(" ".join(text.split()), model, arguments, name)
    program = _loaded(text, source, segment, arguments)
    if verify and sum(node.type.size for node in read.graph.nodes) * ELEMENT_BYTES < allocatable():
        program.max_error = _verified(program, read)
    return program


def program_source(
    title: str, model: CompiledGraph, arguments: Sequence[Argument], name: str
) -> Source:
    """The C of a function that computes a graph, whose arrays are these; raises `BuildError`."""
    segment, graph = only_segment(model), model.graph
    named = dict(zip((*graph.inputs, *graph.outputs), (a.name for a in arguments), strict=True))
    bases = [None, *(named[node] for node in (*segment.inputs, *segment.outputs))]
    calls = []
    for kernel, places in zip(segment.kernels, segment.places, strict=True):
        arrays = []
        for place in places:
            assert isinstance(place.base, int), "a text has no constant arrays"
            arrays.append((bases[place.base], place.offset))
        calls.append(ImplCall(kernel.impl, tuple(arrays)))
    types = {
        a.name: ArrayType(("" if a.output else "const ") + a.dtype.c, str(a)) for a in arguments
    }
    return generate_sequence(title, calls, types, segment.arena.bytes, name)


def _arguments(read: TextGraph) -> tuple[Argument, ...]:
    """The arrays of the function, the result last; those without a name have free letters."""
    given = {tensor.name for tensor in read.inputs}
    free = (name for name in map(letter, range(99)) if name not in given)
    inputs = [_argument(tensor, tensor.name or next(free)) for tensor in read.inputs]
    taken = {each.name for each in inputs}
    out = next(n for n in (read.result.name, "out", *free) if n and n not in taken)
    return (*inputs, replace(_argument(read.result, out), output=True))


def _argument(tensor: Tensor, name: str) -> Argument:
    order = order_in_memory(tensor)
    strides = row_major_strides(tuple(tensor.shape[d] for d in order), tensor.dtype.bytes)
    by_dim = dict(zip(order, strides, strict=True))
    return Argument(name, tensor.dtype, tensor.shape, tuple(by_dim[d] for d in range(len(order))))


def _loaded(
    text: str, source: Source, segment: Segment, arguments: tuple[Argument, ...]
) -> TextProgram:
    """The program built and loaded, with its thread pool if it is parallel."""
    kernels = segment.kernels
    threads = max(kernel.threads for kernel in kernels)
    compiler, written = kernels[0].compiler, linkable(source, threads)
    flags = arch_flags(compiler, kernels[0].impl.target.arch)
    path = build(written.text, compiler=compiler, flags=flags)
    made_of = KernelSequence(text, kernels, source)
    program = TextProgram(
        path, written.symbol, arguments,
        compiler=compiler, release_gil=made_of.cost > GIL_CYCLES,
    )  # fmt: skip
    if source.parallel:
        attach(program.library, written.symbol, threads, compiler=compiler)
    program.program, program.compiler, program.threads = made_of, compiler, threads
    program.statistics, program.max_error, program.workspace = None, None, 0
    return program


def _verified(program: TextProgram, read: TextGraph) -> float:
    """The largest error of a program on random values, by its graph in float64.

    What was verified before is not verified again. Raises `VerificationError`.
    """
    library, text = program.library.path, program.program.text
    error = verified_error(library, text)
    if error is not None:
        return error
    graph, random = read.graph, np.random.default_rng(0)
    stored = [random_values(node, random) for node in graph.inputs]
    (wanted,) = evaluate(graph, stored)
    given = [argument.empty() for argument in program.arguments[:-1]]
    for tensor, array, values in zip(read.inputs, given, stored, strict=True):
        array.transpose(order_in_memory(tensor))[...] = values
    result = program(*given).transpose(order_in_memory(read.result))
    computed = np.asarray(result, np.float64)
    with np.errstate(invalid="ignore"):
        largest = np.abs(wanted[np.isfinite(wanted)]).max(initial=0.0) or 1.0
        errors = np.abs(computed - wanted.astype(np.float64)) / largest
    errors[(computed == wanted) | (np.isnan(computed) & np.isnan(wanted))] = 0.0
    wrong = ~(errors <= tolerance_of(graph.outputs[0]))
    if np.mean(wrong) > (MOST_JUMPS if any(map(_jumps, graph.nodes)) else 0.0):
        raise VerificationError(
            f"{program!r} differs from NumPy in {np.sum(wrong)} of {wrong.size} elements."
        )
    error = float(errors[~wrong].max(initial=0.0))
    mark_verified(library, text, error)
    return error


def _jumps(node: Node) -> bool:
    """Whether results of a node may be others if its inputs are rounded."""
    if isinstance(node.operator, Cast):
        return node.dtype.kind in "iu"
    if not isinstance(node.operator, PrimitiveOperator):
        return False
    operation = node.operator.operation
    function = operation.function
    jumps = function is not None and function.name in JUMPING
    return jumps or bool(operation.primitive and operation.primitive.counts)  # places of extrema
