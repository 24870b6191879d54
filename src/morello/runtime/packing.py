"""Arrays in layouts that NumPy has no strides for: panels, as flat arrays of their elements.

The plain values of such an input are an array of its shape, row-major.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from morello.errors import SpecError, quoted
from morello.ir.dtype import DType
from morello.ir.layout import Layout, row_major
from morello.ir.spec import Spec
from morello.ir.tensor import TensorSpec, gapless
from morello.runtime.argument import Argument, Array, argument, arguments
from morello.runtime.explain import check_unmasked, dtype_code


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


def laid_out(spec: Spec, arguments: Sequence[Argument], name: str, values: ArrayLike) -> Array:
    """Values of the input of this name, as the kernel of these arguments wants them.

    Raises `SpecError` if they are no array of its shape and dtype, `CallError` if masked.
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
    if tensor.form.layout.panel is not None:
        return packed(array, tensor.dtype, tensor.form.layout)
    result = wanted.empty()
    result[...] = array
    return result


def _as_array(name: str, tensor: TensorSpec, values: ArrayLike) -> Array:
    try:
        return np.asarray(values)
    except Exception as error:  # whatever an object raises when it is asked for an array
        kind = type(values).__name__
        raise SpecError(
            f"{name} is {tensor.type}, and this {kind} is no array ({type(error).__name__}); "
            f"pass a NumPy array of shape {tensor.shape}."
        ) from None


def plain(spec: Spec) -> Spec:
    """The Spec of the plain values: row-major where it has panels."""
    forms = (
        gapless(row_major(form.layout.rank)) if form.layout.panel else form for form in spec.forms
    )
    return replace(spec, forms=tuple(forms))


def lay_out(spec: Spec, values: Sequence[Array]) -> list[Array]:
    """Inputs that are given as plain values, as a kernel of the Spec takes them."""
    layouts = [(spec.dtypes[i], spec.forms[i].layout) for i in spec.arrays.values()]
    return [
        packed(one, dtype, layout) if layout.panel else one
        for one, (dtype, layout) in zip(values, layouts, strict=False)
    ]


@dataclass(frozen=True)
class Inputs:
    """Values for all inputs of a Spec: plain ones, and the same as `CompiledKernel.fast` takes."""

    plain: tuple[Array, ...]
    taken: tuple[Array, ...]


def random_inputs(spec: Spec, seed: int = 0) -> Inputs:
    """Inputs of moderate size; see `Argument.random`."""
    random = np.random.default_rng(seed)
    values = tuple(one.random(random) for one in arguments(plain(spec))[:-1])
    made = zip(lay_out(spec, values), arguments(spec), strict=False)
    return Inputs(values, tuple(array.view(one.raw) for array, one in made))
