"""Constants in the layouts that kernels take them in, packed once for all programs of a process."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from math import prod
from weakref import WeakValueDictionary

import numpy as np

from morello.base.large_pages import LARGE_ARRAY, LARGE_PAGE
from morello.graph.graph import Array
from morello.graph.operators import Constant
from morello.graph.views import View
from morello.ir.layout import Layout
from morello.kernel import Kernel
from morello.runtime.argument import CACHE_LINE, Argument, same_strides
from morello.runtime.packing import New, laid_out, lies_in

_MANY_BYTES = 1 << 20
"""The least bytes of constants that are shared with programs that packed them before."""

_LARGEST = 32 << 20
"""Arrays of more bytes lie mostly in large pages, wherever they begin."""

_before: WeakValueDictionary[Hashable, Array] = WeakValueDictionary()
"""Packed constants that are still in use, by the address, shape and strides of the unpacked one,
the argument of the kernel, and the layout."""


class PackedMemory:
    """Memory for packed constants, which lie there in large pages, one after the other.

    Arrays of their own lie in small pages unless they fill large ones; weights of 1 MB that come
    from memory are read from these at half the speed.
    """

    def __init__(self, constants: Iterable[Argument]) -> None:
        """There is room for each of these; those that fill large pages need none."""
        sizes = [_lines(constant) for constant in constants]
        count = sum(size for size in sizes if size <= _LARGEST)
        if count < LARGE_ARRAY:
            count = 0
        # NumPy asks for large pages where there are any
        memory = np.empty(count + LARGE_PAGE if count else 0, np.uint8)
        self._free = memory[-memory.ctypes.data % LARGE_PAGE :][:count]

    def empty(self, constant: Argument) -> Array:
        """Uninitialized memory for a constant: apart from these if there is no room for it."""
        count = _lines(constant)
        if count > min(_LARGEST, self._free.size):
            return constant.empty()
        memory, self._free = self._free[:count], self._free[count:]
        return constant.view(memory, 0)


def _lines(constant: Argument) -> int:
    """The bytes of a constant, in whole cache lines."""
    return -(-constant.extent // CACHE_LINE) * CACHE_LINE


def packed(view: View, kernel: Kernel, number: int, new: New = Argument.empty) -> Array:
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
    result = _flat(laid_out(kernel.spec, kernel.arguments, argument.name, values, new), size)
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
