"""Inputs packed into panels, a layout that NumPy strides cannot describe, as flat arrays.

The plain values of such an input are a row-major array of its shape.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from morello.base.errors import SpecError, quoted
from morello.ir.dtype import DType
from morello.ir.layout import Layout, row_major
from morello.ir.spec import Spec
from morello.ir.tensor import TensorSpec, gapless
from morello.runtime.argument import Argument, Array, argument, arguments
from morello.runtime.call_errors import check_unmasked, dtype_code

T = TypeVar("T")

New = Callable[[Argument], Array]
"""Memory for an argument: a new array, aligned to a cache line."""


def packed(values: Array, dtype: DType, layout: Layout, new: New = Argument.empty) -> Array:
    """The values in this layout, as a new flat array.

    The last panel is padded with zeros. Raises `SpecError` if the layout has another rank.
    """
    if values.ndim != layout.rank:
        raise SpecError(
            f"an array of {values.ndim} dimensions has no layout {layout}; "
            f"pass one of {layout.rank}."
        )
    ordered = _ordered(values, layout)
    flat = new(argument("packed", dtype, (ordered.size,)))
    _copy(ordered, flat.reshape(ordered.shape))
    return flat


def _ordered(values: Array, layout: Layout) -> Array:
    """The values with their dimensions in the order of memory, that of a panel last.

    If there are groups, the dimension within one comes after it.
    """
    if layout.panel is None:
        return values.transpose(layout.order)
    shape = values.shape
    dim, width = layout.panel
    sizes = [*shape]
    sizes[dim] = layout.extents(shape)[layout.order.index(dim)] * width
    whole = values
    if sizes[dim] > shape[dim]:
        whole = np.zeros(sizes, values.dtype)
        whole[tuple(map(slice, shape))] = values
    cut = whole.reshape(*sizes[:dim], sizes[dim] // width, width, *sizes[dim + 1 :])
    order = [d + (d > dim) for d in layout.order]
    inner = cut.transpose(*order, dim + 1)
    if layout.groups > 1:
        *outer, rows, _ = inner.shape
        inner = inner.reshape(*outer, rows // layout.groups, layout.groups, width)
        return inner.swapaxes(-1, -2)
    if layout.odd_even:
        inner = np.concatenate([inner[..., 0::2], inner[..., 1::2]], axis=-1)
    return inner


def laid_out(
    spec: Spec,
    arguments: Sequence[Argument],
    name: str,
    values: ArrayLike,
    new: New = Argument.empty,
) -> Array:
    """The values of the input `name` in the layout that the kernel's arguments ask for, copied.

    Raises `SpecError` if there is no such input, or the values are no array of its shape and
    dtype; `CallError` if they are a masked array.
    """
    inputs = [argument.name for argument in arguments if not argument.output]
    if not isinstance(name, str) or name not in inputs:
        raise SpecError(
            f"{spec.expression} has no input {quoted(name)}; it has {', '.join(inputs)}."
        )
    tensor, wanted = spec.tensor(spec.arrays[name]), arguments[inputs.index(name)]
    check_unmasked(name, values)
    array = _as_array(name, tensor, values)
    if array.shape != tensor.shape or array.dtype != wanted.dtype.np:
        given = f"{array.dtype}[{','.join(map(str, array.shape))}]"
        convert = f"np.asarray({name}, dtype={dtype_code(wanted)})"
        remedy = (
            f"convert with {convert}" if array.shape == tensor.shape else "pass one of its shape"
        )
        raise SpecError(f"{name} is {tensor.type}, and not {given}; {remedy}.")
    if tensor.placement.layout.panel is not None:
        return packed(array, tensor.dtype, tensor.placement.layout, new)
    result = new(wanted)
    _copy(array, result)
    return result


def lies_in(memory: Array, spec: Spec, argument: Argument, values: Array) -> bool:
    """Whether memory, a flat array, has these values as `laid_out` lays them out, to the bit."""
    if argument.in_panels:
        values = _ordered(values, spec.placements[spec.arrays[argument.name]].layout)
        laid = memory.reshape(values.shape)
    else:
        laid = np.lib.stride_tricks.as_strided(memory, argument.shape, argument.strides)
    return all(_done(_are_equal, values, laid))


def _are_equal(values: Array, laid: Array) -> bool:
    """Whether two arrays are equal, compared as the second one lies in memory."""
    copy = np.empty_like(laid)
    copy[...] = values
    return np.array_equal(copy, laid)


_BLOCK = 64
"""The elements that `_copy` writes one after the other."""


_MANY_BYTES = 1 << 24
"""Arrays of at least so many bytes are copied and compared by several threads."""

_PIECE_BYTES = 1 << 22
"""The bytes that a thread goes through at a time, about."""


def _copy(values: Array, result: Array) -> None:
    """Copy values into an array of their dtype that may have other strides."""
    for _ in _done(_copy_part, values, result):
        pass


def _copy_part(values: Array, result: Array) -> None:
    result[...] = values


def _done(task: Callable[[Array, Array], T], values: Array, result: Array) -> Iterator[T]:
    """The results of a task for each part of two arrays; threads share the parts of large ones."""
    parts = _parts(values, result)
    if result.nbytes < _MANY_BYTES:
        for part in parts:
            yield task(*part)
        return
    from morello.runtime.threads import available_threads  # slow to import, and seldom needed

    pieces = [piece for part in parts for piece in _pieces(*part)]
    with ThreadPoolExecutor(available_threads()) as threads:
        yield from threads.map(task, *zip(*pieces, strict=True))


def _pieces(values: Array, result: Array) -> Iterator[tuple[Array, Array]]:
    """Pieces of two arrays, cut along the longest dimension, that several threads may share."""
    longest = result.shape.index(max(result.shape))
    count = min(result.shape[longest], math.ceil(result.nbytes / _PIECE_BYTES))
    return zip(*(np.array_split(each, count, longest) for each in (values, result)), strict=True)


def _parts(values: Array, result: Array) -> Iterator[tuple[Array, Array]]:
    """Parts of two arrays of one shape and dtype that are to be gone through together, as bits.

    If neighbours in the memory of the result lie apart in that of the values, a block of them at a
    time, so that lines that are read stay in caches until all of their elements are.
    """
    values, result = _as_words(values, result)
    if not values.size or _nearest(values) == (axis := _nearest(result)):
        yield values, result
        return
    read, written = np.moveaxis(values, axis, 0), np.moveaxis(result, axis, 0)
    for low in range(0, len(written), _BLOCK):
        yield read[low : low + _BLOCK], written[low : low + _BLOCK]


def _as_words(values: Array, result: Array) -> tuple[Array, Array]:
    """Two arrays as bits: of elements that are neighbours in both, as many as a word has.

    NumPy copies elements one at a time, and each of those of bfloat16 by a call.
    """
    size = result.itemsize
    together = result.shape[-1:] if values.strides[-1:] == result.strides[-1:] == (size,) else (1,)
    words = [n for n in (8, 4, 2) if n > size and math.prod(together) * size % n == 0]
    bits = np.dtype(f"u{words[0] if words else size}")
    return values.view(bits), result.view(bits)


def _nearest(array: Array) -> int:
    """The dimension whose elements are nearest to each other."""
    strides = [
        step if size > 1 else math.inf
        for step, size in zip(array.strides, array.shape, strict=True)
    ]
    return strides.index(min(strides)) if strides else 0


def _as_array(name: str, tensor: TensorSpec, values: ArrayLike) -> Array:
    try:
        return np.asarray(values)
    except Exception as error:  # an object may raise anything when converted
        kind = type(values).__name__
        raise SpecError(
            f"{name} is {tensor.type}, and this {kind} is no array ({type(error).__name__}); "
            f"pass a NumPy array of shape {tensor.shape}."
        ) from None


def plain(spec: Spec) -> Spec:
    """The Spec of the plain values, with row-major layouts in place of panels."""
    placements = (
        gapless(row_major(placement.layout.rank)) if placement.layout.panel else placement
        for placement in spec.placements
    )
    return replace(spec, placements=tuple(placements))


def lay_out(spec: Spec, values: Sequence[Array]) -> list[Array]:
    """Plain input values, in the layouts that a kernel of the Spec takes."""
    layouts = [(spec.dtypes[i], spec.placements[i].layout) for i in spec.arrays.values()]
    return [
        packed(array, dtype, layout) if layout.panel else array
        for array, (dtype, layout) in zip(values, layouts, strict=False)
    ]


@dataclass(frozen=True)
class Inputs:
    """Values for all inputs of a Spec: plain, and `taken` as `CompiledKernel.fast` takes them."""

    plain: tuple[Array, ...]
    taken: tuple[Array, ...]


def random_inputs(spec: Spec) -> Inputs:
    """Random inputs of moderate magnitude, see `Argument.random`, and numbers of all rows.

    Numbers of matrices are sorted, as grouped products have them.
    """
    random = np.random.default_rng(0)
    taken = [argument for argument in arguments(plain(spec)) if not argument.output]
    values = tuple(argument.random(random) for argument in taken)
    rows, primitive = _rows(spec), spec.operation.primitive
    grouped = primitive is not None and bool(primitive.chosen)
    for array, operand in zip(values, spec.arrays.values(), strict=False):
        if operand in rows:
            numbers = random.integers(0, rows[operand], array.shape)
            array[...] = np.sort(numbers) if grouped else numbers
    pairs = zip(lay_out(spec, values), arguments(spec), strict=False)
    return Inputs(values, tuple(array.view(expected.raw) for array, expected in pairs))


def _rows(spec: Spec) -> dict[int, int]:
    """Of each operand that numbers rows of another, or matrices, the number of these."""
    rows: dict[int, int] = {}
    for part in spec.parts:
        operation = part.operation
        for index in operation.primitive.indices if operation.primitive else ():
            own = operation.operands[index].dims
            numbered = next(dim for dim in operation.untiled if dim not in own)
            rows[part.inputs[index]] = part.sizes[numbered]
    return rows


def random_outputs(arguments: Sequence[Argument]) -> tuple[Array, ...]:
    """New outputs, as `CompiledKernel.fast` takes them, with random numbers to update."""
    random = np.random.default_rng(1)
    outputs = [argument for argument in arguments if argument.output]
    return tuple((x.random(random) if x.updated else x.empty()).view(x.raw) for x in outputs)


def packing_bytes(spec: Spec) -> int:
    """The most bytes that `lay_out` takes at once: panels, and on the way to them two copies."""
    return sum(
        3 * spec.tensor(i).bytes
        for i in spec.arrays.values()
        if spec.placements[i].layout.panel is not None
    )
