"""Views: reshapes, slices, concatenations, and what else reads its operands as whole tensors.

No Spec has them: a kernel reads their results as whole tensors. A text with views is a program of
kernels, in which most views are read where their sources lie (see `importers.text`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from types import EllipsisType
from typing import Any

from morello.base.ordering import topological
from morello.frontends.values import NEW_AXIS, MisuseError, Numbers, Value, axis_of, value_of
from morello.ir.computation import Tensor
from morello.ir.primitives import MAX_RANK
from morello.ir.text import listed

Subscript = int | slice | EllipsisType | None
"""One of the subscripts between brackets, as NumPy takes them."""


@dataclass(frozen=True)
class Reshaped:
    """The elements of one tensor, in row-major order, in another shape."""


@dataclass(frozen=True)
class Transposed:
    """The dimensions of one tensor in another order."""

    order: tuple[int, ...]


@dataclass(frozen=True)
class Sliced:
    """The elements of one tensor at some positions along each dimension."""

    spans: tuple[range, ...]


@dataclass(frozen=True)
class Concatenated:
    """Several tensors, one after the other along an axis."""

    axis: int


@dataclass(frozen=True)
class NamedView:
    """The result of a function that no Spec has, which `importers.text` finds by its name."""

    function: str
    options: tuple[tuple[str, Any], ...] = ()


View = Reshaped | Transposed | Sliced | Concatenated | NamedView


@dataclass(frozen=True, eq=False)
class ViewTensor(Tensor):
    """The elements of other tensors, as a view shows them; what reads it takes it as an input."""

    view: View = Reshaped()
    sources: tuple[Tensor, ...] = ()


def sources(tensor: Tensor) -> tuple[Tensor, ...]:
    """The tensors that one is computed from, or shows."""
    return tensor.sources if isinstance(tensor, ViewTensor) else tensor.inputs


def inputs_of(tensor: Tensor) -> tuple[Tensor, ...]:
    """The inputs that a tensor is computed from, views followed, in the order of first use."""
    every = topological([tensor], sources)
    return tuple(x for x in every if x.operation is None and not isinstance(x, ViewTensor))


def has_views(tensor: Tensor) -> bool:
    """Whether a tensor, or one that it is computed from, is a view."""
    every = topological([tensor], lambda each: each.inputs)
    return any(isinstance(each, ViewTensor) for each in every)


def reshape(x: Value, *, shape: Numbers) -> Value:
    """The elements of x in row-major order in another shape, of which one size may be -1."""
    sizes = [shape] if isinstance(shape, int) else [*shape]
    count = prod(x.shape)
    if sizes.count(-1) == 1:
        rest = prod(size for size in sizes if size != -1)
        sizes[sizes.index(-1)] = count // rest if rest > 0 else 0
    if min(sizes) < 1 or prod(sizes) != count:
        what = f"{listed(x.shape)} has {count} elements, which do not fill this shape"
        raise MisuseError(what, "give sizes whose product this is; one may be -1", at="shape")
    if len(sizes) > MAX_RANK:
        what = f"the result would have {len(sizes)} dimensions"
        raise MisuseError(what, f"give at most {MAX_RANK}", at="shape")
    return shown_by(Reshaped(), sizes, whole(x))


def concat(*parts: Value, axis: int) -> Value:
    """The parts, one after the other along an axis; their other sizes are the same."""
    if len(parts) < 2:
        raise MisuseError("one tensor is nothing to join", "give two or more")
    first = parts[0]
    place = axis_of(axis, first.rank)
    for number, part in enumerate(parts):
        if part.dtype is not first.dtype:
            what = f"one part is {first.dtype}, another {part.dtype}"
            raise MisuseError(what, f"cast it to {first.dtype}", at=number)
        alike = part.rank == first.rank and all(
            d == place or n == size
            for d, (n, size) in enumerate(zip(part.shape, first.shape, strict=True))
        )
        if not alike:
            what = f"{listed(first.shape)} and {listed(part.shape)} cannot be joined along {axis}"
            raise MisuseError(what, "the other sizes should be the same", at=number)
    shape = [*first.shape]
    shape[place] = sum(part.shape[place] for part in parts)
    return shown_by(Concatenated(place), shape, *map(whole, parts))


def index(x: Value, subscripts: Sequence[Subscript]) -> Value:
    """x[subscripts]: NumPy's basic indexing, without empty results."""
    spans: list[range] = []
    shape: list[int] = []
    for number, each in _for_dimensions(subscripts, x.rank):
        if each is None:
            shape.append(1)
            continue
        size = x.shape[len(spans)]
        if isinstance(each, int):
            if not -size <= each < size:
                raise MisuseError(f"there is no {each} among {size}", _within(size), at=number)
            each %= size
            spans.append(range(each, each + 1))
            continue
        if each.step == 0:
            raise MisuseError("a step of 0", "use another number", at=number)
        spans.append(range(size)[each])
        shape.append(len(spans[-1]))
        if not shape[-1]:
            raise MisuseError(f"no element of {size} is between these", _within(size), at=number)
    if not shape:
        raise MisuseError("a single number is no tensor", "keep a dimension, as x[0:1] does")
    if len(shape) > MAX_RANK:
        raise MisuseError(f"the result would have {len(shape)} dimensions", f"{MAX_RANK} are most")
    turned = tuple(d for d, span in enumerate(spans) if span.step < 0)
    spans = [span[::-1] if d in turned else span for d, span in enumerate(spans)]
    part = whole(x)
    if spans != [range(size) for size in x.shape]:
        part = shown_by(Sliced(tuple(spans)), list(map(len, spans)), part).tensor
    if turned:
        part = shown_by(NamedView("flip", (("axis", turned),)), part.shape, part).tensor
    return value_of(part) if part.shape == tuple(shape) else shown_by(Reshaped(), shape, part)


def _for_dimensions(
    subscripts: Sequence[Subscript], rank: int
) -> list[tuple[int, slice | int | None]]:
    """The subscripts with their numbers, and slices of whole dimensions for those not given."""
    given = sum(isinstance(each, int | slice) for each in subscripts)
    if given > rank:
        raise MisuseError(f"{given} subscripts for {rank} dimensions", "leave some out")
    if sum(each is ... for each in subscripts) > 1:
        raise MisuseError("... is there twice", "write it once", at=len(subscripts) - 1)
    result: list[tuple[int, slice | int | None]] = []
    rest = [slice(None)] * (rank - given)
    for number, each in enumerate(subscripts):
        if isinstance(each, EllipsisType):
            result += [(number, every) for every in rest]
            rest = []
        else:
            result.append((number, each))
    return result + [(len(subscripts), every) for every in rest]


def _within(size: int) -> str:
    return f"positions are {-size} to {size - 1}"


def whole(x: Value) -> Tensor:
    """The tensor of a value with all its dimensions, in order: a view of its tensor."""
    tensor = x.tensor
    kept = tuple(d for d in x.axes if d != NEW_AXIS)
    if kept != tuple(range(len(kept))):
        shape = [tensor.shape[d] for d in kept]
        tensor = shown_by(Transposed(kept), shape, tensor).tensor
    if NEW_AXIS in x.axes:
        tensor = shown_by(Reshaped(), x.shape, tensor).tensor
    return tensor


def shown_by(view: View, shape: Sequence[int], *sources: Tensor) -> Value:
    """A view of tensors, in this shape; raises `MisuseError` for tensors that cannot be inputs."""
    if any(source.operation is not None and source.operation.fills for source in sources):
        raise MisuseError("a filled tensor cannot be an input", "fill it as a Spec of its own")
    if any(source.others for source in sources):
        raise MisuseError("these are several results", "compute them as a Spec of its own")
    dtype = sources[0].dtype
    return value_of(ViewTensor(tuple(shape), dtype, view=view, sources=tuple(sources)))


FUNCTIONS = (reshape, concat)
"""The functions of these that an expression can call."""
