"""Inputs packed into panels, a layout that NumPy strides cannot describe, as flat arrays.

The plain values of such an input are a row-major array of its shape.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from morello.base.errors import SpecError, quoted
from morello.ir.dtype import DType
from morello.ir.layout import Layout, row_major
from morello.ir.spec import Spec
from morello.ir.tensor import TensorSpec, gapless
from morello.runtime.argument import Argument, Array, argument, arguments
from morello.runtime.call_errors import check_unmasked, dtype_code


def packed(values: Array, dtype: DType, layout: Layout) -> Array:
    """The values in this layout, as a flat array that is aligned to a cache line.

    The last panel is padded with zeros. Raises `SpecError` if the layout has another rank.
    """
    if values.ndim != layout.rank:
        raise SpecError(
            f"an array of {values.ndim} dimensions has no layout {layout}; "
            f"pass one of {layout.rank}."
        )
    shape = values.shape
    extents = layout.extents(shape)
    flat = argument("packed", dtype, (math.prod(extents),)).empty()
    if layout.panel is None:
        _copy(values.transpose(layout.order), flat.reshape(extents))
        return flat
    dim, width = layout.panel
    sizes = [*shape]
    sizes[dim] = extents[layout.order.index(dim)] * width
    whole = values
    if sizes[dim] > shape[dim]:
        whole = np.zeros(sizes, values.dtype)
        whole[tuple(map(slice, shape))] = values
    cut = whole.reshape(*sizes[:dim], sizes[dim] // width, width, *sizes[dim + 1 :])
    order = [d + (d > dim) for d in layout.order]
    inner = cut.transpose(*order, dim + 1)
    if layout.odd_even:
        inner = np.concatenate([inner[..., 0::2], inner[..., 1::2]], axis=-1)
    _copy(inner, flat.reshape(inner.shape))
    return flat


def laid_out(spec: Spec, arguments: Sequence[Argument], name: str, values: ArrayLike) -> Array:
    """The values of the input `name`, in the layout that the kernel's arguments ask for.

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
        return packed(array, tensor.dtype, tensor.placement.layout)
    result = wanted.empty()
    _copy(array, result)
    return result


_BLOCK = 64
"""The elements that `_copy` writes one after the other."""


_MANY_BYTES = 1 << 24
"""From so many on, arrays are copied by several threads."""


def _copy(values: Array, result: Array) -> None:
    """Copy values into an array that may have other strides.

    If its neighbours in memory lie apart in that of the values, a block of them at a time, so that
    lines that are read stay in caches until all of their elements are. Many blocks are copied by
    several threads.
    """
    if not values.size or _nearest(values) == (axis := _nearest(result)):
        result[...] = values
        return
    read, written = np.moveaxis(values, axis, 0), np.moveaxis(result, axis, 0)

    def copy_block(low: int) -> None:
        written[low : low + _BLOCK] = read[low : low + _BLOCK]

    blocks = range(0, len(written), _BLOCK)
    if result.nbytes < _MANY_BYTES:
        for low in blocks:
            copy_block(low)
        return
    from morello.runtime.threads import available_threads  # slow to import, and seldom needed

    with ThreadPoolExecutor(available_threads()) as threads:
        for copied in [threads.submit(copy_block, low) for low in blocks]:
            copied.result()


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


def random_inputs(spec: Spec, seed: int = 0) -> Inputs:
    """Random inputs of moderate magnitude; see `Argument.random`."""
    random = np.random.default_rng(seed)
    taken = [argument for argument in arguments(plain(spec)) if not argument.output]
    values = tuple(argument.random(random) for argument in taken)
    pairs = zip(lay_out(spec, values), arguments(spec), strict=False)
    return Inputs(values, tuple(array.view(expected.raw) for array, expected in pairs))


def random_outputs(arguments: Sequence[Argument], seed: int = 1) -> tuple[Array, ...]:
    """New outputs, as `CompiledKernel.fast` takes them, with random numbers to update."""
    random = np.random.default_rng(seed)
    outputs = [argument for argument in arguments if argument.output]
    return tuple((x.random(random) if x.updated else x.empty()).view(x.raw) for x in outputs)


def packing_bytes(spec: Spec) -> int:
    """The most bytes that `lay_out` takes at once: panels, and on the way to them two copies."""
    return sum(
        3 * spec.tensor(i).bytes
        for i in spec.arrays.values()
        if spec.placements[i].layout.panel is not None
    )
