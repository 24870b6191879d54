"""Specs as text: expressions in the language that `frontends.text` parses."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Sequence

from morello.ir.casts import converts, widened
from morello.ir.dtype import DType, result_dtype
from morello.ir.operation import Component, Operation
from morello.ir.rounding import narrow
from morello.ir.text import Result, Text


def expression(
    operation: Operation,
    sizes: Sequence[int],
    dtypes: Sequence[DType],
    types: Sequence[str],
    names: Sequence[str] = (),
    *,
    placed: bool,
) -> str:
    """The text that `frontends.text` parses as this operation on operands of these types.

    `names` are the operands' names, by default the operation's own; inputs with the same name
    are the same array. The types of the outputs are written if any is `placed` (its layout or
    strides matter), or if its dtype is not the default.
    """
    count = len(operation.inputs)
    inputs, outputs = types[:count], types[count:]
    result = outputs[0] if len(outputs) == 1 else f"({', '.join(outputs)})"
    components = operation.components or (
        Component(operation, tuple(range(count)), operation.dims, dtypes[-1]),
    )
    named = dict(zip(operation.dims, sizes, strict=True))
    uses = Counter(tensor for component in components for tensor in component.inputs)
    own_names = [operand.name for operand in operation.operands[:count]]
    input_names = list(names[:count]) or own_names
    bound: dict[str, str] = {}
    """The texts of the tensors that are used by name, by name."""
    tensors: list[Text] = []
    for number, (name, text) in enumerate(zip(input_names, inputs, strict=True)):
        if input_names != own_names or uses[number] > 1:
            bound.setdefault(name, text)
            text = name
        tensors.append(Text(text, dtypes[number], external=True))
    default: DType | None = None
    for number, component in enumerate(components, start=count):
        extents = {d: a.extent(named) for d, a in component.axes.items()}
        final = number == count + len(components) - 1
        tensor, default = _component_text(
            component,
            [tensors[t] for t in component.inputs],
            Result(component.dtype, extents, result, final),
        )
        if uses[number] > 1:
            name = _free_name(number, {*input_names, *bound})
            bound[name] = tensor.text
            tensor = Text(name, tensor.dtype)
        tensors.append(tensor)
    text = tensors[-1].text
    if _inputs_by_first_use(components, count) != list(range(count)):
        # the parameters fix the order of the inputs, which the text uses in another one
        text = f"f({', '.join(input_names)}) = {text}"
    lets = "".join(f"{name} = {value}; " for name, value in bound.items())
    if any(map(operation.reads, operation.outputs)):
        return f"{lets}{result} {combining(operation)} {text}"
    typed = placed or any(dtype is not default for dtype in dtypes[count:])
    typed &= not components[-1].operation.fills  # its argument is the type
    return lets + text + (f" -> {result}" if typed else "")


def _free_name(number: int, taken: Collection[str]) -> str:
    """A name for the tensor of this number that is not taken."""
    return next(name for name in map("t{}".format, itertools.count(number)) if name not in taken)


def _component_text(
    component: Component, arguments: Sequence[Text], result: Result
) -> tuple[Text, DType | None]:
    """The text of a component's result, and the dtype that this text gives it by itself."""
    operation, dtype = component.operation, component.dtype
    mixed = converts(operation) and any(a.dtype is not dtype for a in arguments)
    if mixed:
        arguments = [*map(widened, arguments)]
    assert operation.primitive is not None
    tensor = operation.primitive.text(operation, arguments, result)
    if mixed and narrow(dtype) and not operation.accumulates:
        return Text(f"cast({tensor.text}, {dtype})", dtype), dtype
    default = _default_dtype(component, [a.dtype for a in arguments])
    if not result.final and dtype is not default:
        tensor = Text(f"({tensor.text} -> {dtype})", dtype)
    return tensor, default


COMBINING = {"zero": "+=", "lowest": "max=", "highest": "min="}
MERGING, DIVIDING = "merge=", "/="


def combining(operation: Operation) -> str:
    """The operator that combines an operation's results with what its outputs hold, if any does.

    That is a sum or an extremum. Several outputs, such as a maximum and a sum that depends on it,
    are merged, and an output that is updated in place is divided.
    """
    outputs = [operation.operands[i] for i in operation.outputs]
    if any(output.updated for output in outputs):
        return DIVIDING
    if not any(output.start for output in outputs):
        return ""
    return MERGING if len(outputs) > 1 else COMBINING[outputs[0].start]


def _inputs_by_first_use(components: Sequence[Component], inputs: int) -> list[int]:
    """The inputs in the order of their first use in the text."""
    visited: dict[int, None] = {}
    todo = [inputs + len(components) - 1]
    while todo:
        tensor = todo.pop()
        if tensor not in visited:
            visited[tensor] = None
            if tensor >= inputs:
                todo += reversed(components[tensor - inputs].inputs)
    return [tensor for tensor in visited if tensor < inputs]


def _default_dtype(component: Component, inputs: Sequence[DType]) -> DType | None:
    """The dtype that a component's result has unless its text says otherwise."""
    if component.operation.is_product:
        return result_dtype(*inputs[:2])
    if component.operation.copies:  # its text states the dtype, as a cast
        return component.dtype
    primitive = component.operation.primitive
    return primitive.counts if primitive and primitive.counts else inputs[0]
