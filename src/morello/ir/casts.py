"""Casts of 16-bit floats that need no operation of their own: kernels load and store them as f32.

    cast(x, f32) - y      ->  x - y, in f32
    cast(exp(y), bf16)    ->  exp(y), in bf16

So the text of such an operation has the casts, and a computation does not.
"""

from __future__ import annotations

from morello.ir.dtype import F32
from morello.ir.operation import Operation
from morello.ir.rounding import narrow
from morello.ir.text import Text


def converts(operation: Operation) -> bool:
    """Whether an operation's kernels take any floats, as f32: a function, or a reduction of one."""
    if operation.windows or operation.is_product:
        return False
    reduces = bool(operation.reduced) and len(operation.operands) == 2
    return operation.function is not None or reduces


def widened(argument: Text) -> Text:
    """The text of an argument, cast to f32 if it is of 16-bit floats."""
    return Text(f"cast({argument.text}, f32)", F32) if narrow(argument.dtype) else argument
