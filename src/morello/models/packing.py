"""Constants in the layouts that kernels take them in, packed once for all programs of a process."""

from __future__ import annotations

from collections.abc import Hashable
from math import prod
from weakref import WeakValueDictionary

import numpy as np

from morello.graph.graph import Array
from morello.graph.operators import Constant
from morello.graph.views import View
from morello.ir.layout import Layout
from morello.kernel import Kernel
from morello.runtime.argument import same_strides
from morello.runtime.packing import lies_in

_MANY_BYTES = 1 << 20
"""The least bytes of constants that are shared with programs that packed them before."""

_before: WeakValueDictionary[Hashable, Array] = WeakValueDictionary()
"""Packed constants that are still in use, by the address, shape and strides of the unpacked one,
the argument of the kernel, and the layout."""


def packed(view: View, kernel: Kernel, number: int) -> Array:
    """The memory of a constant in the layout that the kernel takes it in, as a flat array.

    Programs share it: such as one for the first words of a text, and one for each word that
    follows. It is compared with the constant, which may have changed since.
    """
    assert isinstance(view.base.operator, Constant)
    argument, layout = kernel.arguments[number], panels(kernel, number)
    array = np.ascontiguousarray(view.base.operator.array)
    words, array = array.itemsize // argument.dtype.bytes, array.view(argument.dtype.np)
    if words > 1:  # a copy of numbers that are wider than a word
        view = view.in_words(words)
    shape = kernel.spec.shape(kernel.spec.arrays[argument.name]) if layout else argument.shape
    long = [d for d, size in enumerate(view.shape) if size > 1]
    different = [d for d in long if view.strides[d]]
    # A copy may read what is repeated, too; of equal numbers, as often as they are in one dimension
    ways = different, long, *(sorted((*different, d)) for d in long if not view.strides[d])
    read = next(way for way in ways if prod(view.shape[d] for d in way) == prod(shape))
    sizes = [view.shape[d] for d in read] or [1]
    strides = [view.strides[d] * array.itemsize for d in read] or [array.itemsize]
    values = np.ndarray(sizes, array.dtype, array, view.offset * array.itemsize, strides)
    if values.shape != shape:  # a kernel that keeps dimensions of size 1
        values = values.reshape(shape)
    size = argument.extent // array.itemsize
    if layout is None and same_strides(argument, values.strides):
        return _flat(values, size)
    key = values.ctypes.data, shape, values.strides, argument, layout
    earlier = _before.get(key) if values.nbytes >= _MANY_BYTES else None
    if earlier is not None and lies_in(earlier, kernel.spec, argument, values):
        return earlier
    # NumPy asks for large pages where there are any
    result = _flat(kernel.pack(argument.name, values), size)
    if values.nbytes >= _MANY_BYTES:
        _before[key] = result
    return result


def panels(kernel: Kernel, number: int) -> Layout | None:
    """The layout of an argument that a kernel takes in panels; None for others.

    Its Spec, which takes long to read, is asked for if there are panels.
    """
    argument = kernel.arguments[number]
    if not argument.in_panels:
        return None
    return kernel.spec.placements[kernel.spec.arrays[argument.name]].layout


def _flat(values: Array, size: int) -> Array:
    """The first `size` elements of an array's memory."""
    return np.lib.stride_tricks.as_strided(values, (size,), (values.itemsize,))
