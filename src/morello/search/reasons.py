"""Why a goal has no program: its dtypes, its layouts, or too little memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import inf
from operator import ne

from morello.engine import INFINITE
from morello.engine.limits import Limits
from morello.ir.axes import axis
from morello.ir.compose import inputs_of, intermediates, part, producer
from morello.ir.dtype import DType
from morello.ir.layout import row_major
from morello.ir.operation import Operation
from morello.ir.spec import Spec, goal
from morello.ir.tensor import canonical, gapless
from morello.search.budget import BudgetError, Watch
from morello.search.pruned_space import PrunedSpace
from morello.space.kernels import closing_operation
from morello.space.kind import Kind
from morello.targets.target import Target

SECONDS = 10.0
"""The time limit of the analysis, if that of the search is not closer."""

_NAMED = 4
"""The most combinations of dtypes that a message lists as supported."""


def why_none(spec: Spec, target: Target, watch: Watch) -> str:
    """A message that says why a goal has no program, and what would work instead.

    Without the reason, if the watch ends first.
    """
    roomy, watch = _roomy(target), watch.within(SECONDS)
    try:
        for primitive in _primitives(spec):
            if PrunedSpace([(primitive,)], roomy).lower_bound(watch) >= INFINITE:
                return f"{spec.expression}: {_unsupported_dtypes(primitive, target)}"
        if not _possible(spec, roomy, watch):
            return f"{spec.expression}: {_unsupported_layouts(spec, roomy, watch)}"
    except (BudgetError, MemoryError):
        return (
            f"{spec.expression}: there is no program for {target.name}; "
            "a larger budget may tell why."
        )
    *caches, registers = target.levels[1:]
    sizes = [f"{cache.capacity} lines of {cache.name}" for cache in caches]
    sizes.append(str(registers.capacity))
    return (
        f"{spec.expression}: no program fits the memory of {target.name} ({', '.join(sizes)} "
        f"{registers.name}); smaller sizes or panels may, or another target."
    )


def _roomy(target: Target) -> Target:
    """The target with the largest capacities that `Limits` can represent."""
    most = Limits(target.limits).largest
    first, *levels = target.levels
    return replace(target, levels=(first, *(replace(level, capacity=most) for level in levels)))


def _possible(spec: Spec, target: Target, watch: Watch) -> bool:
    """Whether the goal has a program, however much it costs."""
    graph = PrunedSpace([(spec,)], target).graph(inf, watch)
    return float(graph.bounds.low[0]) < INFINITE


def _primitives(spec: Spec) -> Iterator[Spec]:
    """The components of a composition, each as a goal of its own; or else the goal itself."""
    operation = spec.operation
    if not operation.components:
        yield goal(operation, spec.sizes, spec.dtypes)
        return
    inner = intermediates(operation)
    named = dict(zip(operation.dims, spec.sizes, strict=True))
    for tensor in (*inner, inner.stop):
        primitive = part(operation, tensor, tuple(inner))
        sizes = [axis(d).extent(named) for d in primitive.dims]
        dtypes = [
            spec.dtypes[t] if t < inputs_of(operation) else producer(operation, t).dtype
            for t in primitive.tensors
        ]
        yield goal(primitive.operation, sizes, dtypes)


def _unsupported_dtypes(spec: Spec, target: Target) -> str:
    """A message that names the dtypes that have no kernel, and the nearest that have one."""
    operation = spec.operation
    kernels = target.kernels_of(closing_operation(Kind(operation, spec.dtypes, parallel=False)))
    supported = dict.fromkeys(k.dtypes for k in kernels if len(k.dtypes) == len(spec.dtypes))
    nearest = sorted(supported, key=lambda dtypes: sum(map(ne, dtypes, spec.dtypes)))[:_NAMED]
    names = "; ".join(_signature(operation, dtypes) for dtypes in nearest)
    advice = f"cast to what there are kernels for, such as {names}" if names else "cast to f32"
    wanted = _signature(operation, spec.dtypes)
    return f"no kernel of {target.name} computes {operation.name} of {wanted}; {advice}."


def _signature(operation: Operation, dtypes: Sequence[DType]) -> str:
    first = operation.outputs[0]
    inputs, outputs = dtypes[:first], dtypes[first:]
    return f"{' x '.join(map(str, inputs))} -> {', '.join(map(str, outputs))}"


def _unsupported_layouts(spec: Spec, target: Target, watch: Watch) -> str:
    """A message that names an operand which would work row-major, or all operands if none would."""
    for number, tensor in enumerate(spec.tensors):
        usual = canonical(tensor.shape, gapless(row_major(len(tensor.shape))))
        if tensor.placement != usual and not tensor.placement.vector:
            placements = (*spec.placements[:number], usual, *spec.placements[number + 1 :])
            if _possible(replace(spec, placements=placements), target, watch):
                name = spec.operation.operands[number].name
                return (
                    f"no kernel of {target.name} takes {name} as {tensor.type} beside the others; "
                    f"give it as {tensor.dtype}[{','.join(map(str, tensor.shape))}]."
                )
    operands = [
        f"{operand.name} as {tensor.type} in {target.levels[tensor.level].name}"
        for operand, tensor in zip(spec.operation.operands, spec.tensors, strict=True)
    ]
    return (
        f"no kernel of {target.name} takes {', '.join(operands)} together; "
        "give them row-major, in memory."
    )
