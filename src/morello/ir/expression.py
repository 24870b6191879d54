"""Specs as text: expressions in the language that `frontends.text` parses."""

from __future__ import annotations

from collections.abc import Sequence

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
    uses = [tensor for component in components for tensor in component.inputs]
    own_names = [operand.name for operand in operation.operands[:count]]
    used_names = list(names[:count]) or own_names
    lets: list[str] = []
    tensors: list[Text] = []
    for number, text in enumerate(inputs):
        name = used_names[number]
        if used_names != own_names or uses.count(number) > 1:
            if name not in used_names[:number]:
                lets.append(f"{name} = {text}; ")
            text = name
        tensors.append(Text(text, dtypes[number], external=True))
    for component in components:
        number = len(tensors)
        extents = {d: a.extent(named) for d, a in component.axes.items()}
        final = number == len(inputs) + len(components) - 1
        arguments, dtype = [tensors[t] for t in component.inputs], component.dtype
        mixed = converts(component.operation) and any(a.dtype is not dtype for a in arguments)
        if mixed:
            arguments = list(map(widened, arguments))
        primitive = component.operation.primitive
        assert primitive is not None
        tensor = primitive.text(
            component.operation, arguments, Result(dtype, extents, result, final)
        )
        default = _default_dtype(component, [a.dtype for a in arguments])
        if mixed and narrow(dtype) and not component.operation.accumulates:
            tensor, default = Text(f"cast({tensor.text}, {dtype})", dtype), dtype
        elif not final and dtype is not default:
            tensor = Text(f"({tensor.text} -> {dtype})", dtype)
        if uses.count(number) > 1:
            name = next(n for n in (f"t{i}" for i in range(number, 999)) if n not in used_names)
            used_names.append(name)
            lets.append(f"{name} = {tensor.text}; ")
            tensor = Text(name, tensor.dtype)
        tensors.append(tensor)
    last, text = components[-1], tensors[-1].text
    if _inputs_by_first_use(components, len(inputs)) != list(range(len(inputs))):
        # the parameters fix the order of the inputs, which the text uses in another one
        text = f"f({', '.join(used_names[: len(inputs)])}) = {text}"
    if any(map(operation.reads, operation.outputs)):
        return f"{''.join(lets)}{result} {combining(operation)} {text}"
    typed = placed or any(dtype is not default for dtype in dtypes[count:])
    typed &= not last.operation.fills  # its argument is the type
    return "".join(lets) + text + (f" -> {result}" if typed else "")


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
