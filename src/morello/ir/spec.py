"""Specs: an operation, its sizes, and what is known of every operand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import TypeVar

from morello.errors import SpecError
from morello.ir.dtype import F32, DType, result_dtype
from morello.ir.expression import expression
from morello.ir.layout import Layout, row_major
from morello.ir.operation import Operation
from morello.ir.primitives import MAX_BATCH_DIMS, matmul
from morello.ir.tensor import ALIAS_BYTES, Form, TensorSpec, canonical, gapless

MAX_SIZE = 2**31 - 1

Strides = tuple[int, ...] | None

_T = TypeVar("_T")


@dataclass(frozen=True)
class Spec:
    """What to compute, over which tensors. `sizes` follow `operation.dims`.

    `parallel` says that it may be spread over the target's cores. `strides` of a goal's
    operands, in elements by logical dimension, are given where they have gaps.

    `names` are what a goal's operands are called, if not as the operation calls them. Inputs
    of one name are one array. They make no difference to what is computed: Specs that differ
    in them alone are equal.
    """

    operation: Operation
    sizes: tuple[int, ...]
    levels: tuple[int, ...]
    forms: tuple[Form, ...]
    dtypes: tuple[DType, ...]
    parallel: bool = False
    strides: tuple[Strides, ...] = ()
    names: tuple[str, ...] = field(default=(), compare=False)

    def size(self, dim: str) -> int:
        return self.sizes[self.operation.dims.index(dim)]

    def shape(self, operand: int) -> tuple[int, ...]:
        return self.operation.extents(operand, self.sizes)

    def tensor(self, operand: int) -> TensorSpec:
        return TensorSpec(
            self.shape(operand), self.dtypes[operand], self.levels[operand], self.forms[operand]
        )

    @property
    def tensors(self) -> tuple[TensorSpec, ...]:
        return tuple(self.tensor(i) for i in range(len(self.operation.operands)))

    @property
    def flops(self) -> int:
        """Arithmetic operations on numbers, a multiplication and an addition counted apart."""
        return _flops(self.operation, dict(zip(self.operation.dims, self.sizes, strict=True)))

    @property
    def bytes(self) -> int:
        """The size of all arrays together."""
        return sum(self.tensor(operand).bytes for operand in self.arrays.values())

    # ---- names

    def name(self, operand: int) -> str:
        """The user's name for an operand, or else the operation's."""
        return self.names[operand] if self.names else self.operation.operands[operand].name

    def names_in(self, part: Operation) -> dict[str, str]:
        """The user's names for a part's operands, by the part's own names for them."""
        if not self.names or (self.operation.components and not part.components):
            return {}
        called: dict[str, str] = {}
        for operand, name in zip(self.operation.operands, self.names, strict=True):
            if name not in called.values():
                called[operand.name] = name
        return called

    @property
    def arrays(self) -> dict[str, int]:
        """The distinct arrays by name, the output last, each with the first operand that it is."""
        found: dict[str, int] = {}
        for operand in range(len(self.forms)):
            found.setdefault(self.name(operand), operand)
        return found

    def spread(self, arrays: Sequence[_T]) -> list[_T]:
        """One array per input operand, given one per distinct array."""
        named = dict(zip(self.arrays, arrays, strict=False))
        return [named[self.name(i)] for i in range(len(self.forms)) if i != self.operation.output]

    @property
    def expression(self) -> str:
        """The text that names this Spec as a goal, as `frontends.text` reads it.

        Being parallel is no part of it. Text cannot say Specs that accumulate, write several
        outputs, or have operands nearer than main memory or with gaps of unknown sizes; what
        is said of those reads well, and is no expression.
        """
        result, text = self.tensor(self.operation.output), self._type(self.operation.output)
        return expression(
            self.operation,
            self.sizes,
            self.dtypes,
            [self._type(operand) for operand in range(len(self.forms))],
            self.names,
            placed=not result.plain or text != result.type,
        )

    def _type(self, operand: int) -> str:
        one = self.tensor(operand)
        if one.level:
            return f"{one.type} at level {one.level}"
        strides = self.strides[operand] if self.strides else None
        if one.form != canonical(
            one.shape, form_of(one.shape, one.form.layout, strides, one.dtype)
        ):
            return f"{one.type} with gaps"
        return one.type + ("" if strides is None else f"S({','.join(map(str, strides))})")

    def __str__(self) -> str:
        dims = zip(self.operation.dims, self.sizes, strict=True)
        return f"{self.operation}({', '.join(f'{d}={s}' for d, s in dims)})"


def _flops(operation: Operation, sizes: dict[str, int]) -> int:
    if operation.components:
        return sum(
            _flops(c.operation, {d: a.extent(sizes) for d, a in c.axes.items()})
            for c in operation.components
        )
    name = operation.name.removesuffix("Accum")
    if operation.copies or name in ("Broadcast", "OnePrefix", "Cast"):
        return 0
    each = {"Matmul": 2, "Conv": 2, "Softmax": 4}.get(name, 3 if "Softmax" in name else 1)
    return each * prod(sizes[d] for d in operation.dims)


def goal(
    operation: Operation,
    sizes: Sequence[int],
    dtypes: Sequence[DType],
    *,
    layouts: Sequence[Layout | None] = (),
    strides: Sequence[Strides] = (),
    names: Sequence[str] = (),
    parallel: bool = False,
) -> Spec:
    """The Spec of an operation whose operands all lie in main memory.

    `layouts` are row-major unless given, and gapless unless `strides` (in elements) say
    otherwise; `names` are the operation's own unless given. Raises `SpecError` for sizes that
    no tensor has.
    """
    for dim, size in zip(operation.dims, sizes, strict=True):
        if not 1 <= size <= MAX_SIZE:
            raise SpecError(f"{operation}: {dim} is {size}; sizes go from 1 to {MAX_SIZE}.")
    forms: list[Form] = []
    gaps: list[Strides] = []
    for operand in range(len(operation.operands)):
        shape = operation.extents(operand, sizes)
        layout = (layouts[operand] if layouts else None) or row_major(len(shape))
        stride = strides[operand] if strides else None
        form = form_of(shape, layout, stride, dtypes[operand])
        forms.append(canonical(shape, form))
        if stride is not None and form != gapless(layout):
            gaps.append(tuple(1 if n == 1 else s for n, s in zip(shape, stride, strict=True)))
        else:
            gaps.append(None)
    kept = tuple(gaps) if any(s is not None for s in gaps) else ()
    levels = (0,) * len(forms)
    called = () if list(names) == [o.name for o in operation.operands] else tuple(names)
    return Spec(
        operation, tuple(sizes), levels, tuple(forms), tuple(dtypes), parallel, kept, called
    )


def form_of(shape: tuple[int, ...], layout: Layout, strides: Strides, dtype: DType) -> Form:
    """The form of a tensor with these strides: contiguous as far as they are those of none."""
    if strides is None:
        return gapless(layout)
    dense, contiguous = 1, 0
    for dim in reversed(layout.order):
        if strides[dim] != dense and shape[dim] > 1:
            break
        contiguous += 1
        dense *= shape[dim]
    if contiguous == len(layout.order):
        return gapless(layout)
    outer = layout.order[: len(layout.order) - contiguous]
    rest = [strides[d] for d in outer if shape[d] > 1]
    aliased = any(step * dtype.bytes % ALIAS_BYTES == 0 for step in rest)
    return Form(layout, contiguous, aliased)


def matmul_spec(
    a: tuple[int, ...],
    b: tuple[int, ...],
    *,
    layouts: Sequence[Layout | None] = (None, None, None),
    dtypes: Sequence[DType] = (),
    strides: Sequence[Strides] = (),
) -> Spec:
    """The goal a[..., m, k] @ b[..., k, n], all operands in main memory, f32 unless said.

    Raises `SpecError` for shapes that cannot be multiplied.
    """
    where = f"[{','.join(map(str, a))}] @ [{','.join(map(str, b))}]"
    if len(a) < 2 or len(b) < 2:
        raise SpecError(f"{where}: matmul takes matrices; write a vector as [1,n] or [n,1].")
    if any(not 1 <= size <= MAX_SIZE for size in (*a, *b)):
        raise SpecError(f"{where}: every size must be at least 1 and at most {MAX_SIZE}.")
    if a[:-2] != b[:-2]:
        raise SpecError(f"{where}: the batch sizes {list(a[:-2])} and {list(b[:-2])} differ.")
    if len(a) - 2 > MAX_BATCH_DIMS:
        raise SpecError(
            f"{where}: at most {MAX_BATCH_DIMS} batch dimensions are taken; flatten the others."
        )
    if a[-1] != b[-2]:
        raise SpecError(
            f"{where}: inner sizes {a[-1]} and {b[-2]} differ; "
            f"the right operand should have {a[-1]} rows."
        )
    kinds = tuple(dtypes) or (F32, F32, F32)
    return goal(matmul(len(a) - 2), (*a, b[-1]), kinds, layouts=layouts, strides=strides)


def product_dtype(a: DType, b: DType) -> DType:
    """What the products of these types are summed in; raises `SpecError` if there is nothing."""
    found = result_dtype(a, b)
    if found is None:
        raise SpecError(
            f"{a} and {b} cannot be multiplied; both must be floating-point or both integer, "
            f"and of 32 bits only together: convert one, as in cast({a}[...], {b})."
        )
    return found
