"""Specs as text: expressions in the language that `frontends.text` parses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from morello.ir.dtype import DType, result_dtype
from morello.ir.functions import OPERATORS
from morello.ir.operation import Component, Operation
from morello.ir.primitives import conv

SUM, PRODUCT, ATOM = range(3)
"""The precedence of the outermost operator of a text, lowest first."""


@dataclass(frozen=True)
class _Text:
    """The text of a tensor: an expression that computes it, or its name.

    The inputs of the Spec are `external`.
    """

    text: str
    dtype: DType
    binds: int = ATOM
    external: bool = False

    def within(self, least: int) -> str:
        """The text, in parentheses if its precedence is below `least`."""
        return self.text if self.binds >= least else f"({self.text})"


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
    are the same array. The output's type is written if the output is `placed` (its layout or
    strides matter), or if its dtype is not the default.
    """
    *inputs, result = types
    components = operation.components or (
        Component(operation, tuple(range(len(inputs))), operation.dims, dtypes[-1]),
    )
    named = dict(zip(operation.dims, sizes, strict=True))
    uses = [tensor for component in components for tensor in component.inputs]
    own_names = [operand.name for operand in operation.operands[:-1]]
    used_names = list(names[:-1]) or own_names
    lets: list[str] = []
    tensors: list[_Text] = []
    for number, text in enumerate(inputs):
        name = used_names[number]
        if used_names != own_names or uses.count(number) > 1:
            if name not in used_names[:number]:
                lets.append(f"{name} = {text}; ")
            text = name
        tensors.append(_Text(text, dtypes[number], external=True))
    for component in components:
        number = len(tensors)
        extents = {d: a.extent(named) for d, a in component.axes.items()}
        final = number == len(inputs) + len(components) - 1
        arguments = [tensors[t] for t in component.inputs]
        tensor = _primitive(component, arguments, extents, result, final=final)
        if not final and component.dtype is not _default_dtype(
            component, [a.dtype for a in arguments]
        ):
            tensor = _Text(f"({tensor.text} -> {component.dtype})", component.dtype)
        if uses.count(number) > 1:
            name = next(n for n in (f"t{i}" for i in range(number, 999)) if n not in used_names)
            used_names.append(name)
            lets.append(f"{name} = {tensor.text}; ")
            tensor = _Text(name, tensor.dtype)
        tensors.append(tensor)
    last, text = components[-1], tensors[-1].text
    if _inputs_by_first_use(components, len(inputs)) != list(range(len(inputs))):
        # the parameters fix the order of the inputs, which the text uses in another one
        text = f"f({', '.join(used_names[: len(inputs)])}) = {text}"
    if operation.accumulates:
        combined = "max=" if operation.operands[-1].start == "lowest" else "+="
        return f"{''.join(lets)}{result} {combined} {text}"
    arguments = [tensors[t] for t in last.inputs]
    typed = placed or dtypes[-1] is not _default_dtype(last, [a.dtype for a in arguments])
    typed &= not _name(last.operation).startswith("Fill")  # its argument is the type
    return "".join(lets) + text + (f" -> {result}" if typed else "")


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


def _name(operation: Operation) -> str:
    return operation.name.removesuffix("Accum")


def _default_dtype(component: Component, inputs: Sequence[DType]) -> DType | None:
    """The dtype that a component's result has unless its text says otherwise."""
    if _name(component.operation) in ("Matmul", "Conv"):
        return result_dtype(*inputs)
    if component.operation.copies:  # its text states the dtype, as a cast
        return component.dtype
    return inputs[0]


def _primitive(
    component: Component,
    arguments: Sequence[_Text],
    sizes: Mapping[str, int],
    result: str,
    *,
    final: bool,
) -> _Text:
    """The text of a component applied to these arguments; `sizes` are those of its dimensions.

    The `final` component computes the output, whose type is `result`.
    """
    operation, dtype = component.operation, component.dtype
    name = _name(operation)
    if name == "Matmul":
        lead = operation.dims[:-3]
        a = _oriented(arguments[0], operation.operands[0].dims, (*lead, "m", "k"))
        b = _oriented(arguments[1], operation.operands[1].dims, (*lead, "k", "n"))
        return _operator("@", a, b, dtype)
    if name == "Move":
        return _Text(_moved(operation, arguments[0], dtype, final), dtype)
    if name.startswith("Fill"):
        return _Text(f"{_CALLS[name]}({result})", dtype)
    if operation.function is not None and name not in ("Broadcast", "OnePrefix"):
        value = _map(operation, arguments, dtype)
        if name == "Multiply" and len({*component.inputs}) == 1:  # else parsed as a square
            return _Text(f"({value.text} unsquared)", dtype)
        return value
    words = [argument.text for argument in arguments]
    if name == "Conv":
        ordered = conv(*_windows(operation), _channels_last(operation)).operands
        words = [
            _oriented(argument, operand.dims, like.dims).text
            for argument, operand, like in zip(arguments, operation.operands, ordered, strict=False)
        ]
    words += [f"{key}={value}" for key, value in _options(operation, name, sizes)]
    call = name if _has_no_call(operation, name) else _CALLS.get(name, name)
    return _Text(f"{call}({', '.join(words)})", dtype)


def _has_no_call(operation: Operation, name: str) -> bool:
    """Whether no call of the function of this name computes the operation."""
    first, out = operation.operands[0].dims, operation.operands[-1].dims
    return name == "Broadcast" and not set(first) <= set(out)  # of a single number


_CALLS = {
    "Broadcast": "broadcast",
    "Conv": "conv",
    "FillLowest": "fill_lowest",
    "FillZero": "fill_zero",
    "Max": "max",
    "OnePrefix": "one_prefix",
    "Softmax": "softmax",
    "SoftmaxComplete": "softmax_complete",
    "SoftmaxDenominator": "softmax_denominator",
    "Sum": "sum",
}
"""The function that computes each primitive; softmax parts with two outputs have none."""


def _operator(symbol: str, left: _Text, right: _Text, dtype: DType) -> _Text:
    binds = SUM if symbol in "+-" else PRODUCT
    return _Text(f"{left.within(binds)} {symbol} {right.within(binds + 1)}", dtype, binds)


def _map(operation: Operation, arguments: Sequence[_Text], dtype: DType) -> _Text:
    """The text of an elementwise operation: an infix operator if its function has one."""
    function = operation.function
    assert function is not None
    out = operation.operands[-1].dims
    values = []
    for argument, operand in zip(arguments, operation.operands[:-1], strict=True):
        spanned = [d for d in out if d in operand.dims]
        text = _oriented(argument, operand.dims, spanned)
        inner = range(out.index(spanned[0]), len(out)) if spanned else range(0)
        for position, dim in enumerate(out[i] for i in inner):
            if dim not in spanned:
                text = _Text(f"expand_dims({text.text}, axis={position})", dtype)
        values.append(text)
    if function.constant is not None:
        values.append(_Text(_number(function.constant), dtype))
    if function.name in OPERATORS:
        left, right = values
        return _operator(OPERATORS[function.name], left, right, dtype)
    return _Text(f"{function.name}({', '.join(value.text for value in values)})", dtype)


def _number(value: float) -> str:
    """A literal that is parsed as this number."""
    return str(int(value)) if float(value).is_integer() and abs(value) < 2**53 else repr(value)


def _oriented(argument: _Text, dims: Sequence[str], wanted: Sequence[str]) -> _Text:
    """A tensor of `dims`, transposed to `wanted` if these are the same dims."""
    if tuple(dims) == tuple(wanted) or set(dims) != set(wanted):
        return argument
    return _Text(_transpose(argument.text, [dims.index(d) for d in wanted]), argument.dtype)


def _transpose(text: str, order: Sequence[int]) -> str:
    return f"transpose({text}{'' if len(order) == 2 else f', order={_list(order)}'})"


def _moved(operation: Operation, source: _Text, dtype: DType, final: bool) -> str:
    """The text of a copy, which may transpose the tensor or cast it to another dtype."""
    before, after = (operand.dims for operand in operation.operands)
    text, transposed = source.text, before != after
    if transposed:
        text = _transpose(text, [before.index(d) for d in after])
    if dtype is not source.dtype:
        return f"cast({text}, {dtype})"
    # The transpose of an input is only a view of it, so a copy has to be written as `move`.
    return text if transposed and (final or not source.external) else f"move({text})"


def _channels_last(operation: Operation) -> bool:
    return operation.operands[-1].dims[-1] == "f"


def _windows(operation: Operation) -> tuple[tuple[int, int], tuple[int, int]]:
    """The strides of a convolution, and its padding."""
    windows = {image_axis.names[0]: image_axis for image_axis in operation.axes[0]}
    y, x = windows["y"], windows["x"]
    return (y.terms[0][1], x.terms[0][1]), (y.padding // 2, x.padding // 2)


def _options(
    operation: Operation, name: str, sizes: Mapping[str, int]
) -> list[tuple[str, str | int]]:
    """The options of a call that differ from their defaults."""
    options: list[tuple[str, str | int]] = []
    dims = operation.operands[0].dims
    if name in ("Sum", "Max") or name.startswith("Softmax"):
        axis = dims.index(_scanned(operation))
        if axis != len(dims) - 1 or name in ("Sum", "Max"):
            options.append(("axis", axis))
    if name == "Conv":
        strides, padding = _windows(operation)
        if strides != (1, 1):
            options.append(("stride", _pair(strides)))
        if padding != (0, 0):
            options.append(("padding", _pair(padding)))
        if _channels_last(operation):
            options.append(("layout", "NHWC"))
    if name == "Broadcast":
        out = operation.operands[1]
        (new,) = set(out.dims) - set(dims)
        options += [("axis", out.dims.index(new)), ("size", sizes[new])]
    return options


def _scanned(operation: Operation) -> str:
    """The dimension that is reduced, or that a maximum and a denominator are taken along."""
    if operation.reduced or operation.whole:
        return (*operation.reduced, *operation.whole)[0]
    rows = operation.operands[1].dims
    return next(d for d in operation.operands[0].dims if d not in rows)


def _pair(values: Sequence[int]) -> str:
    return str(values[0]) if values[0] == values[1] else _list(values)


def _list(values: Sequence[int]) -> str:
    return "[" + ",".join(map(str, values)) + "]"
