"""Arrays in layouts that NumPy has no strides for: panels, as flat arrays of their elements."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from morello.errors import SpecError, quoted
from morello.ir.dtype import DType
from morello.ir.layout import Layout
from morello.ir.spec import Spec
from morello.runtime.argument import Argument, Array, argument


def packed(values: Array, dtype: DType, layout: Layout) -> Array:
    """The values in this layout, one element after the other, from a cache line on.

    The last panel is filled up with zeros. Raises `SpecError` if the layout has another rank.
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
        flat[...] = values.transpose(layout.order).reshape(-1)
        return flat
    dim, width = layout.panel
    filled = [*shape]
    filled[dim] = extents[layout.order.index(dim)] * width
    whole = np.zeros(filled, values.dtype)
    whole[tuple(map(slice, shape))] = values
    cut = whole.reshape(*filled[:dim], filled[dim] // width, width, *filled[dim + 1 :])
    order = [d + (d > dim) for d in layout.order]
    inner = cut.transpose(*order, dim + 1)
    if layout.odd_even:
        inner = np.concatenate([inner[..., 0::2], inner[..., 1::2]], axis=-1)
    flat[...] = inner.reshape(-1)
    return flat


def laid_out(spec: Spec, arguments: Sequence[Argument], name: str, values: Array) -> Array:
    """Values of the input of this name, as the kernel of these arguments wants them."""
    inputs = [argument.name for argument in arguments if not argument.output]
    if name not in inputs:
        raise SpecError(
            f"{spec.expression} has no input {quoted(name)}; it has {', '.join(inputs)}."
        )
    tensor, wanted = spec.tensor(spec.arrays[name]), arguments[inputs.index(name)]
    if values.shape != tensor.shape or values.dtype != wanted.dtype.np:
        given = f"{values.dtype}[{','.join(map(str, values.shape))}]"
        raise SpecError(f"{name} is {tensor.type}, and not {given}.")
    if tensor.form.layout.panel is not None:
        return packed(values, tensor.dtype, tensor.form.layout)
    result = wanted.empty()
    result[...] = values
    return result
