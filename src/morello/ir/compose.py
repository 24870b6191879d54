"""Compositions: several primitives as one operation, so that they can be fused.

A composition's tensors are numbered: its inputs first, then the results of its components,
in order; the last component computes the output. Its dimensions are those of its components,
where the output dimensions of a producer are input dimensions of its consumers. Intermediate
tensors have no memory until a rewrite buffers one, which splits the composition in two.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import count

from morello.ir.axes import Axis, axis
from morello.ir.operation import Component, Operand, Operation, accumulating, operation, reordered


@dataclass(frozen=True)
class Part:
    """An operation cut out of a composition.

    `tensors` are the numbers of its operands in the composition, and `dims` maps each of its
    dimensions to one of the composition, or to a window.
    """

    operation: Operation
    tensors: tuple[int, ...]
    dims: tuple[str, ...]


def compose(inputs: Sequence[Operand], components: Sequence[Component]) -> Operation:
    """The composition of these components over these inputs."""
    last = components[-1]
    out = last.operation.operands[last.operation.output]
    dims: dict[str, None] = {}
    for component in reversed(components):
        for text in component.dims:
            dims |= dict.fromkeys(axis(text).names)
    reduced = {name for d in last.operation.reduced for name in last.axes[d].names}
    untiled: set[str] = set()
    for component in components:
        named = component.axes
        kept = component.operation.untiled
        if component is not last:
            kept += component.operation.reduced
        untiled |= {name for d in kept for name in named[d].names}
    operands = (*inputs, Operand("out", last.result_dims, written=True, start=out.start))
    return operation(
        None,
        tuple(dims),
        operands,
        tuple(d for d in dims if d in reduced),
        tuple(d for d in dims if d in untiled),
        components=tuple(components),
    )


def inputs_of(composition: Operation) -> int:
    """The number of a composition's inputs."""
    return len(composition.operands) - 1


def intermediates(composition: Operation) -> range:
    """The numbers of the tensors that are neither inputs nor the output."""
    first = inputs_of(composition)
    return range(first, first + len(composition.components) - 1)


def producer(composition: Operation, tensor: int) -> Component:
    """The component that computes a tensor."""
    return composition.components[tensor - inputs_of(composition)]


def consumers(composition: Operation, tensor: int) -> list[Component]:
    """The components that read a tensor."""
    return [component for component in composition.components if tensor in component.inputs]


def touches_product(composition: Operation, tensor: int) -> bool:
    """Whether a sum of products computes an intermediate tensor, or reads it."""
    around = producer(composition, tensor), *consumers(composition, tensor)
    return any(component.operation.is_product for component in around)


def tensor_dims(composition: Operation, tensor: int) -> tuple[str, ...]:
    first = inputs_of(composition)
    if tensor < first:
        return composition.operands[tensor].dims
    return producer(composition, tensor).result_dims


def products_of(operation: Operation) -> Iterator[list[frozenset[str]]]:
    """The sums of products in an operation, as the dimensions of their operands."""
    if operation.is_product:
        yield [*map(_names, operation.axes)]
    for component in operation.components:
        if component.operation.is_product:
            operands = range(len(component.operation.operands))
            yield [_names(map(axis, component.operand_dims(operand))) for operand in operands]


def _names(axes: Iterable[Axis]) -> frozenset[str]:
    return frozenset(name for each in axes for name in each.names)


@cache
def batches_of(operation: Operation) -> tuple[str, ...]:
    """The dimensions of batches of products: all operands of all products have them."""
    products = [frozenset.intersection(*operands) for operands in products_of(operation)]
    return tuple(d for d in operation.dims if products and all(d in names for names in products))


@cache
def batches_of_some(operation: Operation) -> tuple[str, ...]:
    """The dimensions of batches of some products: all operands of one have them."""
    products = [frozenset.intersection(*operands) for operands in products_of(operation)]
    return tuple(d for d in operation.dims if any(d in names for names in products))


@cache
def part(composition: Operation, wanted: int, given: tuple[int, ...] = ()) -> Part:
    """The part that computes the tensor `wanted` from the inputs and the `given` tensors."""
    first, known = inputs_of(composition), set(given)
    needed: dict[int, None] = {}
    todo = [wanted]
    while todo:
        tensor = todo.pop()
        needed[tensor] = None
        sources = producer(composition, tensor).inputs
        todo += [t for t in sources if t >= first and t not in known | {*needed}]
    order = sorted(needed)
    used = [t for tensor in order for t in producer(composition, tensor).inputs if t not in needed]
    sources = tuple(sorted(set(used)))
    if len(order) == 1:
        return _primitive(composition, wanted)
    rename = _window_names([producer(composition, t) for t in order])
    numbers = {t: i for i, t in enumerate([*sources, *order])}
    components = [
        Component(
            component.operation,
            tuple(numbers[t] for t in component.inputs),
            tuple(_folded(d, rename) for d in component.dims),
            component.dtype,
        )
        for component in (producer(composition, t) for t in order)
    ]
    back = {new: old for old, new in rename.items()}
    names = _operand_names(composition, sources)
    inputs = [
        Operand(name, tuple(_folded(d, rename) for d in tensor_dims(composition, t)))
        for name, t in zip(names, sources, strict=True)
    ]
    computed = compose(inputs, components)
    if composition.accumulates and wanted == first + len(composition.components) - 1:
        computed = accumulating(computed)
    return Part(computed, (*sources, wanted), tuple(back.get(d, d) for d in computed.dims))


def _operand_names(composition: Operation, tensors: Sequence[int]) -> list[str]:
    """The names of tensors as operands: inputs keep theirs, intermediates get unused ones."""
    first = inputs_of(composition)
    taken = {composition.operands[t].name for t in tensors if t < first}
    names = []
    for tensor in tensors:
        if tensor < first:
            names.append(composition.operands[tensor].name)
            continue
        # an input may have such a name from an earlier split of a larger composition
        name = next(n for n in (f"t{i}" for i in count(tensor - first)) if n not in taken)
        taken.add(name)
        names.append(name)
    return names


def _primitive(composition: Operation, wanted: int) -> Part:
    """The part of a single component; its operands have the dimension orders of the tensors."""
    component = producer(composition, wanted)
    primitive = component.operation
    tensors = (*component.inputs, wanted)
    final = wanted == inputs_of(composition) + len(composition.components) - 1
    if final and composition.accumulates:
        primitive = accumulating(primitive)
    own = dict(zip(component.dims, primitive.dims, strict=True))
    orders = []
    for operand, tensor in enumerate(tensors):
        dims = tensor_dims(composition, tensor)
        order = primitive.operands[operand].dims
        if component.operand_dims(operand) != dims:
            order = tuple(own[d] for d in dims)
        orders.append(order)
    return Part(reordered(primitive, orders), tensors, component.dims)


def _window_names(components: Sequence[Component]) -> dict[str, str]:
    """The dimensions that replace windows, by window.

    A window is replaced if none of its dimensions is a plain dimension of some component; the
    new dimension takes the name of one of them.
    """
    plain = {d for component in components for d in component.dims if axis(d).plain}
    names: dict[str, str] = {}
    for component in components:
        for text in component.dims:
            if text not in names and not axis(text).plain and not plain & set(axis(text).names):
                names[text] = next(n for n in axis(text).names if n not in names.values())
    return names


def _folded(text: str, names: Mapping[str, str]) -> str:
    """The axis with each window in `names`, also within a longer window, replaced by its name."""
    folded = axis(text)
    for window, name in names.items():
        inner, steps = axis(window), dict(folded.terms)
        factors = {steps.get(n, 0) / step for n, step in inner.terms}
        if len(factors) == 1 and (factor := factors.pop()) == int(factor) > 0:
            first = inner.names[0]
            terms = [
                (name, int(factor)) if n == first else (n, step)
                for n, step in folded.terms
                if n == first or n not in inner.names
            ]
            before = folded.before - int(factor) * inner.before
            folded = Axis(tuple(terms), before, folded.after - int(factor) * inner.after)
    return str(folded)
