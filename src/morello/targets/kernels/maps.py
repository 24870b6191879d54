"""Kernels that apply a function to every element, in registers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from morello.ir.batch import Batch
from morello.ir.dtype import DType
from morello.ir.functions import (
    BINARY,
    BITWISE,
    COMPARISONS,
    INTEGER_FUNCTIONS,
    ONLY_INTEGERS,
    OPERATORS,
    TERNARY,
    UNARY,
    Function,
)
from morello.ir.placements import prod_columns
from morello.targets.kernels.names import kind_of
from morello.targets.target import Column, Condition, Group, InRegisters, LeafKernel

CYCLES = {
    "atan2": 18.0, "cos": 20.0, "sin": 20.0,
    "abs": 0.5, "add": 0.5, "cast": 0.3, "ceil": 1.0, "divide": 8.0, "erf": 14.0, "erfc": 17.0,
    "exp": 6.5, "exp2": 6.5, "expm1": 7.5, "floor": 1.0, "gelu": 16.0, "gelu_tanh": 14.0,
    "leaky_relu": 1.5, "left_shift": 1.5, "log": 11.0, "log1p": 11.5, "log2": 11.0, "maximum": 1.5,
    "minimum": 1.5, "multiply": 0.5, "neg": 0.5, "reciprocal": 8.0, "relu": 0.5,
    "remainder": 8.0, "right_shift": 1.5, "round": 1.0, "rsqrt": 16.0, "sigmoid": 14.0,
    "sign": 1.5, "silu": 14.0, "softplus": 17.0, "sqrt": 10.0, "square": 0.5, "subtract": 0.5,
    "tanh": 14.0, "where": 2.0,
    **dict.fromkeys(COMPARISONS, 1.5), **dict.fromkeys(("bitwise_not", *BITWISE), 0.5),
}  # fmt: skip
"""Cycles that each function takes on one register."""

QUOTIENT: Mapping[int, float] = {1: 4.5, 2: 11.0, 4: 6.0}
"""Cycles of a quotient of two integers of so many bytes: no instruction divides several."""

QUOTIENT_BY_CONSTANT = 3.0
"""Cycles of a register of quotients by a number that compilers know, as they multiply instead."""

_GROUPS: dict[str, Group] = dict.fromkeys(
    ("divide", "quotient", "reciprocal", "remainder", "rsqrt", "sqrt"), "divisions"
)
_GROUPS |= dict.fromkeys(
    (
        "atan2", "cos", "erf", "erfc", "exp", "exp2", "expm1", "gelu", "gelu_tanh", "log", "log1p",
        "log2", "sigmoid", "silu", "sin", "softplus", "tanh",
    ),
    "exponentials",
)  # fmt: skip

SPLAT = 0.2


def maps(dtype: DType, width: int) -> tuple[LeafKernel, ...]:
    """Every function of one register, or of several, some of which may be broadcast scalars."""
    of_floats = [name for name in (*UNARY, *BINARY, *TERNARY) if name not in ONLY_INTEGERS]
    known = of_floats if dtype.is_float else sorted(INTEGER_FUNCTIONS)
    kernels: list[LeafKernel] = []
    kernels += _broadcasts(dtype, width)
    for name in known:
        if name == "cast":  # a broadcast, or else a move
            continue
        if name in UNARY:
            kernels += _unary(name, dtype, width)
        else:
            kernels += [*_of_several(name, dtype, width), *_of_constant(name, dtype, width)]
    return tuple(kernels)


def _broadcasts(dtype: DType, width: int) -> list[LeafKernel]:
    """A scalar broadcast into a register, and copies of a register."""
    kind, held = kind_of(dtype, width), InRegisters(width)
    splat = "{x}" if width == 1 else f"splat_{kind}({{x}})"

    def make(operation: str, name: str, source: InRegisters | None, value: str) -> LeafKernel:
        line = f"{{out}} = {value};"
        return _kernel("cast", f"{name}_{kind}", dtype, (source, held), line, operation)

    return [
        make("Broadcast", "broadcast_scalar", None, splat),
        make("Broadcast", "broadcast", held, "{x}"),
        make("OnePrefix", "one_prefix", held, "{x}"),
    ]


def _unary(name: str, dtype: DType, width: int) -> list[LeafKernel]:
    kind, held = kind_of(dtype, width), InRegisters(width)
    text = f"{name}_{kind}({{x}})"
    if dtype.is_float:
        text = {"neg": "-{x}", "square": "{x} * {x}"}.get(name, text)
    return [_kernel(name, f"{name}_{kind}", dtype, (held, held), f"{{out}} = {text};")]


def _of_several(name: str, dtype: DType, width: int) -> list[LeafKernel]:
    """A function of two or three operands, not all of which are scalars."""
    kind = kind_of(dtype, width)
    kernels = []
    for scalars, values, held in _operands("ab" if name in BINARY else "abc", dtype, width):
        text = _combined(name, dtype, kind, *values)
        line = f"{{out}} = {text};"
        kernels.append(_kernel(name, f"{name}_{kind}{scalars}", dtype, held, line))
    return kernels


def _of_constant(name: str, dtype: DType, width: int) -> list[LeafKernel]:
    """A function of one or two operands, not all of which are scalars, and of a number."""
    kind = kind_of(dtype, width)
    constant = "{constant}" if width == 1 else f"splat_{kind}({{constant}})"
    operation = Function(name, constant=0.0).title
    limit = {"maximum": "at_least", "minimum": "at_most"}.get(name)
    kernels = []
    for scalars, values, held in _operands("x" if name in BINARY else "ab", dtype, width):
        if limit and dtype.is_float:  # in one instruction, as the constant is not NaN
            text = f"{limit}_{kind}({{constant}}, {{x}})"
        else:
            text = _combined(name, dtype, kind, *values, constant)
        full, line = f"{name}_{kind}_constant{scalars}", f"{{out}} = {text};"
        kernels.append(_kernel(name, full, dtype, held, line, operation))
    return kernels


def _operands(
    names: str, dtype: DType, width: int
) -> Iterator[tuple[str, list[str], tuple[InRegisters | None, ...]]]:
    """For each set of operands that may be scalars: a suffix, all as C, and how they are held.

    The output, which is held last, is in registers.
    """
    held, splat = InRegisters(width), f"splat_{kind_of(dtype, width)}"
    for scalars in ("", "a", "b", "c", "ab", "ac", "bc"):
        if (scalars and width == 1) or not set(scalars) < set(names):
            continue
        values = [f"{splat}({{{n}}})" if n in scalars else f"{{{n}}}" for n in names]
        holds = tuple(None if n in scalars else held for n in names)
        yield f"_{scalars}_scalar" if scalars else "", values, (*holds, held)


def _combined(name: str, dtype: DType, kind: str, *values: str) -> str:
    """C for a function of several registers."""
    if dtype.is_float and name in OPERATORS:
        return f" {OPERATORS[name]} ".join(values)
    if name in COMPARISONS:
        return f"truth_{kind}({f' {COMPARISONS[name]} '.join(values)})"
    helper = {"maximum": "max", "minimum": "min"}.get(name, name)
    return f"{helper}_{kind}({', '.join(values)})"


def _kernel(
    function: str,
    name: str,
    dtype: DType,
    held: tuple[InRegisters | None, ...],
    line: str,
    operation: str = "",
) -> LeafKernel:
    def applies(s: Batch) -> Iterator[Condition]:
        """Operands are in registers as the output is; a broadcast one is a single element."""
        out = len(held) - 1
        for operand, register in enumerate(held[:-1]):
            label = s.operation.operands[operand].name
            if register is None:
                single = prod_columns(s.shape(operand)) == 1
                yield Condition(single, f"{label} must be one element")
            else:
                alike = _lie_alike(s, operand, out)
                yield Condition(alike, f"{label} and out must lie alike in registers")

    def cost(s: Batch) -> Column:
        each = _cycles(function, dtype, held) + SPLAT * (None in held)
        cycles: Column = each * s.registers(len(held) - 1)
        return cycles

    def semantics(*values: Any, constant: float | None = None) -> Any:
        return Function(function, constant)(*(np.asarray(v) for v in values))

    operation = operation or Function(function).title
    return LeafKernel(
        name, operation, (dtype,) * len(held), held, line, semantics, applies, cost, registers=2,
        group=_GROUPS.get(function, "arithmetic"),
    )  # fmt: skip


def _cycles(function: str, dtype: DType, held: tuple[InRegisters | None, ...]) -> float:
    """The cycles of a register of the output, which is held last."""
    if function != "quotient":
        return CYCLES[function]
    *inputs, out = held
    width = out.width if out else 1
    return QUOTIENT_BY_CONSTANT if len(inputs) == 1 else QUOTIENT[dtype.bytes] * width


def _lie_alike(s: Batch, operand: int, out: int) -> Any:
    """Where two operands have the same elements in the same registers."""
    a, b = s.codes[operand], s.codes[out]
    same_shape = s.operation.operands[operand].dims == s.operation.operands[out].dims
    flat = prod_columns(s.shape(operand)) == prod_columns(s.shape(out))
    if not same_shape:  # dimensions that one of them lacks are 1 in the other
        inner = s.registers(out) == 1
        return flat & inner & (s.registers(operand) == 1)
    return s.placements.alike(a, b)


def divide_by_scalar(dtype: DType, width: int) -> tuple[LeafKernel, ...]:
    """Division of registers, in place, by a scalar: exactly, or times its reciprocal."""
    kind, held = kind_of(dtype, width), InRegisters(width)
    splat = "{denominator}" if width == 1 else f"splat_{kind}({{denominator}})"
    inverse = "1.0f / {denominator}"
    if width > 1:
        inverse = f"splat_{kind}({inverse})"

    def applies(s: Batch) -> Iterator[Condition]:
        yield Condition(prod_columns(s.shape(0)) == 1, "denominator must be one element")

    def make(name: str, line: str, first: float, each: float) -> LeafKernel:
        def cost(s: Batch) -> Column:
            cycles: Column = first + each * s.registers(1)
            return cycles

        return LeafKernel(
            name, "DivideVecScalar", (dtype, dtype), (None, held), line,
            lambda denominator, out: out / denominator, applies, cost,
            registers=1, group="divisions",
        )  # fmt: skip

    return (
        make(f"divide_scalar_{kind}", f"{{out}} = {{out}} / {splat};", SPLAT, CYCLES["divide"]),
        make(f"scale_reciprocal_{kind}", f"{{out}} *= {inverse};", 6.0, 0.5),
    )
