"""The C of a kernel's calls: its line of C, filled in with its operands and sizes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from morello.codegen.statements import Call
from morello.codegen.views import MemoryView, RegisterView
from morello.ir.dtype import DType


def kernel_lines(call: Call, called: Mapping[str, str]) -> list[str]:
    """The lines of a call, one for each register, or just one; `called` are names' identifiers."""
    kernel, spec, operation = call.kernel, call.spec, call.spec.operation
    names: dict[str, str | int] = dict(zip(operation.dims, spec.sizes, strict=True))
    names["length"], names["elements"] = max(spec.sizes), math.prod(spec.sizes)
    names["reduced"] = math.prod(names[dim] for dim in operation.reduced)
    names["scanned"] = next((names[dim] for dim in operation.untiled), 1)
    if operation.function is not None and operation.function.constant is not None:
        names["constant"] = _literal(operation.function.constant, spec.dtypes[-1])
    held: dict[str, list[str]] = {}
    for index, (operand, view) in enumerate(zip(operation.operands, call.views, strict=True)):
        if isinstance(view, RegisterView):
            held[operand.name] = view.registers(called)
            continue
        names[operand.name] = view.first(called)
        names |= {f"{operand.name}_{dim}": 0 for dim in operation.dims}
        for position, axis in enumerate(operation.axes[index]):
            for dim, stride in axis.terms:
                names[f"{operand.name}_{dim}"] = view.step(position) * stride
        names[f"{operand.name}_rows"] = _row_stride(view)
        names[f"{operand.name}_panel"] = view.layout.panel[1] if view.layout.panel else 1
    lines = [
        kernel.c.format(
            **names | {name: registers[i % len(registers)] for name, registers in held.items()},
            register=i,
        )
        for i in range(call.repeats)
    ]
    if kernel.in_order:
        lines.append(_in_order(held.get(operation.operands[operation.output].name, [])))
    return lines


def _in_order(registers: Sequence[str]) -> str:
    """An asm statement that keeps the loads after it behind the computation of these registers.

    Clang hoists loads. Where sums and operands fill all registers, it then spills sums in the
    innermost loop, which takes twice as long if there are 16 registers, and up to 1.2 times if
    there are 32. The constraint is for any vector register.
    """
    operands = ", ".join(f'"+v"({register})' for register in registers)
    return f'__asm__ volatile("" : {operands});'


def _literal(value: float, dtype: DType) -> str:
    """A constant as C."""
    if not dtype.is_float:
        return f"({int(value)})"
    if math.isfinite(value):
        return f"({float(value)!r}f)"
    return "(0.0f / 0.0f)" if math.isnan(value) else f"({'-' if value < 0 else ''}1.0f / 0.0f)"


def _row_stride(view: MemoryView) -> int:
    """The stride of the only dimension, besides the fastest, that is longer than 1; else 0."""
    fastest = view.layout.physical[-1]
    steps = [view.step(i) for i, d in enumerate(view.dims) if d != fastest and view.shape[d] > 1]
    return steps[0] if len(steps) == 1 else 0
