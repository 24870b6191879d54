"""A text that takes several kernels, compiled to one function, as users call it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from morello.base.errors import (
    SeveralKernelsError,
    SpecError,
    VerificationError,
)
from morello.base.memory import allocatable
from morello.base.wording import counted
from morello.codegen.linking import linkable
from morello.codegen.sequence import (
    ArrayType,
    ConstantArray,
    ImplCall,
    generate_sequence,
)
from morello.codegen.source import Source
from morello.graph.frameworks import C
from morello.graph.graph import Graph, Node
from morello.graph.interpreter import evaluate, random_values
from morello.graph.operators import Cast, PrimitiveOperator
from morello.graph.views import shown
from morello.importers.text import TextGraph, order_in_memory, text_graph
from morello.ir.computation import Tensor, letter
from morello.ir.dtype import DType
from morello.ir.functions import COMPARISONS
from morello.ir.operation import Operation
from morello.kernel import Kernel
from morello.measure.load import GIL_CYCLES
from morello.models.compiling import CompiledGraph, compile_graph
from morello.models.export import only_segment, tolerance_of
from morello.native.build import build
from morello.native.toolchain import arch_flags
from morello.options import Options
from morello.runtime.argument import Argument, Array, row_major_strides
from morello.runtime.load import MAX_ARGUMENTS
from morello.runtime.packing import Inputs
from morello.runtime.parts import ELEMENT_BYTES
from morello.runtime.threads import attach
from morello.runtime.verified import mark_verified, verified_error

if TYPE_CHECKING:
    from morello.learn.predictors import Prediction

MOST_JUMPS = 0.01
"""The share of elements that may differ if functions jump, as `floor` does: rounding moves some."""

MOST_RUNS = 1 << 14
"""The most runs of equal numbers that a constant in C has."""

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

    It is called, and can be pickled, as any kernel. Its `cost` and its `source` are those of all of
    them, and it has no `spec`, `impl` or `statistics`, as each of the kernels has.
    """

    __slots__ = ()

    program: KernelSequence

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """The kernels in the order in which they run; one may run several times."""
        return self.program.kernels

    @property
    def predicted(self) -> Prediction | None:
        """The sum of the predicted times of its kernels; None if there is none for some."""
        total: Prediction | None = None
        for kernel in self.kernels:
            predicted = kernel.predicted
            if predicted is None:
                return None
            total = predicted if total is None else total + predicted
        return total

    def random_inputs(self) -> Inputs:
        """Random values for its inputs, as `runtime.packing.random_inputs` has them for a Spec."""
        read, random = text_graph(self.program.text), np.random.default_rng(0)
        values = tuple(each.random(random) for each in self.arguments if not each.output)
        for node, array in zip(read.graph.inputs, values, strict=True):
            rows = _numbered(node, read.graph)
            if rows:
                array[...] = random.integers(0, rows, array.shape)
        taken = (array.view(each.raw) for array, each in zip(values, self.arguments, strict=False))
        return Inputs(values, tuple(taken))

    def __reduce__(self) -> tuple[Any, ...]:
        made_of = self.program
        return _unpickled, (made_of.text, made_of.kernels, made_of.source, self.max_error)

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
    read = read_program(text, options)
    model = compile_graph(read.graph, C, **options)
    source = program_source(" ".join(text.split()), model, _arguments(read), name)
    program = _loaded(read, KernelSequence(text, only_segment(model).kernels, source))
    if verify and sum(node.type.size for node in read.graph.nodes) * ELEMENT_BYTES < allocatable():
        program.max_error = _verified(program, read)
    return program


def read_program(text: str, options: Options) -> TextGraph:
    """The graph of a text; raises `MorelloError` if no program has it with these options."""
    read = text_graph(text)
    if len(read.inputs) >= MAX_ARGUMENTS:
        raise SpecError(
            f"this takes {len(read.inputs)} tensors, and a function takes {MAX_ARGUMENTS - 1}; "
            "`morello export` writes a program that takes more."
        )
    if options.get("weights", "plain") != "plain" or options.get("choice", 1) != 1:
        raise SpecError(
            "a program of several kernels has plain weights, and is the first choice; leave "
            "out weights and choice."
        )
    return read


def program_source(
    title: str, model: CompiledGraph, arguments: Sequence[Argument], name: str
) -> Source:
    """The C of a function that computes a graph, whose arrays are these; raises `BuildError`."""
    segment, graph = only_segment(model), model.graph
    named = dict(zip((*graph.inputs, *graph.outputs), (a.name for a in arguments), strict=True))
    bases = [None, *(named[node] for node in (*segment.inputs, *segment.outputs))]
    calls = []
    constants: dict[int, tuple[str, ConstantArray]] = {}
    for kernel, places in zip(segment.kernels, segment.places, strict=True):
        arrays = []
        for argument, place in zip(kernel.arguments, places, strict=True):
            if isinstance(place.base, int):
                arrays.append((bases[place.base], place.offset))
                continue
            if id(place.base) not in constants:
                name_of = f"known{len(constants)}"
                constants[id(place.base)] = name_of, _constant(argument.dtype, place.base)
            arrays.append((constants[id(place.base)][0], place.offset))
        calls.append(ImplCall(kernel.impl, tuple(arrays)))
    types = {
        a.name: ArrayType(("" if a.output else "const ") + a.dtype.c, str(a)) for a in arguments
    }
    known = dict(constants.values())
    return generate_sequence(title, calls, types, segment.arena.bytes, name, known)


def _constant(dtype: DType, array: Array) -> ConstantArray:
    """A constant as it lies in memory; raises `SpecError` for one that is too large for C."""
    flat = array.view(dtype.np).reshape(-1)
    bits = flat.view(f"u{dtype.bytes}")
    ends = np.append(np.flatnonzero(bits[1:] != bits[:-1]) + 1, flat.size)
    if ends.size > MOST_RUNS:
        raise SpecError(
            "this takes a table of constants that is too long for C; make it an input, or let "
            "`morello export` write the program."
        )
    counts, values = np.diff(ends, prepend=0), flat[ends - 1].astype(np.float64)
    return ConstantArray(dtype, [*zip(counts.tolist(), values.tolist(), strict=True)])


def arguments_of(text: str) -> tuple[Argument, ...]:
    """The arrays that the program of a text takes; raises `MorelloError` if there is none."""
    return _arguments(text_graph(text))


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


def _loaded(read: TextGraph, made_of: KernelSequence) -> TextProgram:
    """The program built and loaded, with its thread pool if it is parallel."""
    kernels, source = made_of.kernels, made_of.source
    threads = max(kernel.threads for kernel in kernels)
    compiler, written = kernels[0].compiler, linkable(source, threads)
    flags = arch_flags(compiler, kernels[0].impl.target.arch)
    path = build(written.text, compiler=compiler, flags=flags)
    program = TextProgram(
        path, written.symbol, _arguments(read),
        compiler=compiler, release_gil=made_of.cost > GIL_CYCLES,
    )  # fmt: skip
    if source.parallel:
        attach(program.library, written.symbol, threads, compiler=compiler)
    program.program, program.compiler, program.threads = made_of, compiler, threads
    program.statistics, program.max_error, program.workspace = None, None, 0
    return program


def _unpickled(
    text: str, kernels: tuple[Kernel, ...], source: Source, max_error: float | None
) -> TextProgram:
    """Restores the program from what `TextProgram.__reduce__` returned."""
    program = _loaded(text_graph(text), KernelSequence(text, kernels, source))
    program.max_error = max_error
    return program


def _numbered(node: Node, graph: Graph) -> int:
    """How many rows, at least, there are of what an input numbers; 0 if it numbers none."""
    counts = [
        dict(zip(operation.dims, operator.sizes, strict=True))[dim]
        for operator, operation, sources in _operations(graph)
        for index in (operation.primitive.indices if operation.primitive else ())
        if shown(sources[index]) is node
        for dim in operation.untiled
        if dim not in operation.operands[index].dims
    ]
    return min(counts, default=0)


def _operations(graph: Graph) -> Iterator[tuple[PrimitiveOperator, Operation, Sequence[Node]]]:
    for node in graph.nodes:
        if isinstance(node.operator, PrimitiveOperator):
            yield node.operator, node.operator.operation, node.inputs


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
