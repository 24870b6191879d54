"""Where compositions are cut into pieces that are searched soon, and how long others may take.

Tensors and components are known by their numbers (see `ir.compose`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from math import inf, log2, prod

from morello.ir.axes import axis
from morello.ir.compose import batches_of, inputs_of, intermediates, part
from morello.ir.operation import Component, Operation
from morello.ir.spec import Spec
from morello.space.steps import cut_points
from morello.space.traits import is_long

MOST_SUMS = 3
"""The most sums and softmaxes of a piece: a layer norm and a softmax have so many."""

MOST_CUTS, MOST_CUTS_OF_SUMS = 3, 5
"""The most cuts of a piece with a product, whose bound takes far longer, and of one without."""

KIND, OPERAND = 4000, 1.5
"""As how many relaxed Specs a kind of them counts, however few it has; and how many times as many
there are for each operand."""

TILES = 1.6
"""How many sizes tiles have for each doubling of a dimension, about."""

ALONE, OF_PRODUCTS, OF_LONG = 3.0, 15.0, 1.0
"""As many relaxed Specs there are for each choice of sizes: without products, with, and of `long`
compositions (see `RuleTraits`)."""


@cache
def boundaries(operation: Operation) -> tuple[int, ...]:
    """The tensors between the pieces of a composition; none if it is a piece itself.

    A piece has one sum of products and what maps its factors and its result, or else a few sums. At
    each boundary, nothing else that was computed before is needed. If there is no such tensor
    between pieces, as in a sum of two products, it is one that a large piece computes.
    """
    first = inputs_of(operation)
    ends, piece = list[int](), list[int]()
    for block in _blocks(operation):
        joins = _is_piece(operation, [*piece, *block])
        joins |= _only_maps(operation, block) and not _is_piece(operation, piece)
        if piece and not joins:
            ends.append(first + piece[-1])
            piece = []
        piece += block
    if ends or not piece or _is_piece(operation, piece):
        return tuple(ends)
    return (_largest_piece(operation),)


def _blocks(operation: Operation) -> Iterator[list[int]]:
    """The components between tensors at which nothing else is needed, nor what sums have read."""
    first, block, needed_by = inputs_of(operation), list[int](), 0
    last_use = {t: n for n, user in enumerate(operation.components) for t in user.inputs}
    for number, component in enumerate(operation.components):
        if _sums(component):
            needed_by = max(needed_by, *(last_use[t] for t in component.inputs))
        block.append(number)
        if needed_by <= number:
            yield block
            block = []
        needed_by = max(needed_by, last_use.get(first + number, 0))


def _is_piece(operation: Operation, numbers: Sequence[int]) -> bool:
    """Whether these components, of which the last computes the result, may be a piece."""
    components = [operation.components[number] for number in numbers]
    products = sum(component.operation.is_product for component in components)
    sums = sum(map(_sums, components))
    inside = {inputs_of(operation) + number for number in numbers[:-1]}
    cuts = len(inside.intersection(cut_points(operation)))
    if products == 0:
        return sums <= MOST_SUMS and cuts <= MOST_CUTS_OF_SUMS
    return products == 1 and sums == 0 and cuts <= MOST_CUTS


def _only_maps(operation: Operation, numbers: Sequence[int]) -> bool:
    components = [operation.components[number] for number in numbers]
    return not any(each.operation.is_product or _sums(each) for each in components)


def _sums(component: Component) -> bool:
    """Whether a component is a sum or the like, or a softmax, but no sum of products."""
    operation = component.operation
    normalizes = operation.primitive is not None and operation.primitive.normalizes
    return not operation.is_product and (bool(operation.reduced) or normalizes)


def _largest_piece(operation: Operation) -> int:
    """The tensor that is computed by the most components of those that a piece computes."""
    needed = {t: _needed(operation, t) for t in intermediates(operation)}
    pieces = [t for t, numbers in needed.items() if _is_piece(operation, numbers)]
    return max(pieces, key=lambda t: len(needed[t]))


def _needed(operation: Operation, tensor: int) -> list[int]:
    """The components that a tensor is computed by."""
    first, needed, todo = inputs_of(operation), set[int](), [tensor]
    while todo:
        number = todo.pop() - first
        if number not in needed:
            needed.add(number)
            todo += [t for t in operation.components[number].inputs if t >= first]
    return sorted(needed)


def effort(spec: Spec, most: float = inf) -> float:
    """About how many relaxed Specs the bound of a Spec has, if not more than so many."""
    operation = spec.operation
    each = ALONE
    if operation.sums_products:
        each = OF_LONG if is_long(operation) else OF_PRODUCTS
    total = 0.0
    for kind, sizes in _kinds(operation, spec.sizes):
        whole = {*kind.untiled, *batches_of(kind)}
        tiled = [n for n, dim in zip(sizes, kind.dims, strict=True) if dim not in whole]
        counts = [1 + TILES * log2(size) for size in tiled]
        total += KIND + each * prod(counts) * OPERAND ** len(kind.operands)
        if total > most:
            break
    return total


def _kinds(
    operation: Operation, sizes: tuple[int, ...]
) -> Iterator[tuple[Operation, tuple[int, ...]]]:
    """All that cutting a composition leaves, over and over, with their sizes."""
    known, todo = set[tuple[Operation, tuple[int, ...]]](), [(operation, sizes)]
    while todo:
        kind = todo.pop()
        if kind in known:
            continue
        known.add(kind)
        yield kind
        operation, sizes = kind
        named = dict(zip(operation.dims, sizes, strict=True))
        result = inputs_of(operation) + len(operation.components) - 1
        for tensor in cut_points(operation):
            for piece in part(operation, tensor), part(operation, result, (tensor,)):
                extents = tuple(int(axis(dim).extent(named)) for dim in piece.dims)
                todo.append((piece.operation, extents))
