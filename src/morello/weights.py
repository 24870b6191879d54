"""Weights that stay the same from call to call: laid out ahead, as their kernel likes it best."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from morello.errors import SpecError
from morello.ir.dtype import F32
from morello.ir.layout import Layout, column_major
from morello.ir.operation import Operation
from morello.ir.spec import Spec
from morello.ir.tensor import canonical, gapless
from morello.targets.target import Target

REGISTERS = (1, 2, 3, 4)
"""How many registers wide panels may be."""


def weights_of(operation: Operation) -> dict[int, tuple[str, ...]]:
    """The inputs that are nothing but second factors of a Matmul or filters of a Conv.

    With each goes which of its dimensions are summed over.
    """
    if operation.name in ("Matmul", "Conv"):
        return {1: operation.reduced}
    found: dict[int, tuple[str, ...]] = {}
    for number in range(len(operation.operands) - 1):
        uses = [
            (one, place)
            for one in operation.components
            for place, tensor in enumerate(one.inputs)
            if tensor == number
        ]
        if uses and all(o.operation.name in ("Matmul", "Conv") and p == 1 for o, p in uses):
            one = uses[0][0]
            found[number] = tuple(name for d in one.operation.reduced for name in one.axes[d].names)
    return found


def with_layouts(spec: Spec, target: Target) -> Iterator[Spec]:
    """The Spec with its weights as they are, and in the layouts that may serve it better.

    Those are column-major ones, and panels of one register to four along the last dimension
    that is not summed over. Raises `SpecError` if it has no weights.
    """
    weights = {
        number: reduced
        for number, reduced in weights_of(spec.operation).items()
        if spec.names.count(spec.name(number)) < 2  # an array lies in one way for all its uses
    }
    if not weights:
        raise SpecError(
            f"{spec.expression}: there are no weights to lay out ahead: no input is a second "
            'factor of a product or a filter; leave out weights="constant".'
        )
    yield spec
    yield _placed(spec, {number: column_major(len(spec.shape(number))) for number in weights})
    for count in REGISTERS:
        panels = {}
        for number, reduced in weights.items():
            width = count * target.widths(F32)[0]
            layout = _in_panels(spec, number, reduced, width)
            if layout is not None:
                panels[number] = layout
        if len(panels) == len(weights):
            yield _placed(spec, panels)


def _in_panels(spec: Spec, number: int, reduced: tuple[str, ...], width: int) -> Layout | None:
    """Panels of this width, each of them one sum after the other; None if they do not fit."""
    dims = spec.operation.operands[number].dims
    kept = [i for i, d in enumerate(dims) if d not in reduced]
    if not kept or spec.shape(number)[kept[-1]] % width:
        return None
    summed = [i for i in range(len(dims)) if i not in kept]
    return Layout((*kept, *summed), (kept[-1], width))


def _placed(spec: Spec, layouts: dict[int, Layout]) -> Spec:
    forms = list(spec.forms)
    for number, layout in layouts.items():
        forms[number] = canonical(spec.shape(number), gapless(layout))
    strides = tuple(None if n in layouts else s for n, s in enumerate(spec.strides))
    return replace(spec, forms=tuple(forms), strides=strides)
