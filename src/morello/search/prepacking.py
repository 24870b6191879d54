"""Layouts for weights: inputs that stay the same between calls, and so can be prepacked."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import prod

from morello.base.errors import SpecError
from morello.ir.axes import axis
from morello.ir.dtype import F32
from morello.ir.layout import Layout, column_major
from morello.ir.operation import Component, Operation
from morello.ir.primitives.convolutions import channels_of
from morello.ir.spec import Spec
from morello.ir.tensor import canonical, gapless
from morello.targets.target import Target

REGISTERS = (1, 2, 3, 4)
"""The widths of panels that are tried, in registers."""


def weights_of(operation: Operation) -> dict[int, tuple[str, ...]]:
    """The inputs that are used only as second operands of a Matmul or filters of a Conv.

    By number; the values are the names of their reduction dimensions.
    """
    if operation.is_product:
        return {1: operation.reduced}
    weights: dict[int, tuple[str, ...]] = {}
    for number, uses in enumerate(_uses(operation)):
        if uses and all(o.operation.is_product and p == 1 for o, p in uses):
            component = uses[0][0]
            weights[number] = tuple(
                name for d in component.operation.reduced for name in component.axes[d].names
            )
    return weights


def weights_in_place(operation: Operation) -> tuple[int, ...]:
    """The inputs that are used only as weights in a format of their own, by number."""
    if operation.primitive:
        return operation.primitive.stored
    return tuple(
        number
        for number, uses in enumerate(_uses(operation))
        if uses and all(_is_stored(component.operation, place) for component, place in uses)
    )


def _is_stored(operation: Operation, place: int) -> bool:
    return operation.primitive is not None and place in operation.primitive.stored


def _uses(operation: Operation) -> list[list[tuple[Component, int]]]:
    """The components of a composition that read each input, and as which of theirs."""
    return [
        [
            (component, place)
            for component in operation.components
            for place, tensor in enumerate(component.inputs)
            if tensor == number
        ]
        for number in range(len(operation.operands) - 1)
    ]


def with_layouts(spec: Spec, target: Target) -> list[Spec]:
    """The Spec with its weights as they are, then with other layouts that may be faster, each once.

    These are column-major, and panels one to four registers wide along the last dimension that is
    not reduced, also of the groups that instructions take along the one that is. Filters of a
    convolution in groups whose result has channels last are only laid out so, too, or in panels of
    a group. Raises `SpecError` if the Spec has no weights.
    """
    weights = {
        number: reduced
        for number, reduced in weights_of(spec.operation).items()
        if spec.names.count(spec.name(number)) < 2  # an array has one layout for all its uses
    }
    if not weights:
        raise SpecError(
            f"{spec.expression}: there are no weights to lay out ahead: no input is a second "
            'factor of a product or a filter; leave out weights="constant".'
        )
    columns = {number: _columns(spec, number) for number in weights}
    if channels := _channels_last(spec, weights, target):
        return [_placed(spec, channels)]
    variants = [spec, _placed(spec, columns)]
    lanes = {number: _lanes(spec, number, target) for number in weights}
    for count, grouped in product(REGISTERS, (False, True)):
        panels = {}
        for number, reduced in weights.items():
            groups = lanes[number] if grouped else 1
            layout = _in_panels(spec, number, reduced, count, target.widths(F32)[0], groups)
            if layout is not None:
                panels[number] = layout
        if len(panels) == len(weights):
            variants.append(_placed(spec, panels))
    return list(dict.fromkeys(variants))  # of a vector, say, two layouts are the same


def _columns(spec: Spec, number: int) -> Layout:
    """The column-major layout, of each matrix if there are several to choose from."""
    primitive, dims = spec.operation.primitive, spec.operation.operands[number].dims
    whole = column_major(len(dims))
    first = [i for i, d in enumerate(dims) if primitive and d == primitive.chosen]
    return Layout((*first, *(i for i in whole.order if i not in first)))


def _channels_last(
    spec: Spec, weights: dict[int, tuple[str, ...]], target: Target
) -> dict[int, Layout]:
    """The layouts of the filters if those of convolutions in groups are the only weights.

    Empty if there are others, or if the result does not have its channels last. Each register of
    filters, or up to four of a group, is a panel; those of a depthwise convolution are none.
    """
    result, layouts = spec.operation.operands[-1], {}
    last = result.dims[spec.placements[-1].layout.order[-1]]
    for number, reduced in weights.items():
        dims = spec.operation.operands[number].dims
        filters = {channels_of(each)[1] for each in _grouped(spec.operation, number)}
        if len(filters) != 1 or last not in dims:
            return {}
        place, count, register = dims.index(last), *filters, target.widths(F32)[0]
        summed = [i for i, d in enumerate(dims) if d in reduced]
        layouts[number] = Layout((*summed, place))
        width = max(register, count if count in [n * register for n in REGISTERS] else 0)
        if count > 1 and spec.shape(number)[place] % width == 0:
            layouts[number] = Layout((place, *summed), (place, width))
    return layouts


def _grouped(operation: Operation, number: int) -> list[Operation]:
    """The convolutions whose filters an input is, if all are in groups."""
    users = [c.operation for c in operation.components if number in c.inputs] or [operation]
    return users if all(user.grouped for user in users) else []


def _lanes(spec: Spec, number: int, target: Target) -> int:
    """How many neighbours of a weight instructions take together; 1 if they take single ones.

    Those of a single row, too: columns come from memory a few percent faster than panels.
    """
    uses = [part for part in spec.parts if number in part.inputs]
    once = 2 * prod(spec.shape(number))
    lanes = {
        next((p.packed[1].lanes for p in target.packs if p.inputs == use.dtypes[:2]), 1)
        for use in uses
        if use.operation.packed_along and use.flops > once
    }
    return lanes.pop() if len(lanes) == 1 else 1


def _in_panels(
    spec: Spec, number: int, reduced: tuple[str, ...], count: int, register: int, groups: int
) -> Layout | None:
    """A layout in panels of so many registers, with the reduction inside each panel, if it fits.

    The last register of the last panel may be filled up with padding, but none is all padding.
    Within, so many neighbours along the reduction are a group.
    """
    dims, width = spec.operation.operands[number].dims, count * register
    kept = [i for i, d in enumerate(dims) if d not in reduced]
    if not kept or not axis(dims[kept[-1]]).plain:
        return None
    if -spec.shape(number)[kept[-1]] % width >= register:
        return None
    summed = [i for i in range(len(dims)) if i not in kept]
    if groups > 1:
        along = _grouped_along(spec, number)
        if along is None or spec.shape(number)[along] % groups:
            return None
        summed = [*(i for i in summed if i != along), along]
    return Layout((*kept, *summed), (kept[-1], width), groups=groups)


def _grouped_along(spec: Spec, number: int) -> int | None:
    """The place of the dimension of a weight whose neighbours are packed in groups, if one is."""
    places = {
        part.operation.places[part.inputs.index(number), part.operation.packed_along][0]
        for part in spec.parts
        if number in part.inputs and part.operation.packed_along
    }
    return places.pop() if len(places) == 1 else None


def _placed(spec: Spec, layouts: dict[int, Layout]) -> Spec:
    placements = list(spec.placements)
    for number, layout in layouts.items():
        placements[number] = canonical(spec.shape(number), gapless(layout))
    strides = tuple(None if n in layouts else s for n, s in enumerate(spec.strides))
    return replace(spec, placements=tuple(placements), strides=strides)
