"""The kernels that every vector machine has, for a given dtype and vector width.

Each function returns kernels of one shape with everything about them in one place:
their C, their NumPy semantics, where they apply, their cost and their registers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from morello.ir.batch import Batch
from morello.ir.dtype import DType
from morello.ir.forms import Bools
from morello.targets.target import Column, Condition, Kernel, c_type

# Cycles of one register's operation. Loads and broadcasts run beside the multiply-adds on
# other ports, and so cost less than their throughput alone.
MULTIPLY_ADD = 0.5
BROADCAST = 0.15
LOAD = 0.2
STORE = 0.6
MASK = 0.3
ZERO = 0.1


def standard_kernels(
    dtype: DType, widths: Sequence[int], registers: int, masks: bool
) -> tuple[Kernel, ...]:
    """All kernels of this file at each of these vector widths.

    `registers` is the index of the register file among the target's levels.
    """
    kernels: list[Kernel] = []
    for width in widths:
        kernels += multiply_add(dtype, width, registers)
        if width > 1:
            kernels.append(dot(dtype, width, registers))
        for partial in (False, True) if masks and width > 1 else (False,):
            kernels += moves(dtype, width, registers, partial)
            kernels.append(zero_memory(dtype, width, registers, partial))
        kernels.append(zero_register(dtype, width, registers))
    return tuple(kernels)


def multiply_add(dtype: DType, width: int, registers: int) -> tuple[Kernel, ...]:
    """A scalar in L1, broadcast, times registers: adds to a row of c, or to a column."""
    kind = c_type(dtype, width)

    def row(s: Batch) -> Iterator[Condition]:
        yield _near(s, 0, "a", registers)
        yield from _held(s, 1, "b", dtype, width, registers)
        yield from _held(s, 2, "c", dtype, width, registers)
        yield Condition(_unit_sizes(s, but="n"), "every size but n must be 1")
        yield Condition(_along(s, 1, len(s.shape(1)) - 1), "registers of b must run along n")
        yield Condition(_along(s, 2, len(s.shape(2)) - 1), "registers of c must run along n")

    def column(s: Batch) -> Iterator[Condition]:
        yield _near(s, 1, "b", registers)
        yield from _held(s, 0, "a", dtype, width, registers)
        yield from _held(s, 2, "c", dtype, width, registers)
        yield Condition(_unit_sizes(s, but="m"), "every size but m must be 1")
        yield Condition(_along(s, 0, len(s.shape(0)) - 2), "registers of a must run along m")
        yield Condition(_along(s, 2, len(s.shape(2)) - 2), "registers of c must run along m")

    def cost(s: Batch) -> Column:
        cycles: Column = BROADCAST + MULTIPLY_ADD * s.registers(2)
        return cycles

    return tuple(
        Kernel(
            f"fma_{name}_{kind}",
            "MatmulAccum",
            "{c} += {a} * {b};",
            lambda a, b, c: c + a @ b,
            applies,
            cost,
            registers=1,
        )
        for name, applies in (("row", row), ("column", column))
    )


def dot(dtype: DType, width: int, registers: int) -> Kernel:
    """The inner product of two runs in L1, added to a scalar register."""
    kind = c_type(dtype, width)

    def applies(s: Batch) -> Iterator[Condition]:
        yield _near(s, 0, "a", registers)
        yield _near(s, 1, "b", registers)
        yield from _held(s, 2, "c", dtype, 1, registers)
        yield Condition(_unit_sizes(s, but="k"), "every size but k must be 1")
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
        f"{{c}} += dot_{kind}(&{{a}}, &{{b}}, {{k}});",
        lambda a, b, c: c + a @ b,
        applies,
        cost,
        registers=6,
        helpers=(f"dot_{kind}",),
    )


def moves(dtype: DType, width: int, registers: int, partial: bool) -> tuple[Kernel, ...]:
    """Load, store, and copy from memory to memory: one register's worth, or a part of it."""
    kind = c_type(dtype, width)
    part = "part_" if partial else ""
    size = ", {length}" if partial else ""
    load_name, store_name = f"load_{part}{kind}", f"store_{part}{kind}"
    load_call = f"{load_name}(&{{src}}{size})"
    extra = MASK * partial

    def load_applies(s: Batch) -> Iterator[Condition]:
        yield _near(s, 0, "src", registers)
        yield from _held(s, 1, "dst", dtype, width, registers)
        yield from _one_run(s, width, partial)
        yield _flat(s, 0, "src")

    def store_applies(s: Batch) -> Iterator[Condition]:
        yield _near(s, 1, "dst", registers)
        yield from _held(s, 0, "src", dtype, width, registers)
        yield from _one_run(s, width, partial)
        yield _flat(s, 1, "dst")

    def copy_applies(s: Batch) -> Iterator[Condition]:
        yield _near(s, 0, "src", registers)
        yield _near(s, 1, "dst", registers)
        yield from _one_run(s, width, partial)
        yield _flat(s, 0, "src")
        yield _flat(s, 1, "dst")

    def kernel(
        name: str,
        line: str,
        applies: Callable[[Batch], Iterator[Condition]],
        cost: float,
        helpers: tuple[str, ...],
    ) -> Kernel:
        return Kernel(
            name,
            "Move",
            "{dst} = {src};" if width == 1 else line,
            lambda src: src,
            applies,
            lambda s: cost,
            registers=1 if name.startswith("copy") else 0,
            helpers=() if width == 1 else helpers,
        )

    copy_line = f"{store_name}(&{{dst}}, {load_call}{size});"
    return (
        kernel(load_name, f"{{dst}} = {load_call};", load_applies, LOAD + extra, (load_name,)),
        kernel(
            store_name,
            f"{store_name}(&{{dst}}, {{src}}{size});",
            store_applies,
            STORE + extra,
            (store_name,),
        ),
        kernel(
            f"copy_{part}{kind}",
            copy_line,
            copy_applies,
            LOAD + STORE + 2 * extra,
            (load_name, store_name),
        ),
    )


def zero_register(dtype: DType, width: int, registers: int) -> Kernel:
    """Zeros into one register."""
    kind = c_type(dtype, width)

    def applies(s: Batch) -> Iterator[Condition]:
        yield from _held(s, 0, "dst", dtype, width, registers)
        yield Condition(s.registers(0) == 1, "dst must be one register")

    return Kernel(
        f"zero_{kind}",
        "FillZero",
        "{dst} = 0;" if width == 1 else f"{{dst}} = ({kind}){{{{0}}}};",
        lambda dst: np.zeros_like(dst),
        applies,
        lambda s: ZERO,
    )


def zero_memory(dtype: DType, width: int, registers: int, partial: bool) -> Kernel:
    """Zeros into one register's worth of memory, or a part of it."""
    kind = c_type(dtype, width)
    part = "part_" if partial else ""
    size = ", {length}" if partial else ""

    def applies(s: Batch) -> Iterator[Condition]:
        yield _near(s, 0, "dst", registers)
        yield from _one_run(s, width, partial)
        yield _flat(s, 0, "dst")

    return Kernel(
        f"zero_memory_{part}{kind}",
        "FillZero",
        "{dst} = 0;"
        if width == 1
        else f"store_{part}{kind}(&{{dst}}, ({kind}){{{{0}}}}{size});",
        lambda dst: np.zeros_like(dst),
        applies,
        lambda s: STORE + MASK * partial,
        helpers=() if width == 1 else (f"store_{part}{kind}",),
    )


# ---- conditions that several kernels share


def _near(s: Batch, operand: int, name: str, registers: int) -> Condition:
    return Condition(s.levels[operand] == registers - 1, f"{name} must be in L1")


def _held(
    s: Batch, operand: int, name: str, dtype: DType, width: int, registers: int
) -> Iterator[Condition]:
    """The operand is held in registers of this width."""
    reason = f"{name} must be in registers of {c_type(dtype, width)}"
    yield Condition(s.levels[operand] == registers, reason)
    yield Condition(s.forms.vector[s.codes[operand]] == width, reason)


def _along(s: Batch, operand: int, dim: int) -> Bools:
    """The operand's registers run along this of its dimensions."""
    codes = s.codes[operand]
    result: Bools = (s.forms.fastest[codes] == dim) | s.forms.ideal[codes]
    return result


def _unit_sizes(s: Batch, but: str) -> Bools:
    """Every size is 1, except along the dimension `but`."""
    result = np.ones(len(s), np.bool_)
    for dim, size in zip(s.operation.dims, s.sizes, strict=True):
        if dim != but:
            result &= size == 1
    return result


def _one_run(s: Batch, width: int, partial: bool) -> Iterator[Condition]:
    """The tile is one register's worth of elements along one dimension, or less of it."""
    length = np.prod(np.stack(s.sizes).astype(np.int64), axis=0)
    wanted = f"fewer than {width}" if partial else f"exactly {width}"
    fits = (length < width) if partial else (length == width)
    yield Condition(fits, f"the tile must have {wanted} elements")
    longest = np.max(np.stack(s.sizes), axis=0)
    yield Condition(longest == length, "every size but one must be 1")


def _flat(s: Batch, operand: int, name: str) -> Condition:
    """The operand's elements, along the one dimension longer than 1, are neighbours."""
    shape = s.shape(operand)
    result = np.ones(len(s), np.bool_)
    for dim in range(len(shape)):
        result &= s.forms.unit_stride(s.codes[operand], shape, dim)
    return Condition(result, f"{name}'s elements must lie next to each other")
