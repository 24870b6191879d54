"""Specs: an operation, its sizes, and the dtype, memory level and placement of every operand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import TypeVar

from morello.base.errors import SpecError
from morello.ir.dtype import F32, DType, result_dtype
from morello.ir.expression import expression
from morello.ir.layout import Layout, row_major
from morello.ir.operation import Operation
from morello.ir.primitives import MAX_RANK, contraction, matmul_labels
from morello.ir.tensor import Placement, TensorSpec, aliased_at, canonical, gapless

MAX_SIZE = 2**31 - 1
MAX_BYTES = 2**63 - 1
"""The most bytes from the first element of a tensor to the last: addresses are 64-bit integers."""

Strides = tuple[int, ...] | None

_T = TypeVar("_T")


@dataclass(frozen=True)
class SpecPart:
    """A primitive in a Spec: its sizes, and the numbers and the dtypes of its inputs.

    Numbers are those of operands, or of intermediate results (see `ir.compose`).
    """

    operation: Operation
    sizes: Mapping[str, int]
    inputs: tuple[int, ...]
    dtypes: tuple[DType, ...]

    @property
    def flops(self) -> int:
        """The number of arithmetic operations; a multiplication and an addition count as two."""
        primitive = self.operation.primitive
        assert primitive is not None
        worked = (d for d in self.operation.dims if d not in primitive.idle)
        return primitive.flops * prod(self.sizes[d] for d in worked)

    @property
    def least_uses(self) -> int:
        """Of how many sums of products each element is a factor, in the input with the least."""
        operation = self.operation
        return min(prod(self.sizes[d] for d in operation.dims_without(n)) for n in operation.inputs)


@dataclass(frozen=True)
class Spec:
    """A computation on tensors. `sizes` are in the order of `operation.dims`.

    A `parallel` Spec may use all of the target's cores. `strides` are those of a goal's
    operands, in elements by logical dimension (None for an operand without gaps), or empty.

    `names` are the user's names for a goal's operands, empty for the operation's own names.
    Inputs with the same name are the same array. Specs that differ only in names are equal.
    """

    operation: Operation
    sizes: tuple[int, ...]
    levels: tuple[int, ...]
    placements: tuple[Placement, ...]
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
            self.shape(operand),
            self.dtypes[operand],
            self.levels[operand],
            self.placements[operand],
        )

    @property
    def tensors(self) -> tuple[TensorSpec, ...]:
        return tuple(self.tensor(i) for i in range(len(self.operation.operands)))

    @property
    def flops(self) -> int:
        """The number of arithmetic operations; a multiplication and an addition count as two."""
        return sum(part.flops for part in self.parts)

    @property
    def parts(self) -> tuple[SpecPart, ...]:
        """The primitives of a composition, or the only one."""
        operation = self.operation
        sizes = dict(zip(operation.dims, self.sizes, strict=True))
        if operation.primitive is not None:
            read = operation.inputs
            return (SpecPart(operation, sizes, read, tuple(self.dtypes[n] for n in read)),)
        dtypes = (*self.dtypes[:-1], *(component.dtype for component in operation.components))
        return tuple(
            SpecPart(
                component.operation,
                {d: axis.extent(sizes) for d, axis in component.axes.items()},
                component.inputs,
                tuple(dtypes[tensor] for tensor in component.inputs),
            )
            for component in operation.components
        )

    @property
    def bytes(self) -> int:
        """The total size of the distinct arrays, in bytes."""
        return sum(self.tensor(operand).bytes for operand in self.arrays.values())

    # ---- names

    def name(self, operand: int) -> str:
        """The user's name for an operand, or else the operation's name for it."""
        return self.names[operand] if self.names else self.operation.operands[operand].name

    def names_in(self, part: Operation) -> dict[str, str]:
        """The user's names for the operands of a part of this Spec, by the part's own names."""
        if not self.names or (self.operation.components and not part.components):
            return {}
        user_names: dict[str, str] = {}
        for operand, name in zip(self.operation.operands, self.names, strict=True):
            if name not in user_names.values():
                user_names[operand.name] = name
        return user_names

    @property
    def arrays(self) -> dict[str, int]:
        """The distinct arrays, the outputs last: the first operand with each name."""
        first_operands: dict[str, int] = {}
        for operand in range(len(self.placements)):
            first_operands.setdefault(self.name(operand), operand)
        return first_operands

    def per_operand(self, arrays: Sequence[_T]) -> list[_T]:
        """One array per input operand, given one per distinct array."""
        named = dict(zip(self.arrays, arrays, strict=False))
        return [named[self.name(i)] for i in self.operation.inputs]

    @property
    def expression(self) -> str:
        """The text that `frontends.text` parses as this goal. It leaves out `parallel`.

        There is no syntax for Specs that have operands above main memory, or gaps of unknown
        sizes; their text describes them, but cannot be parsed.
        """
        results = [(self.tensor(output), self._type(output)) for output in self.operation.outputs]
        return expression(
            self.operation,
            self.sizes,
            self.dtypes,
            [self._type(operand) for operand in range(len(self.placements))],
            self.names,
            placed=any(not tensor.plain or text != tensor.type for tensor, text in results),
        )

    def _type(self, operand: int) -> str:
        tensor = self.tensor(operand)
        if tensor.level:
            return f"{tensor.type} at level {tensor.level}"
        strides = self.strides[operand] if self.strides else None
        if tensor.placement != canonical(
            tensor.shape, placement_of(tensor.shape, tensor.placement.layout, strides, tensor.dtype)
        ):
            return f"{tensor.type} with gaps"
        return tensor.type + ("" if strides is None else f"S({','.join(map(str, strides))})")

    def __str__(self) -> str:
        dims = zip(self.operation.dims, self.sizes, strict=True)
        return f"{self.operation}({', '.join(f'{d}={s}' for d, s in dims)})"


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
    """The Spec of an operation with all operands in main memory.

    `layouts` default to row-major, `strides` (in elements) to those of gapless tensors, and
    `names` to the operation's own. Raises `SpecError` for a size outside 1 to `MAX_SIZE`, and for
    a tensor of more than `MAX_BYTES`.
    """
    for dim, size in zip(operation.dims, sizes, strict=True):
        if not 1 <= size <= MAX_SIZE:
            raise SpecError(f"{operation}: {dim} is {size}; sizes go from 1 to {MAX_SIZE}.")
    placements: list[Placement] = []
    gaps: list[Strides] = []
    for operand in range(len(operation.operands)):
        shape = operation.extents(operand, sizes)
        layout = (layouts[operand] if layouts else None) or row_major(len(shape))
        stride = strides[operand] if strides else None
        check_bytes(shape, stride, dtypes[operand])
        placement = placement_of(shape, layout, stride, dtypes[operand])
        placements.append(canonical(shape, placement))
        if stride is not None and placement != gapless(layout):
            gaps.append(tuple(1 if n == 1 else s for n, s in zip(shape, stride, strict=True)))
        else:
            gaps.append(None)
    kept = tuple(gaps) if any(s is not None for s in gaps) else ()
    levels = (0,) * len(placements)
    user_names = () if list(names) == [o.name for o in operation.operands] else tuple(names)
    return Spec(
        operation,
        tuple(sizes),
        levels,
        tuple(placements),
        tuple(dtypes),
        parallel,
        kept,
        user_names,
    )


def check_bytes(shape: tuple[int, ...], strides: Strides, dtype: DType) -> None:
    """Raise `SpecError` if the elements of a tensor are more than `MAX_BYTES` apart."""
    span = prod(shape)
    if strides is not None:
        span = 1 + sum((size - 1) * step for size, step in zip(shape, strides, strict=True))
    if span * dtype.bytes > MAX_BYTES:
        sizes = ",".join(map(str, shape))
        raise SpecError(f"{dtype}[{sizes}] has more than 2^63 bytes", "make the sizes smaller")


def placement_of(
    shape: tuple[int, ...], layout: Layout, strides: Strides, dtype: DType
) -> Placement:
    """The placement of a tensor with these strides, in elements, or without gaps if they are None.

    The innermost dimensions whose strides are those of a gapless tensor are contiguous.
    """
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
    counts = [aliased_at(strides[d] * dtype.bytes) for d in outer if shape[d] > 1]
    return Placement(layout, contiguous, min(filter(None, counts), default=0))


def matmul_spec(
    a: tuple[int, ...],
    b: tuple[int, ...],
    *,
    layouts: Sequence[Layout | None] = (None, None, None),
    dtypes: Sequence[DType] = (),
    strides: Sequence[Strides] = (),
) -> Spec:
    """The goal a @ b for operands of these shapes, by NumPy's rules; `dtypes` default to f32.

    Raises `SpecError` for shapes that cannot be multiplied.
    """
    matmul_shape(a, b)
    product = contraction(*matmul_labels(a, b))
    sizes: dict[str, int] = {}
    for operand, shape in zip(product.operands, (a, b), strict=False):
        sizes |= zip(operand.dims, shape, strict=True)
    kinds = tuple(dtypes) or (F32, F32, F32)
    named = [sizes.get(d, 1) for d in product.dims]
    return goal(product, named, kinds, layouts=layouts, strides=strides)


def matmul_shape(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of the product of tensors of these shapes; raises `SpecError` if there is none."""
    where = f"[{','.join(map(str, a))}] @ [{','.join(map(str, b))}]"
    if not 1 <= min(len(a), len(b)) <= max(len(a), len(b)) <= MAX_RANK:
        raise SpecError(f"{where}: tensors of 1 to {MAX_RANK} dimensions are taken")
    if any(not 1 <= size <= MAX_SIZE for size in (*a, *b)):
        raise SpecError(f"{where}: every size must be at least 1 and at most {MAX_SIZE}.")
    rows = b[-2:][0]
    if a[-1] != rows:
        raise SpecError(
            f"{where}: inner sizes {a[-1]} and {rows} differ",
            f"the right operand should have {a[-1]} {'rows' if len(b) > 1 else 'elements'}",
        )
    if any(1 != n != m != 1 for n, m in zip(a[-3::-1], b[-3::-1], strict=False)):
        what = f"{where}: the batch sizes {list(a[:-2])} and {list(b[:-2])} differ"
        raise SpecError(what, "they are aligned at the last, and 1 goes with any size")
    left, right, result = matmul_labels(a, b)
    sizes = dict(zip((*left, *right), (*a, *b), strict=True))
    return tuple(sizes.get(label, 1) for label in result)


def product_dtype(a: DType, b: DType) -> DType:
    """The default dtype of sums of products of these types; raises `SpecError` if there is none."""
    dtype = result_dtype(a, b)
    if dtype is None:
        raise SpecError(
            f"{a} and {b} cannot be multiplied",
            "both must be floating-point or both integer, and of 32 bits only together: convert "
            f"one, as in cast({a}[...], {b})",
        )
    return dtype
