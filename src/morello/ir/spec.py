"""Specs: an operation, its sizes, and what is known of every operand."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from morello.errors import SpecError
from morello.ir.dtype import F32, DType
from morello.ir.layout import Layout
from morello.ir.operation import Operation, matmul
from morello.ir.tensor import Form, TensorSpec, canonical, gapless

MAX_SIZE = 2**31 - 1


@dataclass(frozen=True)
class Spec:
    """What to compute, over which tensors. `sizes` follow `operation.dims`."""

    operation: Operation
    sizes: tuple[int, ...]
    levels: tuple[int, ...]
    forms: tuple[Form, ...]
    dtypes: tuple[DType, ...]

    def size(self, dim: str) -> int:
        return self.sizes[self.operation.dims.index(dim)]

    def shape(self, operand: int) -> tuple[int, ...]:
        return tuple(self.sizes[d] for d in self.operation.spans[operand])

    def tensor(self, operand: int) -> TensorSpec:
        return TensorSpec(
            self.shape(operand), self.dtypes[operand], self.levels[operand], self.forms[operand]
        )

    @property
    def tensors(self) -> tuple[TensorSpec, ...]:
        return tuple(self.tensor(i) for i in range(len(self.operation.operands)))

    @property
    def flops(self) -> int:
        """Floating-point operations, a multiplication and an addition counted apart."""
        return 2 * prod(self.sizes) if self.operation.reduced else 0

    @property
    def expression(self) -> str:
        """The text that names this Spec as a goal, as `frontends.text` reads it."""
        if not self.operation.reduced:
            return str(self)
        a, b, c = self.tensors
        return f"{a.type} @ {b.type}" + ("" if c.plain else f" -> {c.type}")

    def __str__(self) -> str:
        dims = zip(self.operation.dims, self.sizes, strict=True)
        return f"{self.operation}({', '.join(f'{d}={s}' for d, s in dims)})"


def matmul_spec(
    a: tuple[int, ...],
    b: tuple[int, ...],
    *,
    layouts: tuple[Layout | None, Layout | None, Layout | None] = (None, None, None),
    dtypes: tuple[DType, DType, DType] = (F32, F32, F32),
) -> Spec:
    """The goal a[..., m, k] @ b[..., k, n], all operands gapless in main memory.

    Raises `SpecError` for shapes that cannot be multiplied.
    """
    where = f"[{','.join(map(str, a))}] @ [{','.join(map(str, b))}]"
    if len(a) < 2 or len(b) < 2:
        raise SpecError(f"{where}: matmul takes matrices; write a vector as [1,n] or [n,1].")
    if any(not 1 <= size <= MAX_SIZE for size in (*a, *b)):
        raise SpecError(f"{where}: every size must be at least 1 and at most {MAX_SIZE}.")
    if a[:-2] != b[:-2]:
        raise SpecError(f"{where}: the batch sizes {list(a[:-2])} and {list(b[:-2])} differ.")
    if len(a) > 4:
        raise SpecError(f"{where}: at most two batch dimensions are taken; flatten the others.")
    if a[-1] != b[-2]:
        raise SpecError(
            f"{where}: inner sizes {a[-1]} and {b[-2]} differ; "
            f"the right operand should have {a[-1]} rows."
        )
    operation = matmul(len(a) - 2)
    shapes = (a, b, (*a[:-1], b[-1]))
    forms = tuple(
        canonical(s, gapless(layout or Layout(tuple(range(len(s))))))
        for s, layout in zip(shapes, layouts, strict=True)
    )
    return Spec(operation, (*a, b[-1]), (0, 0, 0), forms, dtypes)
