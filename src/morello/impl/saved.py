"""Impls as JSON: the goal, the target, and every decision.

A saved Impl is loaded by replaying its decisions. A file that describes no legal program, or
one that no longer fits the target, is refused with the reason.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

from morello.base.errors import RewriteError, SpecError, TargetError, quoted
from morello.impl.fields import Fields, integer, read_dtype, read_layout
from morello.impl.operations import NAME, operation_data, read_operation
from morello.impl.tree import Impl, replay
from morello.ir.operation import Operation
from morello.ir.spec import Spec, Strides, goal
from morello.ir.tensor import Placement, canonical
from morello.rewrites import REWRITES, Rewrite
from morello.targets import find_target
from morello.targets.costs import with_costs_of
from morello.targets.target import Target

VERSION = 2


def save(impl: Impl) -> dict[str, Any]:
    """A complete Impl as JSON-able data, which `load` reads back."""
    if not impl.complete:
        raise RewriteError(f"{impl.spec} is not scheduled to the end; fill its holes, then save.")
    data = save_spec(impl.spec, impl.target)
    if _is_evicted(impl):
        data["evicted"] = True
    rewrites = [rewrite.data() for rewrite in impl.decisions()]
    return data | {"cost": impl.cost, "rewrites": rewrites}


def _is_evicted(impl: Impl) -> bool:
    """Whether costs are those of operands that are evicted between calls, and would be others."""
    if not impl.target.from_memory:
        return False
    with suppress(TargetError):  # of a target that only its own program knows
        known = replace(find_target(impl.target.name), cores=impl.target.cores)
        plain, evicted = (with_costs_of(known, impl.spec, evicted=each) for each in (False, True))
        return impl.target == evicted != plain
    return False


def save_spec(spec: Spec, target: Target) -> dict[str, Any]:
    """A Spec and its target as JSON-able data, which `load_spec` reads back."""
    return {
        "morello": VERSION,
        "target": target.name,
        "cores": target.cores,
        "limits": {level.name: level.capacity for level in target.levels[1:]},
        "spec": spec_data(spec, target),
        **({"names": list(spec.names)} if spec.names else {}),
    }


def load(data: Any, target: Target | None = None) -> Impl:
    """The Impl that `save` gave as this data, for the target it names unless one is given.

    The number of cores is the saved one; costs are those of the current target. Raises
    `RewriteError` if the data is malformed or the program does not fit the target, and
    `TargetError` if the target is unknown.
    """
    spec, target = load_spec(data, target)
    top = Fields(data, "the schedule")
    limits = {name: integer(n, name) for name, n in Fields(top.get("limits", dict), "limits")}
    with _depth_of("operations"):
        rewrites = [
            _rewrite(step, f"rewrite {number}")
            for number, step in enumerate(top.get("rewrites", list), start=1)
        ]
    evicted = top.get("evicted", bool, False)
    try:
        with _depth_of("rewrites"):
            return replay(spec, with_costs_of(target, spec, evicted=evicted), rewrites)
    except RewriteError as error:
        note = _saved_elsewhere(top.get("target", str), limits, target)
        raise RewriteError(f"{error}{note}") from None


def load_spec(data: Any, target: Target | None = None) -> tuple[Spec, Target]:
    """The Spec that `save` or `save_spec` gave as this data, and the target, as `load` has it."""
    top = Fields(data, "the schedule")
    version = top.get("morello", object)
    if version != VERSION:
        raise RewriteError(
            f"the schedule has format {quoted(version)}, and this Morello reads {VERSION}; "
            "save it again."
        )
    saved_for = top.get("target", str)
    target = replace(target or find_target(saved_for), cores=top.integer("cores", minimum=1))
    with _depth_of("operations"):
        return _named(_spec(top.get("spec", dict), target), top.texts("names")), target


@contextmanager
def _depth_of(parts: str) -> Iterator[None]:
    """Raises `RewriteError` where data nest deeper than Python can follow."""
    try:
        yield
    except RecursionError:
        raise RewriteError(f"the schedule nests its {parts} too deep to be a program.") from None


def _saved_elsewhere(name: str, limits: Mapping[str, int], target: Target) -> str:
    """A note for errors that the schedule was saved for other memory limits, if it was."""
    now = {level.name: level.capacity for level in target.levels[1:]}
    if limits == now:
        return ""
    amounts = ", ".join(f"{n} of {level}" for level, n in limits.items())
    return f" It was saved for {name} with {amounts}; search again for {target.name}."


# ---- Specs


def spec_text(spec: Spec) -> str:
    """A text that only a Spec with the same names has, for any target."""
    return json.dumps([_spec_data(spec, range(max(spec.levels) + 1)), spec.names])


def spec_data(spec: Spec, target: Target) -> dict[str, Any]:
    """A Spec as JSON-able data."""
    return _spec_data(spec, [level.name for level in target.levels])


def _spec_data(spec: Spec, levels: Sequence[object]) -> dict[str, Any]:
    """A Spec as JSON-able data, with these names for levels."""
    operands = [
        {
            "dtype": dtype.name,
            "level": levels[level],
            "layout": str(placement.layout),
            "contiguous": placement.contiguous,
            "aliased": placement.aliased or False,
            "vector": placement.vector,
        }
        for dtype, level, placement in zip(spec.dtypes, spec.levels, spec.placements, strict=True)
    ]
    for operand, strides in zip(operands, spec.strides, strict=False):
        if strides is not None:
            operand["strides"] = list(strides)
    return {
        "operation": operation_data(spec.operation),
        "sizes": dict(zip(spec.operation.dims, spec.sizes, strict=True)),
        "parallel": spec.parallel,
        "operands": operands,
    }


def _spec(data: Any, target: Target) -> Spec:
    fields = Fields(data, "the spec")
    operation = read_operation(fields.get("operation", dict), "the spec's operation")
    named = Fields(fields.get("sizes", dict), "the spec's sizes")
    sizes = tuple(named.integer(dim, minimum=1) for dim in operation.dims)
    _check_sizes(operation, sizes)
    operands = fields.objects("operands", "operand")
    if len(operands) != len(operation.operands):
        raise RewriteError(
            f"{operation} has {len(operation.operands)} operands, and the spec {len(operands)}."
        )
    levels, placements, dtypes, strides = [], [], [], []
    for number, operand in enumerate(operands):
        operand.what = f"operand {operation.operands[number].name}"
        shape = operation.extents(number, sizes)
        if min(shape) < 1:
            raise RewriteError(f"{operand.what} of shape {list(shape)} has no elements.")
        dtypes.append(read_dtype(operand.get("dtype", str)))
        levels.append(_level(operand.get("level", str), target))
        placements.append(_placement(operand, shape, levels[-1], target))
        strides.append(_strides(operand, shape))
    parallel = fields.get("parallel", bool)
    spec = Spec(operation, sizes, tuple(levels), tuple(placements), tuple(dtypes), parallel)
    return _with_strides(spec, strides) if any(s is not None for s in strides) else spec


def _check_sizes(operation: Operation, sizes: Sequence[int]) -> None:
    """Raise `RewriteError` for a dimension longer than 1 that only one factor or the output has."""
    named = dict(zip(operation.dims, sizes, strict=True))
    primitive = operation.primitive
    if primitive is not None and primitive.is_product:
        for dim, size in named.items():
            owners = {operand for operand, name in operation.places if name == dim}
            if size > 1 and len(owners) < 2 and dim not in primitive.idle:
                raise RewriteError(f"{dim} is {size}, and must be 1 in this {operation}.")
    for component in operation.components:
        _check_sizes(component.operation, [a.extent(named) for a in component.axes.values()])


def _named(spec: Spec, names: tuple[str, ...]) -> Spec:
    """The Spec with these names for its operands; unchanged if there are none."""
    if not names:
        return spec
    count = len(spec.operation.inputs)
    inputs, outputs = names[:count], names[count:]
    if len(names) != len(spec.placements) or any(names.count(output) > 1 for output in outputs):
        raise RewriteError(
            f"the schedule's names are {quoted(list(names))}, and should be one per operand, "
            "an output's different from the others."
        )
    for name in names:
        if not NAME.fullmatch(name):
            raise RewriteError(f"the schedule's names: no operand is called {quoted(name)}.")
    named = replace(spec, names=names)
    for operand, name in enumerate(inputs):
        first = named.arrays[name]
        strides = named.strides or (None,) * len(names)
        if named.tensor(operand) != named.tensor(first) or strides[operand] != strides[first]:
            raise RewriteError(f"the schedule's names: {quoted(name)} names two different arrays.")
    return named


def _level(name: str, target: Target) -> int:
    try:
        return target.level(name)
    except KeyError:
        known = ", ".join(level.name for level in target.levels)
        raise RewriteError(f"{target.name} has no level {quoted(name)}; it has: {known}.") from None


def _placement(fields: Fields, shape: tuple[int, ...], level: int, target: Target) -> Placement:
    layout = read_layout(fields.get("layout", str))
    contiguous, vector = fields.integer("contiguous"), fields.integer("vector")
    aliased = fields.get("aliased", object)
    apart = 0 if aliased is False else integer(aliased, "'aliased'", minimum=1)
    placement = Placement(layout, contiguous, apart, vector)
    in_registers = level == target.registers
    widths = target.widths(read_dtype(fields.get("dtype", str)))
    if (
        layout.rank != len(shape)
        or contiguous > len(layout.physical)
        or (vector in widths) != in_registers
        or (vector > 0) != in_registers
        or canonical(shape, placement) != placement
    ):
        raise RewriteError(
            f"{fields.what} of shape {list(shape)} cannot lie as {placement} in "
            f"{target.levels[level].name}."
        )
    return placement


def _strides(fields: Fields, shape: tuple[int, ...]) -> Strides:
    """The stride of each dimension in elements; None if the file gives no strides."""
    values = fields.get("strides", list, [])
    if not values:
        return None
    strides = tuple(integer(value, f"a stride of {fields.what}", minimum=1) for value in values)
    if len(strides) != len(shape):
        raise RewriteError(
            f"{fields.what} has {len(shape)} dimensions, and {len(strides)} strides."
        )
    return strides


def _with_strides(spec: Spec, strides: list[Strides]) -> Spec:
    """The Spec with strides; raises `RewriteError` unless its placements follow from these."""
    layouts = [placement.layout for placement in spec.placements]
    try:
        strided = goal(
            spec.operation, spec.sizes, spec.dtypes,
            layouts=layouts, strides=strides, parallel=spec.parallel,
        )  # fmt: skip
    except SpecError as error:
        raise RewriteError(str(error)) from None
    if replace(strided, strides=()) != spec:
        raise RewriteError("the spec's strides are not those of its layouts.")
    return strided


# ---- rewrites


def _rewrite(data: Any, what: str) -> Rewrite:
    fields = Fields(data, what)
    name = fields.get("name", str)
    if name not in REWRITES:
        raise RewriteError(
            f"{what}: unknown name {quoted(name)}; it may be: {', '.join(REWRITES)}."
        )
    rewrite = REWRITES[name](
        **{
            field.name: _READERS[str(field.type).removesuffix(" | None")](fields, field.name)
            for field in dataclasses.fields(REWRITES[name])
            if field.name in fields or field.default is dataclasses.MISSING
        }
    )
    if unused := fields.unused():
        raise RewriteError(f"{what}: {name} takes no {quoted(unused[0])}.")
    return rewrite


def _tiles(fields: Fields, key: str) -> tuple[tuple[str, int], ...]:
    tiles = []
    for tile in fields.get(key, list):
        if not (isinstance(tile, list) and len(tile) == 2 and isinstance(tile[0], str)):
            raise RewriteError(
                f"{fields.what}: a tile is {quoted(tile)}, and should be [dim, size]."
            )
        tiles.append((tile[0], integer(tile[1], tile[0], minimum=1)))
    return tuple(tiles)


def _groups(fields: Fields, key: str) -> tuple[tuple[str, ...], ...]:
    groups = fields.get(key, list)
    texts = [text for group in groups if isinstance(group, list) for text in group]
    if not all(isinstance(group, list) for group in groups) or not all(
        isinstance(text, str) for text in texts
    ):
        raise RewriteError(f"{fields.what}: {key} should be lists of dimensions.")
    return tuple(map(tuple, groups))


_READERS: dict[str, Callable[[Fields, str], Any]] = {
    "str": lambda fields, key: fields.get(key, str),
    "int": lambda fields, key: fields.integer(key),
    "Layout": lambda fields, key: read_layout(fields.get(key, str)),
    "DType": lambda fields, key: read_dtype(fields.get(key, str)),
    "tuple[tuple[str, int], ...]": _tiles,
    "tuple[tuple[str, ...], ...]": _groups,
    "tuple[str, ...]": lambda fields, key: fields.texts(key),
}
"""How to read a rewrite's field, by its type."""
