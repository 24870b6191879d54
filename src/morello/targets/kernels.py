"""The kernels that every vector machine has, for a given dtype and vector width.

Each function returns kernels of one shape with everything about them in one place:
their C, their NumPy semantics, where they apply, their cost and their registers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from morello.ir.batch import Batch
from morello.ir.dtype import DType
from morello.ir.forms import prod_columns
from morello.targets.target import Column, Condition, Held, Kernel, c_type

# Cycles of one register's operation. Loads and broadcasts run beside the multiply-adds on
# other ports, and so cost less than their throughput alone.
MULTIPLY_ADD = 0.45
BROADCAST = 0.1
LOAD = 0.3
STORE = 1.0
MASK = 0.3
ZERO = 0.1


def standard_kernels(dtype: DType, widths: Sequence[int], masks: bool) -> tuple[Kernel, ...]:
    """All kernels of this file at each of these vector widths."""
    kernels: list[Kernel] = []
    for width in widths:
        if width > 1 or not masks:  # a masked register serves a scalar as well
            kernels += multiply_add(dtype, width)
        if width > 1:
            kernels.append(dot(dtype, width))
        for partial in (False, True) if masks and width > 1 else (False,):
            kernels += moves(dtype, width, partial)
            kernels.append(zero_memory(dtype, width, partial))
        kernels.append(zero_register(dtype, width))
    return tuple(kernels)


def multiply_add(dtype: DType, width: int) -> tuple[Kernel, ...]:
    """A scalar in L1, broadcast, times registers: adds to a row of c, or to a column."""
    kind = c_type(dtype, width)

    def cost(s: Batch) -> Column:
        cycles: Column = BROADCAST + MULTIPLY_ADD * s.registers(2)
        return cycles

    def along(dim: str) -> Held:
        return Held(width, dim if width > 1 else "")

    return (
        Kernel(
            f"fma_row_{kind}",
            "MatmulAccum",
            (None, along("n"), along("n")),
            "{c} += {a} * {b};",
            lambda a, b, c: c + a @ b,
            lambda s: _unit_sizes(s, but="n"),
            cost,
            registers=1,
        ),
        Kernel(
            f"fma_column_{kind}",
            "MatmulAccum",
            (along("m"), None, along("m")),
            "{c} += {a} * {b};",
            lambda a, b, c: c + a @ b,
            lambda s: _unit_sizes(s, but="m"),
            cost,
            registers=1,
        ),
    )


def dot(dtype: DType, width: int) -> Kernel:
    """The inner product of two runs in L1, added to a scalar register."""
    kind = c_type(dtype, width)

    def applies(s: Batch) -> Iterator[Condition]:
        yield from _unit_sizes(s, but="k")
        yield Condition(s.size("k") >= width, f"k must be at least {width}")
        yield _flat(s, 0, "a")
        yield _flat(s, 1, "b")

    def cost(s: Batch) -> Column:
        k = s.size("k")
        cycles: Column = 14.0 + (2 * LOAD + MULTIPLY_ADD) * (k // width) + 1.0 * (k % width)
        return cycles

    return Kernel(
        f"dot_{kind}",
        "MatmulAccum",
        (None, None, Held(1)),
        f"{{c}} += dot_{kind}(&{{a}}, &{{b}}, {{k}});",
        lambda a, b, c: c + a @ b,
        applies,
        cost,
        registers=6,
        helpers=(f"dot_{kind}",),
    )


def moves(dtype: DType, width: int, partial: bool) -> tuple[Kernel, ...]:
    """Load, store, and copy from memory to memory: one register's worth, or a part of it."""
    kind = c_type(dtype, width)
    part = "part_" if partial else ""
    size = ", {length}" if partial else ""
    load, store = f"load_{part}{kind}", f"store_{part}{kind}"
    load_call = f"{load}(&{{src}}{size})"
    extra = MASK * partial
    scalar = "{dst} = {src};"

    def load_applies(s: Batch) -> Iterator[Condition]:
        yield from _one_run(s, width, partial)
        yield Condition(s.registers(1) == 1, "dst must be one register")
        yield _flat(s, 0, "src")

    def store_applies(s: Batch) -> Iterator[Condition]:
        yield from _one_run(s, width, partial)
        yield Condition(s.registers(0) == 1, "src must be one register")
        yield _flat(s, 1, "dst")

    def copy_applies(s: Batch) -> Iterator[Condition]:
        yield from _one_run(s, width, partial)
        yield _flat(s, 0, "src")
        yield _flat(s, 1, "dst")

    return (
        Kernel(
            load,
            "Move",
            (None, Held(width)),
            scalar if width == 1 else f"{{dst}} = {load_call};",
            lambda src: src,
            load_applies,
            lambda s: LOAD + extra,
            helpers=() if width == 1 else (load,),
        ),
        Kernel(
            store,
            "Move",
            (Held(width), None),
            scalar if width == 1 else f"{store}(&{{dst}}, {{src}}{size});",
            lambda src: src,
            store_applies,
            lambda s: STORE + extra,
            helpers=() if width == 1 else (store,),
        ),
        Kernel(
            f"copy_{part}{kind}",
            "Move",
            (None, None),
            scalar if width == 1 else f"{store}(&{{dst}}, {load_call}{size});",
            lambda src: src,
            copy_applies,
            lambda s: LOAD + STORE + 2 * extra,
            registers=1,
            helpers=() if width == 1 else (load, store),
        ),
    )


def zero_register(dtype: DType, width: int) -> Kernel:
    """Zeros into one register."""
    kind = c_type(dtype, width)

    def applies(s: Batch) -> Iterator[Condition]:
        yield Condition(s.registers(0) == 1, "dst must be one register")

    return Kernel(
        f"zero_{kind}",
        "FillZero",
        (Held(width),),
        "{dst} = 0;" if width == 1 else f"{{dst}} = ({kind}){{{{0}}}};",
        lambda dst: np.zeros_like(dst),
        applies,
        lambda s: ZERO,
    )


def zero_memory(dtype: DType, width: int, partial: bool) -> Kernel:
    """Zeros into one register's worth of memory, or a part of it."""
    kind = c_type(dtype, width)
    part = "part_" if partial else ""
    size = ", {length}" if partial else ""
    store = f"store_{part}{kind}"

    def applies(s: Batch) -> Iterator[Condition]:
        yield from _one_run(s, width, partial)
        yield _flat(s, 0, "dst")

    return Kernel(
        f"zero_memory_{part}{kind}",
        "FillZero",
        (None,),
        "{dst} = 0;" if width == 1 else f"{store}(&{{dst}}, ({kind}){{{{0}}}}{size});",
        lambda dst: np.zeros_like(dst),
        applies,
        lambda s: STORE + MASK * partial,
        helpers=() if width == 1 else (store,),
    )


# ---- conditions that several kernels share


def _unit_sizes(s: Batch, but: str) -> Iterator[Condition]:
    """Every size is 1, except along the dimension `but`."""
    result = np.ones(len(s), np.bool_)
    for dim, size in zip(s.operation.dims, s.sizes, strict=True):
        if dim != but:
            result &= size == 1
    yield Condition(result, f"every size but {but} must be 1")


def _one_run(s: Batch, width: int, partial: bool) -> Iterator[Condition]:
    """The tile is one register's worth of elements along one dimension, or less of it."""
    length = prod_columns(s.sizes)
    wanted = f"fewer than {width}" if partial else f"exactly {width}"
    fits = (length < width) if partial else (length == width)
    yield Condition(fits, f"the tile must have {wanted} elements")
    longest = np.maximum.reduce(s.sizes)
    yield Condition(longest == length, "every size but one must be 1")


def _flat(s: Batch, operand: int, name: str) -> Condition:
    """The operand's elements, along the one dimension longer than 1, are neighbours."""
    shape = s.shape(operand)
    result = np.ones(len(s), np.bool_)
    for dim in range(len(shape)):
        result &= s.forms.unit_stride(s.codes[operand], shape, dim)
    return Condition(result, f"{name}'s elements must lie next to each other")
