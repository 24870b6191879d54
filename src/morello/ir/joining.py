"""Joining dimensions: those that go together in every tensor of an operation become a single one.

A convolution by filters of one pixel becomes a product of matrices, as its pixels are one dimension
then. Reductions along neighbours, one after the other, become a single one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from math import prod

from morello.ir.axes import axis
from morello.ir.compose import compose
from morello.ir.dtype import F32
from morello.ir.operation import Component, Operation, operation, reordered
from morello.ir.primitives import matmul
from morello.ir.rounding import narrow
from morello.ir.spec import MAX_SIZE, Spec


@dataclass(frozen=True)
class Joining:
    """Groups of dimensions, each of which becomes one, and `units`, which are left out.

    In every tensor, the dimensions of a group are neighbours in this order, or are all missing.
    The units are of size 1. A joined dimension has the name of the last of its group.
    """

    groups: tuple[tuple[str, ...], ...] = ()
    units: tuple[str, ...] = ()

    def sources(self, dim: str) -> tuple[str, ...]:
        """The dimensions that one of the joined operation is made of."""
        return next((group for group in self.groups if group[-1] == dim), (dim,))

    def name(self, text: str) -> str:
        """The dimension that an operand's dim becomes; empty if it is left out.

        It stays a window if it has terms, a stride or padding beside a single dimension.
        """
        given = axis(text)
        whole = replace(given, terms=tuple(t for t in given.terms if t[0] not in self.units))
        left_out = not whole.terms or any(whole.names[0] in group[:-1] for group in self.groups)
        return "" if left_out else str(whole)

    def names(self, dims: Sequence[str]) -> tuple[str, ...]:
        """The dims that an operand has left."""
        return tuple(name for name in map(self.name, dims) if name)

    def kept(self, dims: Sequence[str]) -> tuple[int, ...]:
        """The positions of the dims that an operand has left."""
        return tuple(i for i, dim in enumerate(dims) if self.name(dim))

    def joins_any(self, dims: Sequence[str]) -> bool:
        """Whether several of an operand's dims become one."""
        return any(dim == group[-1] for group in self.groups for dim in self.names(dims))


NO_JOINING = Joining()

FEW = 32
"""Columns that are fewer are reduced along one dimension after the other."""


@dataclass(frozen=True)
class Joined:
    """An operation with fewer dimensions.

    By each of its dimensions, `sources` has those that it is made of. `tensors` are the numbers
    that its operands have in the operation that it was made of.
    """

    operation: Operation
    sources: tuple[tuple[str, ...], ...]
    tensors: tuple[int, ...]


@dataclass(frozen=True)
class _Smaller:
    """A primitive's operation with fewer dimensions.

    `dims` maps each to one of the whole operation, and `order` has the positions that its inputs
    had.
    """

    operation: Operation
    dims: tuple[str, ...]
    order: tuple[int, ...]


@cache
def joined(base: Operation, joining: Joining) -> Joined | None:
    """The operation whose dimensions are joined; None if there is none."""
    if base.primitive is not None:
        smaller = _smaller(base, base.dims, joining)
        if smaller is None:
            return None
        sources = tuple(map(joining.sources, smaller.dims))
        return Joined(smaller.operation, sources, (*smaller.order, base.output))
    base = reduced_at_once(base, joining.groups)
    components = []
    for component in base.components:
        smaller = _smaller(component.operation, component.dims, joining)
        if smaller is None:
            return None
        tensors = tuple(component.inputs[i] for i in smaller.order)
        components.append(Component(smaller.operation, tensors, smaller.dims, component.dtype))
    if len(components) == 1:
        (only,) = components
        sources = tuple(map(joining.sources, only.dims))
        return Joined(only.operation, sources, (*only.inputs, base.output))
    inputs = [replace(o, dims=joining.names(o.dims)) for o in base.operands[:-1]]
    result = compose(inputs, components)
    return Joined(
        result, tuple(map(joining.sources, result.dims)), tuple(range(len(base.operands)))
    )


def reduced_at_once(base: Operation, groups: Sequence[Sequence[str]]) -> Operation:
    """A composition whose reductions, each of the one before, are along several dimensions at once.

    Those of one are in one of these groups. No primitive is along several until they are joined.

    Max(x; k); Max(.; j), group j, k
      -> Max(x; j, k)
    """
    first = len(base.operands) - 1
    for number, (inner, outer) in enumerate(pairwise(base.components)):
        tensor = first + number
        readers = [component for component in base.components if tensor in component.inputs]
        along = {*_reduced(inner), *_reduced(outer)}
        if (
            readers == [outer]
            and _continues(inner, outer)
            and any(along <= {*group} for group in groups)
        ):
            others = (*base.components[:number], *base.components[number + 2 :])
            components = [
                replace(each, inputs=tuple(t - (t > tensor) for t in each.inputs))
                for each in (*others[:number], _both(inner, outer), *others[number:])
            ]
            return reduced_at_once(compose(base.operands[:-1], components), groups)
    return base


def _continues(inner: Component, outer: Component) -> bool:
    """Whether a reduction of sums or extrema leaves what no other rounding would have left.

    The channels of a convolution in groups are two dimensions, which no reduction has as one.
    """
    if not all(along.plain for each in (inner, outer) for along in each.axes.values()):
        return False
    primitive, following = inner.operation.primitive, outer.operation.primitive
    if primitive is None or following is None or primitive.merge is None:
        return False
    alike = primitive.merge(1).primitive is following
    single = len(inner.operation.operands) == len(outer.operation.operands) == 2
    exact = primitive.selects or not narrow(inner.dtype)
    exact = exact and (inner.dtype is outer.dtype or (inner.dtype is F32 and narrow(outer.dtype)))
    return alike and single and exact


def _reduced(component: Component) -> tuple[str, ...]:
    """The dimensions of the composition along which a component reduces."""
    return tuple(d for name in component.operation.reduced for d in component.axes[name].names)


def _both(inner: Component, outer: Component) -> Component:
    """The component that two reductions are, along the dimensions of both."""
    (x, _), (_, out) = inner.operation.operands, outer.operation.operands
    given, result = inner.operand_dims(0), outer.operand_dims(1)
    dims = (*(d for d in result if d not in given), *given)
    along = (*_reduced(inner), *_reduced(outer))
    both = operation(
        inner.operation.primitive,
        dims,
        (replace(x, dims=given), replace(out, dims=result)),
        tuple(d for d in dims if d in along),
    )
    return Component(both, inner.inputs, dims, outer.dtype)


def _smaller(base: Operation, dims: Sequence[str], joining: Joining) -> _Smaller | None:
    """A primitive's operation, whose dims are these of the whole, with these joined."""
    whole = dict(zip(base.dims, map(joining.name, dims), strict=True))
    left_out = tuple(dim for dim, name in whole.items() if not name)
    own = Joining(units=left_out)
    if not all(axis(name).plain for operand in base.operands for name in own.names(operand.dims)):
        return None
    if base.lowers_to is not None and not base.grouped:
        return _product(base, whole, own)
    like = Operation(
        base.primitive,
        own.names(base.dims),
        tuple(replace(o, dims=own.names(o.dims)) for o in base.operands),
        own.names(base.reduced),
        own.names(base.untiled),
        function=base.function,
    )
    if base.primitive is None or not all(o.dims for o in like.operands):
        return None
    for variant in base.primitive.variants(like):
        result = _renamed(like, variant)
        if result is not None:
            return _Smaller(
                result, tuple(whole[d] for d in like.dims), tuple(range(len(like.operands) - 1))
            )
    return None


def _renamed(like: Operation, variant: Operation) -> Operation | None:
    """A variant of a primitive, if it is like an operation but for the names of dimensions."""
    names = dict(zip(like.dims, variant.dims, strict=False))
    alike = len(like.dims) == len(variant.dims) and len(like.operands) == len(variant.operands)
    if not alike or [names[d] for d in like.reduced] != list(variant.reduced):
        return None
    orders = [tuple(names[d] for d in operand.dims) for operand in like.operands]
    if [names[d] for d in like.untiled] != list(variant.untiled) or any(
        sorted(order) != sorted(operand.dims)
        for order, operand in zip(orders, variant.operands, strict=True)
    ):
        return None
    return reordered(variant, orders)


def _product(conv: Operation, whole: dict[str, str], own: Joining) -> _Smaller | None:
    """The matmul that a convolution is if its pixels are one dimension, and its filters are one.

    The first factor is what has the output's first dimension.
    """
    filters, pixels = (own.names(conv.operands[i].dims) for i in (1, conv.output))
    if len(filters) != 2 or len(pixels) != 2 or len(own.names(conv.operands[0].dims)) != 2:
        return None
    (summed,) = set(filters) - set(pixels)
    rows, columns = pixels
    roles = {rows: "m", summed: "k", columns: "n"}
    order = (1, 0) if rows in filters else (0, 1)
    orders = [
        tuple(roles[d] for d in own.names(conv.operands[i].dims)) for i in (*order, conv.output)
    ]
    dims = tuple(whole[dim] for dim in roles)
    return _Smaller(reordered(matmul(), orders), dims, order)


# ---- what can be joined


def joining_of(spec: Spec) -> Joining:
    """How the dimensions of a goal can be joined: as many as possible; empty if none.

    Tensors that have dimensions of a group must be row-major, without gaps.
    """
    operation = spec.operation
    if operation.accumulates or any(spec.levels) or prod(spec.sizes) > MAX_SIZE:
        return NO_JOINING
    units = tuple(dict.fromkeys(_units(spec)))
    at_once = reduced_at_once(operation, [] if _few_columns(spec) else [operation.dims])
    for whole in dict.fromkeys((at_once, operation)):
        joining = Joining(_groups(spec, whole, Joining(units=units)), units)
        if joining.groups and joined(operation, joining):
            return joining
    return NO_JOINING


def _few_columns(spec: Spec) -> bool:
    """Whether an input and the result end in the same short dimension.

    Reductions of few columns are better made one after the other, the first of longer rows.
    """
    *inputs, out = (operand.dims[-1:] for operand in spec.operation.operands)
    return out in inputs and all(spec.size(name) < FEW for name in axis(*out).names)


def _units(spec: Spec) -> Iterator[str]:
    """The dimensions of size 1 of convolutions that are along filters, or count images."""
    for component, dims in _primitives(spec.operation):
        if component.lowers_to is None or component.grouped:
            continue
        image = component.axes[0]
        windows = {window.names[0]: window.names[1:] for window in image}
        along = {name for names in windows.values() for name in names}
        counted = {name for name in windows if name not in component.reduced and not windows[name]}
        for dim, text in zip(component.dims, dims, strict=True):
            if dim in along | counted and all(spec.size(name) == 1 for name in axis(text).names):
                yield from axis(text).names


def _groups(spec: Spec, operation: Operation, units: Joining) -> tuple[tuple[str, ...], ...]:
    """The longest groups of dimensions that can be joined, in an operation that is the spec's."""
    tensors = [units.names(operand.dims) for operand in operation.operands]
    gaps = {
        dim
        for operand, names in enumerate(tensors)
        if not spec.tensor(operand).plain
        for dim in names
    }
    for component in operation.components:
        operands = range(len(component.operation.operands))
        tensors += [units.names(component.operand_dims(operand)) for operand in operands]
    following: dict[str, str] = {}
    for first, second in {pair for names in tensors for pair in pairwise(names)}:
        together = all(
            (first, second) in pairwise(names) for names in tensors if {first, second} & {*names}
        )
        alike = _roles(operation, units, first) == _roles(operation, units, second)
        if together and alike and first not in gaps:
            following[first] = second
    groups = []
    for first in operation.dims:
        if first in following and first not in following.values():
            group = [first]
            while group[-1] in following:
                group.append(following[group[-1]])
            groups.append(tuple(group))
    return tuple(groups)


def _roles(operation: Operation, units: Joining, dim: str) -> list[tuple[bool, bool]]:
    """Whether each primitive that has a dimension reduces it, and whether loops may cut it."""
    return [
        (own in component.reduced, own in component.untiled)
        for component, dims in _primitives(operation)
        for own, text in zip(component.dims, dims, strict=True)
        if units.name(text) == dim
    ]


def _primitives(operation: Operation) -> Iterator[tuple[Operation, tuple[str, ...]]]:
    """The primitives of an operation, and their dimensions in it."""
    if operation.primitive is not None:
        yield operation, operation.dims
    for component in operation.components:
        yield component.operation, component.dims
