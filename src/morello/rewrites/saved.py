"""Impls as JSON: the goal, the target, and every decision.

A saved Impl is read by replaying its decisions, so that a file which does not describe a
legal program, or one that no longer fits the target, is refused with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from morello.errors import RewriteError, SpecError
from morello.ir.dtype import DType, parse_dtype
from morello.ir.layout import Layout, parse_layout
from morello.ir.operation import MAX_BATCH_DIMS, Operation, fill_zero, matmul, move
from morello.ir.spec import Spec
from morello.ir.tensor import Form, canonical
from morello.rewrites.accumulate import ToAccumulate
from morello.rewrites.impl import Impl, replay
from morello.rewrites.move import Move
from morello.rewrites.rewrite import Rewrite
from morello.rewrites.select import Select
from morello.rewrites.tile import Split, Tile
from morello.targets import find_target
from morello.targets.target import Target

VERSION = 1

_MAX_INTEGER = 2**31 - 1
_OPERATIONS = [
    *(matmul(batch, adds) for batch in range(MAX_BATCH_DIMS + 1) for adds in (False, True)),
    *(made(rank) for rank in range(2, MAX_BATCH_DIMS + 3) for made in (move, fill_zero)),
]


def save(impl: Impl) -> dict[str, Any]:
    """A complete Impl as JSON-able data, which `load` reads back."""
    if not impl.complete:
        raise RewriteError(f"{impl.spec} is not scheduled to the end; fill its holes, then save.")
    target = impl.target
    return {
        "morello": VERSION,
        "target": target.name,
        "limits": {level.name: level.capacity for level in target.levels[1:]},
        "spec": _spec_data(impl.spec, target),
        "cost": impl.cost,
        "rewrites": [rewrite.data() for rewrite in impl.decisions()],
    }


def load(data: Any, target: Target | None = None) -> Impl:
    """The Impl that `save` gave, for the target of that name unless another one is given.

    Raises `RewriteError` for what is no such data, or does not fit the target, and
    `TargetError` when the target is unknown. Costs are the target's of today.
    """
    top = _Fields(data, "the schedule")
    version = top.get("morello", object)
    if version != VERSION:
        raise RewriteError(
            f"the schedule has format {version!r}, and this Morello reads {VERSION}; save it again."
        )
    saved_for = top.get("target", str)
    target = target or find_target(saved_for)
    limits = {name: _whole(n, name) for name, n in _Fields(top.get("limits", dict), "limits")}
    spec = _spec(top.get("spec", dict), target)
    rewrites = [
        _rewrite(step, f"rewrite {number}")
        for number, step in enumerate(top.get("rewrites", list), start=1)
    ]
    try:
        return replay(spec, target, rewrites)
    except RewriteError as error:
        raise RewriteError(f"{error}{_elsewhere(saved_for, limits, target)}") from None
    except RecursionError:
        raise RewriteError("the schedule nests its rewrites too deep to be a program.") from None


def _elsewhere(name: str, limits: Mapping[str, int], target: Target) -> str:
    """That the schedule was made for another machine, if it was."""
    now = {level.name: level.capacity for level in target.levels[1:]}
    if limits == now:
        return ""
    amounts = ", ".join(f"{n} of {level}" for level, n in limits.items())
    return f" It was saved for {name} with {amounts}; search again for {target.name}."


# ---- Specs


def _spec_data(spec: Spec, target: Target) -> dict[str, Any]:
    operation = spec.operation
    operands = {
        operand.name: {
            "dtype": str(dtype),
            "level": target.levels[level].name,
            "layout": str(form.layout),
            "contiguous": form.contiguous,
            "aliased": form.aliased,
            "vector": form.vector,
        }
        for operand, dtype, level, form in zip(
            operation.operands, spec.dtypes, spec.levels, spec.forms, strict=True
        )
    }
    sizes = dict(zip(operation.dims, spec.sizes, strict=True))
    return {"operation": operation.name, "sizes": sizes, "operands": operands}


def _spec(data: Any, target: Target) -> Spec:
    fields = _Fields(data, "the spec")
    name = fields.get("operation", str)
    sizes = _Fields(fields.get("sizes", dict), "the spec's sizes")
    operation = _operation(name, {dim for dim, _ in sizes})
    operands = _Fields(fields.get("operands", dict), "the spec's operands")
    levels, forms, dtypes = [], [], []
    extents = tuple(_whole(sizes.get(dim, int), dim, least=1) for dim in operation.dims)
    for operand, span in zip(operation.operands, operation.spans, strict=True):
        one = _Fields(operands.get(operand.name, dict), f"operand {operand.name}")
        level = _level(one.get("level", str), target)
        dtypes.append(_dtype(one.get("dtype", str)))
        levels.append(level)
        forms.append(_form(one, tuple(extents[d] for d in span), level, target))
    return Spec(operation, extents, tuple(levels), tuple(forms), tuple(dtypes))


def _operation(name: str, dims: set[str]) -> Operation:
    for operation in _OPERATIONS:
        if operation.name == name and set(operation.dims) == dims:
            return operation
    known = ", ".join(sorted({operation.name for operation in _OPERATIONS}))
    raise RewriteError(
        f"no operation {name!r} has dimensions {', '.join(sorted(dims))}; there are: {known}."
    )


def _dtype(name: str) -> DType:
    try:
        return parse_dtype(name)
    except SpecError as error:
        raise RewriteError(str(error)) from None


def _layout(text: str) -> Layout:
    """A layout of as many dimensions as it names; the rewrite or Spec knows if that is right."""
    rank = text.partition(":")[0].count(",") + 1
    try:
        return parse_layout(text, rank)
    except SpecError as error:
        raise RewriteError(str(error)) from None


def _level(name: str, target: Target) -> int:
    try:
        return target.level(name)
    except KeyError:
        known = ", ".join(level.name for level in target.levels)
        raise RewriteError(f"{target.name} has no level {name!r}; it has: {known}.") from None


def _form(fields: _Fields, shape: tuple[int, ...], level: int, target: Target) -> Form:
    layout = _layout(fields.get("layout", str))
    contiguous = _whole(fields.get("contiguous", int), "contiguous")
    vector = _whole(fields.get("vector", int), "vector")
    form = Form(layout, contiguous, fields.get("aliased", bool), vector)
    held = level == target.registers
    if (
        layout.rank != len(shape)
        or contiguous > len(layout.physical)
        or (vector in target.widths) != held
        or (vector > 0) != held
        or canonical(shape, form) != form
    ):
        raise RewriteError(
            f"{fields.what} of shape {list(shape)} cannot lie as {form} in "
            f"{target.levels[level].name}."
        )
    return form


# ---- rewrites


def _rewrite(data: Any, what: str) -> Rewrite:
    fields = _Fields(data, what)
    name = fields.get("name", str)
    if name not in _REWRITES:
        raise RewriteError(f"{what}: unknown name {name!r}; it may be: {', '.join(_REWRITES)}.")
    rewrite = _REWRITES[name](fields)
    if unused := fields.unused():
        raise RewriteError(f"{what}: {name} takes no {unused[0]!r}.")
    return rewrite


def _move(fields: _Fields) -> Rewrite:
    layout = fields.get("layout", str, "")
    return Move(
        fields.get("operand", str),
        fields.get("level", str),
        _layout(layout) if layout else None,
        _whole(fields.get("vector", int, 0), "vector"),
    )


def _tile(fields: _Fields) -> Rewrite:
    return Tile(fields.get("dim", str), _whole(fields.get("size", int), "size", least=1))


def _split(fields: _Fields) -> Rewrite:
    return Split(fields.get("dim", str), _whole(fields.get("size", int), "size", least=1))


def _to_accumulate(fields: _Fields) -> Rewrite:
    return ToAccumulate()


def _select(fields: _Fields) -> Rewrite:
    return Select(fields.get("kernel", str))


_REWRITES: dict[str, Callable[[_Fields], Rewrite]] = {
    "tile": _tile,
    "split": _split,
    "to_accumulate": _to_accumulate,
    "move": _move,
    "select": _select,
}


# ---- fields


_T = TypeVar("_T")
_KINDS = {str: "text", int: "a whole number", bool: "true or false", list: "a list"}


class _Fields:
    """An object of JSON, whose every missing or mistyped field is a `RewriteError`."""

    def __init__(self, data: Any, what: str) -> None:
        if not isinstance(data, dict):
            raise RewriteError(f"{what} is {data!r:.40}, and should be an object.")
        self.what = what
        self._data = data
        self._used: set[str] = set()

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        return iter([(str(key), value) for key, value in self._data.items()])

    def get(self, key: str, kind: type[_T], default: _T | None = None) -> _T:
        """The field of this name and kind."""
        self._used.add(key)
        if key not in self._data and default is None:
            raise RewriteError(f"{self.what} has no {key!r}; save it again.")
        value = self._data.get(key, default)
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            wanted = _KINDS.get(kind, "an object")
            raise RewriteError(f"{self.what}: {key!r} is {value!r:.40}, and should be {wanted}.")
        return value

    def unused(self) -> list[str]:
        """The fields that nobody asked for."""
        return sorted(str(key) for key in self._data.keys() - self._used)


def _whole(value: Any, name: str, least: int = 0) -> int:
    """A whole number that a size or a count can be."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    if not whole or not least <= value <= _MAX_INTEGER:
        raise RewriteError(
            f"{name} is {value!r:.40}, and should be a whole number of at least {least}."
        )
    return int(value)
