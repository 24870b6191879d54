"""Kernels for moves and fills of one register's worth of elements, or a part of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from morello.ir.batch import Batch
from morello.ir.dtype import DType
from morello.targets.kernels.conditions import flat, one_register, one_run
from morello.targets.kernels.crossing import crossing
from morello.targets.kernels.names import kind_of
from morello.targets.target import Condition, InRegisters, LeafKernel, Semantics

LOAD = 0.3
STORE = 1.0
MASK = 0.3
ZERO = 0.1
CONVERT = 0.7


def moves(source: DType, target: DType, width: int, partial: bool) -> tuple[LeafKernel, ...]:
    """Load, store, and copy from memory to memory, converting if the dtypes differ."""
    lines = _lines(source, target, width, partial)
    load, store, copy = lines
    extra = MASK * partial + CONVERT * (source is not target)

    def load_applies(s: Batch) -> Iterator[Condition]:
        yield from one_run(s, width, partial)
        yield one_register(s, 1)
        yield flat(s, 0)

    def store_applies(s: Batch) -> Iterator[Condition]:
        yield from one_run(s, width, partial)
        yield one_register(s, 0)
        yield flat(s, 1)

    def copy_applies(s: Batch) -> Iterator[Condition]:
        yield from one_run(s, width, partial)
        yield flat(s, 0)
        yield flat(s, 1)

    dtypes, semantics = (source, target), _cast(target)
    held = InRegisters(width)
    kernels = []
    if source is target or target.bytes >= source.bytes:
        kernels.append(
            LeafKernel(
                load, "Move", dtypes, (None, held), lines[load],
                semantics, load_applies, lambda s: LOAD + extra + crossing(s, 0, width),
                masked=partial, group="loads",
            )
        )  # fmt: skip
    if source is target or target.bytes < source.bytes:
        kernels.append(
            LeafKernel(
                store, "Move", dtypes, (held, None), lines[store],
                semantics, store_applies, lambda s: STORE + extra,
                masked=partial, group="stores",
            )
        )  # fmt: skip
    kernels.append(
        LeafKernel(
            copy, "Move", dtypes, (None, None), lines[copy],
            semantics, copy_applies, lambda s: LOAD + STORE + extra + MASK * partial, registers=1,
            masked=partial, group="copies",
        )
    )  # fmt: skip
    return tuple(kernels)


def _lines(source: DType, target: DType, width: int, partial: bool) -> dict[str, str]:
    """The names of the kernels that load, store and copy, and their C."""
    part = "part_" if partial else ""
    size = ", {length}" if partial else ""
    from_kind, to_kind = kind_of(source, width), kind_of(target, width)
    if source is target:
        load, store = f"load_{part}{to_kind}", f"store_{part}{to_kind}"
        load_first, store_last, copy = load, store, f"copy_{part}{to_kind}"
    else:
        load, store = f"load_{part}{to_kind}_{source}", f"store_{part}{target}_{from_kind}"
        widens = target.bytes >= source.bytes
        load_first = load if widens else f"load_{part}{from_kind}"
        store_last = f"store_{part}{to_kind}" if widens else store
        copy = f"copy_{part}{target}_{from_kind}"
    lines = {
        load: f"{{dst}} = {load}(&{{src}}{size});",
        store: f"{store}(&{{dst}}, {{src}}{size});",
        copy: f"{store_last}(&{{dst}}, {load_first}(&{{src}}{size}){size});",
    }
    if width == 1:
        value = "{src}" if source is target else _scalar_cast(source, target)
        return dict.fromkeys(lines, f"{{dst}} = {value};")
    return lines


def _scalar_cast(source: DType, target: DType) -> str:
    if source.is_float and target.is_float:
        return f"cast_{target}_{source}({{src}})"
    return f"({target.c}){{src}}"


def _cast(target: DType) -> Semantics:
    def semantics(src: Any) -> Any:
        return src if target.numpy is None else src.astype(target.np)

    return semantics


def fills(dtype: DType, width: int, partial: bool) -> tuple[LeafKernel, ...]:
    """Fill one register, or as much memory or a part of it, with a constant."""
    kind = kind_of(dtype, width)
    part = "part_" if partial else ""
    size = ", {length}" if partial else ""
    kernels = []
    for value, name in (("Zero", "zero"), ("Lowest", "lowest"), ("Highest", "highest")):
        number = "0" if value == "Zero" else _extreme(dtype, value)
        whole = number if width == 1 else f"splat_{kind}({number})"
        if value == "Zero" and width > 1:
            whole = f"({kind}){{{{0}}}}"
        stored = "{dst} = " + whole + ";"
        if width > 1:
            stored = f"store_{part}{kind}(&{{dst}}, {whole}{size});"
        if not partial:
            kernels.append(
                LeafKernel(
                    f"{name}_{kind}", f"Fill{value}", (dtype,), (InRegisters(width),),
                    f"{{dst}} = {whole};", _filled(dtype, value),
                    lambda s: [one_register(s, 0)], lambda s: ZERO, group="fills",
                )
            )  # fmt: skip
        kernels.append(
            LeafKernel(
                f"{name}_memory_{part}{kind}", f"Fill{value}", (dtype,), (None,),
                stored, _filled(dtype, value),
                _memory_applies(width, partial), lambda s: STORE + MASK * partial,
                masked=partial, group="fills",
            )
        )  # fmt: skip
    return tuple(kernels)


def _memory_applies(width: int, partial: bool) -> Any:
    def applies(s: Batch) -> Iterator[Condition]:
        yield from one_run(s, width, partial)
        yield flat(s, 0)

    return applies


def _extreme(dtype: DType, value: str) -> str:
    """C for the lowest or the highest number of a dtype."""
    sign = "-" if value == "Lowest" else ""
    if dtype.name == "bf16":
        return "0xff80" if sign else "0x7f80"
    if dtype.is_float:
        return "(_Float16)" * (dtype.name == "f16") + f"{sign}__builtin_inff()"
    number = _end(dtype, value)
    if number == -(2**31):
        return "(-2147483647 - 1)"
    return f"{number}u" if number >= 2**31 else str(number)


def _end(dtype: DType, value: str) -> int:
    """The lowest or the highest number of an integer dtype."""
    kind: Any = dtype.np
    limits = np.iinfo(kind)
    return int(limits.min if value == "Lowest" else limits.max)


def _filled(dtype: DType, value: str) -> Semantics:
    def semantics(dst: Any) -> Any:
        if value == "Zero":
            return np.zeros_like(dst)
        infinite = -np.inf if value == "Lowest" else np.inf
        return np.full_like(dst, infinite if dtype.is_float else _end(dtype, value))

    return semantics
