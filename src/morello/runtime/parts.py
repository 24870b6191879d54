"""Parts of a Spec's output, so that computing the reference of one takes little memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from morello.base.errors import SpecError
from morello.base.memory import gib
from morello.ir.operation import Array, Operation
from morello.ir.spec import Spec

ELEMENT_BYTES = 96
"""The bytes that a reference takes for each element of its tensors: a dozen float64.

These are the value and its error bound, and those that the computation of a bound takes at once.
"""

KEPT_BYTES = 16
"""The bytes of each element of a reference: its value and its error bound."""

ENOUGH = 1 << 29
"""The bytes of a reference that is computed about as fast as one of any size.

Its arrays take a third of this, as a rule. Larger ones are no faster.
"""

WORTH = 0.75
"""The most that half as long a part may need of the memory, to be cut without need.

What does not depend on where a part is cut is computed again for each.
"""


@dataclass(frozen=True)
class OutputPart:
    """A part of a Spec's output: for some dimensions, the positions from a start to a stop."""

    spans: Mapping[str, tuple[int, int]]

    def sizes(self, spec: Spec) -> tuple[int, ...]:
        """The sizes of the Spec's dimensions in this part."""
        spans = (
            self.spans.get(dim, (0, size))
            for dim, size in zip(spec.operation.dims, spec.sizes, strict=True)
        )
        return tuple(stop - start for start, stop in spans)

    def of(self, spec: Spec, operand: int, array: Array) -> Array:
        """The view of an operand's array that this part reads or writes."""
        return array[tuple(slice(*span) for span in self._spans(spec, operand))]

    def start(self, spec: Spec, operand: int) -> tuple[int, ...]:
        """The position in an operand's array where this part begins."""
        return tuple(start or 0 for start, _ in self._spans(spec, operand))

    def _spans(self, spec: Spec, operand: int) -> list[tuple[int, int] | tuple[None, None]]:
        dims = spec.operation.operands[operand].dims
        return [self.spans.get(dim, (None, None)) for dim in dims]


WHOLE = OutputPart({})


def parts(spec: Spec, room: int) -> list[OutputPart]:
    """Parts that together are the whole output, each with a reference of at most `room` bytes.

    A single part if its reference takes no more than `ENOUGH` as well. Raises `SpecError` if no
    part is small enough.
    """
    operation = spec.operation
    sizes = dict(zip(operation.dims, spec.sizes, strict=True))
    steps = {dim: sizes[dim] for dim in independent_dims(operation)}

    def needed(halved: str = "") -> int:
        halves = {halved: -(-steps[halved] // 2)} if halved else {}
        return _reference_bytes(operation, {**sizes, **steps, **halves})

    while (whole := needed()) > min(room, ENOUGH):
        divisible = [dim for dim, step in steps.items() if step > 1]
        halves = min(map(needed, divisible), default=whole)
        if whole <= room and halves > WORTH * whole:
            break
        if not divisible:
            raise SpecError(
                f"{spec.expression}: verifying it takes {gib(whole)} of memory beside its "
                f"operands, and {gib(room)} can be taken; make the sizes smaller, or leave out "
                "the verification (verify=False, or --no-verify)."
            )
        dim = min(divisible, key=needed)
        steps[dim] = -(-steps[dim] // 2)
    cut = {dim: step for dim, step in steps.items() if step < sizes[dim]}
    spans = [
        [(start, min(start + step, sizes[dim])) for start in range(0, sizes[dim], step)]
        for dim, step in cut.items()
    ]
    return [OutputPart(dict(zip(cut, chosen, strict=True))) for chosen in product(*spans)]


def keepable(spec: Spec, pieces: Sequence[OutputPart], room: int) -> bool:
    """Whether to keep the references of all parts: if they fit beside computing one of them."""
    operation, first = spec.operation, pieces[0]
    outputs: int = sum(prod(operation.extents(o, spec.sizes)) for o in operation.outputs)
    sizes = dict(zip(operation.dims, first.sizes(spec), strict=True))
    return KEPT_BYTES * outputs + _reference_bytes(operation, sizes) <= min(room, 2 * ENOUGH)


def independent_dims(operation: Operation) -> list[str]:
    """The dimensions of all outputs along which each position is computed on its own."""
    outputs = [operation.operands[output].dims for output in operation.outputs]
    common = [dim for dim in operation.dims if all(dim in dims for dims in outputs)]
    if not operation.components:
        return [dim for dim in common if _is_plain(operation, dim)]
    return [
        dim
        for dim in common
        if all(
            axis.plain and _is_plain(component.operation, own)
            for component in operation.components
            for own, axis in component.axes.items()
            if dim in axis.names
        )
    ]


def _is_plain(operation: Operation, dim: str) -> bool:
    """Whether a primitive neither reduces a dimension nor slides a window over it."""
    return (
        dim not in operation.reduced
        and dim not in operation.untiled
        and all(axis.plain for axes in operation.axes for axis in axes if dim in axis.names)
    )


def _reference_bytes(operation: Operation, sizes: Mapping[str, int]) -> int:
    """The bytes that computing the reference of an operation of these sizes takes."""
    return ELEMENT_BYTES * _elements(operation, sizes)


def _elements(operation: Operation, sizes: Mapping[str, int]) -> int:
    """The elements of all tensors that an operation reads, computes on the way, and writes."""
    ordered = [sizes[dim] for dim in operation.dims]
    others = range(len(operation.operands) - 1)
    read: int = sum(prod(operation.extents(operand, ordered)) for operand in others)
    if not operation.components:
        return read + _computed(operation, ordered)
    return read + sum(
        _computed(c.operation, [axis.extent(sizes) for axis in c.axes.values()])
        for c in operation.components
    )


def _computed(operation: Operation, sizes: Sequence[int]) -> int:
    """The elements of a primitive's output."""
    return int(prod(operation.extents(operation.output, sizes)))
