"""Rewrites into other operations: decompositions, and compositions cut in two."""

from __future__ import annotations

from collections.abc import Iterator

from morello.ir.compose import consumers, inputs_of, intermediates, producer, touches_product
from morello.ir.layout import row_major
from morello.ir.operation import Operation, has_accumulating_form
from morello.ir.primitives import is_ragged
from morello.rewrites import (
    SCHEMES,
    Bufferize,
    Decompose,
    LastGroup,
    Pack,
    Pointwise,
    Rewrite,
    SpatialSplit,
    ToAccumulate,
    Ungroup,
    decomposes,
)
from morello.space.copies import copy_layouts
from morello.space.kernels import groups_share
from morello.space.kind import Kind
from morello.space.moves import packed_inputs
from morello.space.padding import has_padded_rows
from morello.space.traits import RuleTraits
from morello.targets.target import Target


def step_rewrites(kind: Kind, target: Target, traits: RuleTraits) -> Iterator[Rewrite]:
    """Rewrites into other operations.

    Parts of `long` compositions, and windows with padding above or below, are not summed in parts.
    """
    operation = kind.operation
    keeps = (traits.long and operation.components) or has_padded_rows(operation)
    if has_accumulating_form(operation) and not keeps:
        yield ToAccumulate()
    if operation.grouped:
        if not (target.masks and groups_share(kind, target)):  # masks serve a single group, too
            yield Ungroup()
    elif operation.lowers_to is not None and operation.accumulates:
        yield from (SpatialSplit(), Pointwise())
    if is_ragged(operation):
        yield LastGroup()
    packs = operation.packed_along and not operation.accumulates
    if packs and packed_inputs(kind.dtypes[:-1], target):
        yield Pack()
        yield from (Pack(level=level.name) for level in target.levels[1 : target.nearest])
    yield from decompositions(kind, (target.levels[target.nearest].name, target.levels[0].name))
    if operation.components:
        yield from _buffers(kind, target)


def decompositions(kind: Kind, levels: tuple[str, ...]) -> Iterator[Rewrite]:
    for name, scheme in SCHEMES.items():
        if scheme.searched and decomposes(name, kind.operation):
            yield from (Decompose(name, level) for level in levels)


def cut_points(operation: Operation) -> list[int]:
    """The intermediate tensors at which the search cuts a composition in two.

    These are where the shape changes, before and after sums of products, and before the last
    component. Other cuts between elementwise maps of the same shape are not needed: a smaller
    tile and several of these cuts give the same programs.
    """
    if not operation.components:
        return []
    tensors = []
    for tensor in intermediates(operation):
        source, users = producer(operation, tensor), consumers(operation, tensor)
        changes = any(set(user.result_dims) != set(source.result_dims) for user in users)
        last = operation.components[-1] in users
        if changes or last or touches_product(operation, tensor):
            tensors.append(tensor)
    return tensors


def _buffers(kind: Kind, target: Target) -> Iterator[Rewrite]:
    """Buffers at the cut points of a composition, at every memory level and in registers."""
    operation = kind.operation
    for tensor in cut_points(operation):
        source = producer(operation, tensor)
        component, rank = tensor - inputs_of(operation), len(source.result_dims)
        layouts = [row_major(rank)]
        for user in consumers(operation, tensor):
            position = user.inputs.index(tensor)
            layouts += copy_layouts(user.operation, position, source.dtype, target)
        streams = not touches_product(operation, tensor)
        for level in target.levels[int(streams) : target.registers]:
            distinct = dict.fromkeys(layouts)
            yield from (Bufferize(component, level.name, layout) for layout in distinct)
        name = target.levels[target.registers].name
        for width in target.widths(source.dtype):
            yield Bufferize(component, name, row_major(rank), width)
