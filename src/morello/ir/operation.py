"""Operations: what a Spec computes, as named dimensions and the operands they index."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache, cached_property
from typing import Any

import numpy.typing as npt

from morello.ir.axes import Axis, axis, renamed
from morello.ir.dtype import DType
from morello.ir.functions import Function
from morello.ir.rounding import Bounded, Bounds
from morello.ir.text import Result, Text

Array = npt.NDArray[Any]


def _no_reference(operation: Operation, inputs: Sequence[Array]) -> tuple[Array, ...]:
    raise ValueError(f"{operation} has no reference")


@dataclass(frozen=True, eq=False, repr=False)
class Primitive:
    """All that is known of a primitive, which has an operation for each rank of its operands.

    `variants` lists the operations that one read from a file may be: all of them, or those with
    the same parameters. Three functions take an operation of the primitive. `evaluate` computes
    its outputs from its inputs. `bound` computes its outputs in float64, and bounds on the error
    of a kernel, from its inputs and the dtypes of all operands. `text` writes it in the language
    of expressions, given the texts of its inputs. Along dimensions that no input has, a computed
    output may be of size 1.
    """

    name: str
    variants: Callable[[Operation], Iterable[Operation]]
    bound: Callable[[Operation, Sequence[Bounded], Sequence[DType]], Bounds]
    text: Callable[[Operation, Sequence[Text], Result], Text]
    evaluate: Callable[[Operation, Sequence[Array]], tuple[Array, ...]] = _no_reference
    flops: int = 1
    """The arithmetic operations at each point of the iteration space."""
    idle: tuple[str, ...] = ()
    """The dimensions that add none: each is another one, counted in larger units."""
    is_product: bool = False
    """Whether the primitive sums products, and so reads its inputs many times: layouts matter."""
    in_bytes: bool = False
    """Whether the primitive quantizes its inputs to bytes, and sums products of these."""
    contracts: str = ""
    """The dimension along which kernels multiply and add, one step after the other, if any."""
    groups: str = ""
    """The dimension along which groups of factors may be packed, if it `contracts` none itself."""
    lowers_to: Primitive | None = None
    """The primitive that rewrites turn it into, and whose kernels implement it, if not its own."""
    tiled_lowered: tuple[str, ...] = ()
    """The dimensions that the search tiles only after it is lowered."""
    ungrouped: Primitive | None = None
    """The primitive that it is for a single group, along the dimension g, if it has groups."""
    pools: bool = False
    """Whether the primitive reduces windows of an image, whose sizes no input tells.

    It is evaluated on views of the image with an axis for each dimension of the windows.
    """
    sized: bool = False
    """Whether no input tells the sizes of the output.

    It is evaluated on an array of zeros with these sizes, and then its inputs.
    """
    copies: bool = False
    """Whether the primitive only moves data, or fills a tensor with a constant."""
    rearranges: bool = False
    """Whether the output has the elements of the input, at other places."""
    normalizes: bool = False
    """Whether the output has exponentials of the input, divided by their sum."""
    selects: bool = False
    """Whether each element of the output is one of several elements of the input."""
    indices: tuple[int, ...] = ()
    """The operands that number the elements of others: these may be integers of 64 bits."""
    stored: tuple[int, ...] = ()
    """The operands that are weights in a format of their own, and so in one layout."""
    chosen: str = ""
    """The dimension of the matrices of which each row chooses one by its number, if rows do."""
    counts: DType | None = None
    """The dtype of its output, if that counts elements and has not the first input's dtype."""
    keeps_integers: bool = True
    """Whether the outputs are integers whenever the inputs, and the constant, are."""
    filled: Callable[[DType], float] | None = None
    """The constant, of a dtype, that it fills its output with, if any."""
    start: str = ""
    """The initial value of a reduction's output: "zero", "lowest" or "highest"."""
    absorbs: tuple[str, Callable[[Operation], Operation]] | None = None
    """A function whose results its kernels need not store, and what makes an operation of both.

    Its first input is mapped by the function, and has the dimensions of the result.
    """
    merge: Callable[[int], Operation] | None = None
    """The operation that merges the partial results of a split reduction, if it can be split.

    Its argument is the rank of the partial results, which lie along their last dimension.
    """

    @property
    def accumulating_name(self) -> str:
        """The name of its operations that accumulate."""
        return f"{self.name}Accum"

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Operand:
    """An operand's name and its dims: names of dimensions, or windows (see `ir.axes`).

    A `written` operand is overwritten, unless it is `updated` in place or the operation
    accumulates into it; `start` is the initial value of an accumulator: "zero", "lowest" or
    "highest".
    """

    name: str
    dims: tuple[str, ...]
    written: bool = False
    start: str = ""
    updated: bool = False


@dataclass(frozen=True, eq=False)
class Operation:
    """A primitive, or a composition of primitives. Operands are the inputs, then the outputs.

    Operations are hash-consed by `operation`, so they are compared by identity. A composition
    has `components` and no `primitive`. `reduced` are the reduction dimensions; an operation that
    `accumulates` combines its results with the contents of its outputs. Dimensions in `untiled`
    are never cut by loops. `function` is applied to every element by an elementwise operation.
    """

    primitive: Primitive | None
    dims: tuple[str, ...]
    operands: tuple[Operand, ...]
    reduced: tuple[str, ...] = ()
    untiled: tuple[str, ...] = ()
    accumulates: bool = False
    function: Function | None = None
    components: tuple[Component, ...] = ()

    @cached_property
    def name(self) -> str:
        """The name that kernels give for what they compute: "Matmul", or "MatmulAccum"."""
        if self.primitive is None:
            return "ComposeAccum" if self.accumulates else "Compose"
        return self.primitive.accumulating_name if self.accumulates else self.primitive.name

    @cached_property
    def axes(self) -> tuple[tuple[Axis, ...], ...]:
        """The axes of each operand: how each of its dimensions is indexed."""
        return tuple(tuple(axis(d) for d in o.dims) for o in self.operands)

    @cached_property
    def places(self) -> dict[tuple[int, str], tuple[int, int]]:
        """The position and stride of the axis with a dimension, by operand and dimension."""
        return {
            (operand, name): (position, stride)
            for operand, axes in enumerate(self.axes)
            for position, operand_axis in enumerate(axes)
            for name, stride in operand_axis.terms
        }

    @property
    def output(self) -> int:
        """The index of the last operand, which is written."""
        return len(self.operands) - 1

    @cached_property
    def inputs(self) -> tuple[int, ...]:
        """The operands that are only read; they come before the outputs."""
        return tuple(i for i, operand in enumerate(self.operands) if not operand.written)

    @cached_property
    def outputs(self) -> tuple[int, ...]:
        return tuple(i for i, operand in enumerate(self.operands) if operand.written)

    @cached_property
    def copies(self) -> bool:
        """Whether the operation is a primitive that only moves data, or fills a tensor."""
        return self.primitive is not None and self.primitive.copies

    @cached_property
    def fills(self) -> bool:
        """Whether the operation is a primitive that fills a tensor with a constant."""
        return self.primitive is not None and self.primitive.filled is not None

    @cached_property
    def is_product(self) -> bool:
        """Whether the operation is a primitive that sums products."""
        return self.primitive is not None and self.primitive.is_product

    @cached_property
    def sums_products(self) -> bool:
        """Whether the operation or a component sums products, so that operands may be packed."""
        return self.is_product or any(c.operation.is_product for c in self.components)

    @cached_property
    def windows(self) -> bool:
        """Whether some operand is indexed by a window."""
        return any(not operand_axis.plain for axes in self.axes for operand_axis in axes)

    @cached_property
    def contracted(self) -> str:
        """The dimension along which kernels multiply and add; empty if they do not."""
        return "" if self.primitive is None else self.primitive.contracts

    @cached_property
    def packed_along(self) -> str:
        """The dimension along which neighbours may be packed in groups (see `rewrites.pack`)."""
        return self.contracted or ("" if self.primitive is None else self.primitive.groups)

    @cached_property
    def lowers_to(self) -> Primitive | None:
        """The primitive whose kernels implement it after rewrites, if not its own."""
        return None if self.primitive is None else self.primitive.lowers_to

    @cached_property
    def grouped(self) -> bool:
        """Whether the operation is a primitive for several groups of channels."""
        return self.primitive is not None and self.primitive.ungrouped is not None

    def extents(self, operand: int, sizes: Sequence[Any]) -> tuple[Any, ...]:
        """An operand's shape; `sizes` of all dimensions are numbers, or columns of them."""
        if not self.windows:
            return tuple([sizes[i] for i in self._spans[operand]])
        named = dict(zip(self.dims, sizes, strict=True))
        return tuple(operand_axis.extent(named) for operand_axis in self.axes[operand])

    def dims_without(self, operand: int) -> list[str]:
        """The dimensions that do not index an operand."""
        return [dim for dim in self.dims if (operand, dim) not in self.places]

    @cached_property
    def _spans(self) -> tuple[tuple[int, ...], ...]:
        return tuple(tuple(self.dims.index(a.names[0]) for a in axes) for axes in self.axes)

    def reads(self, operand: int) -> bool:
        tensor = self.operands[operand]
        return not tensor.written or tensor.updated or (self.accumulates and bool(tensor.start))

    def find(self, operand: str) -> int:
        """The index of the operand of this name; raises `KeyError`."""
        for index, candidate in enumerate(self.operands):
            if candidate.name == operand:
                return index
        raise KeyError(operand)

    def may_cut(self, dim: str) -> bool:
        """Whether a loop may tile this dimension."""
        return dim not in self.untiled and (self.accumulates or dim not in self.reduced)

    def may_overlap(self, dim: str) -> bool:
        """Whether tiles along this dimension may overlap: no output is read, or a sum in parts."""
        reads = any(self.reads(output) for output in self.outputs)
        return self.may_cut(dim) and dim not in self.reduced and not reads

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Component:
    """A primitive in a composition, which computes one tensor from others.

    `inputs` are the numbers of the tensors that it reads (see `ir.compose`). `dims` maps each
    of its dimensions to the composition: to a dimension there, or to a window if a later
    component slides over this one's result.
    """

    operation: Operation
    inputs: tuple[int, ...]
    dims: tuple[str, ...]
    dtype: DType

    @cached_property
    def axes(self) -> dict[str, Axis]:
        """The axis in the composition that each of its dimensions maps to."""
        return {d: axis(text) for d, text in zip(self.operation.dims, self.dims, strict=True)}

    @cached_property
    def _operand_dims(self) -> tuple[tuple[str, ...], ...]:
        return tuple(renamed(operand.dims, self.axes) for operand in self.operation.operands)

    def operand_dims(self, operand: int) -> tuple[str, ...]:
        """An operand's dims in the composition."""
        return self._operand_dims[operand]

    @property
    def result_dims(self) -> tuple[str, ...]:
        return self.operand_dims(self.operation.output)


def operation(
    primitive: Primitive | None,
    dims: tuple[str, ...],
    operands: tuple[Operand, ...],
    reduced: tuple[str, ...] = (),
    untiled: tuple[str, ...] = (),
    accumulates: bool = False,
    function: Function | None = None,
    components: tuple[Component, ...] = (),
) -> Operation:
    """The operation of this description, hash-consed: always the same object."""
    # The cache would tell arguments passed by name from those passed by position.
    return _interned(primitive, dims, operands, reduced, untiled, accumulates, function, components)


_interned = cache(Operation)


def changed(base: Operation, **changes: Any) -> Operation:
    """The operation that differs from another in these fields."""
    return _interned(*(changes.get(f.name, getattr(base, f.name)) for f in fields(base)))


def accumulating(base: Operation) -> Operation:
    """The form of an operation that combines its results with the contents of its outputs.

    Raises `ValueError` if there is none.
    """
    if not has_accumulating_form(base):
        raise ValueError(f"{base} has no accumulating form")
    return changed(base, accumulates=True)


def has_accumulating_form(base: Operation) -> bool:
    """Whether an operation overwrites its outputs, and has an accumulating form."""
    return not base.accumulates and any(o.start for o in base.operands)


def reordered(base: Operation, orders: Sequence[tuple[str, ...]]) -> Operation:
    """The operation with its operands' dimensions in other orders."""
    operands = tuple(replace(o, dims=dims) for o, dims in zip(base.operands, orders, strict=True))
    return changed(base, operands=operands)
