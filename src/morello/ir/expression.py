"""Specs as text: the expression that names a Spec as a goal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from morello.ir.dtype import DType, result_dtype
from morello.ir.functions import OPERATORS
from morello.ir.operation import Component, Operation
from morello.ir.primitives import conv

SUM, PRODUCT, ATOM = range(3)
"""How tightly the outermost operator of a text binds."""


@dataclass(frozen=True)
class _Text:
    """What computes a tensor, or names it."""

    text: str
    dtype: DType
    binds: int = ATOM
    external: bool = False

    def within(self, least: int) -> str:
        """The text, in parentheses if it binds less tightly."""
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
    """The text that `frontends.text` reads as this operation on operands of these types.

    `names` are the operands', if not as the operation calls them; inputs of one are one array.
    The output's type is said if it must be `placed`, or has another dtype than usual.
    """
    *inputs, result = types
    components = operation.components or (
        Component(operation, tuple(range(len(inputs))), operation.dims, dtypes[-1]),
    )
    named = dict(zip(operation.dims, sizes, strict=True))
    uses = [tensor for one in components for tensor in one.inputs]
    usual = [operand.name for operand in operation.operands[:-1]]
    called = list(names[:-1]) or usual
    lets: list[str] = []
    tensors: list[_Text] = []
    for number, text in enumerate(inputs):
        name = called[number]
        if called != usual or uses.count(number) > 1:
            if name not in called[:number]:
                lets.append(f"{name} = {text}; ")
            text = name
        tensors.append(_Text(text, dtypes[number], external=True))
    for one in components:
        number = len(tensors)
        along = {d: a.extent(named) for d, a in one.axes.items()}
        goal = number == len(inputs) + len(components) - 1
        made = _primitive(one, [tensors[t] for t in one.inputs], along, result, goal=goal)
        if not goal and one.dtype is not _usual(one, [tensors[t].dtype for t in one.inputs]):
            made = _Text(f"({made.text} -> {one.dtype})", one.dtype)
        if uses.count(number) > 1:
            name = next(n for n in (f"t{i}" for i in range(number, 999)) if n not in called)
            called.append(name)
            lets.append(f"{name} = {made.text}; ")
            made = _Text(name, made.dtype)
        tensors.append(made)
    last, text = components[-1], tensors[-1].text
    if _used(components, len(inputs)) != list(range(len(inputs))):
        text = f"f({', '.join(called[: len(inputs)])}) = {text}"  # in an order of its own
    if operation.accumulates:
        combined = "max=" if operation.operands[-1].start == "lowest" else "+="
        return f"{''.join(lets)}{result} {combined} {text}"
    said = placed or dtypes[-1] is not _usual(last, [tensors[t].dtype for t in last.inputs])
    said &= not _name(last.operation).startswith("Fill")  # says it already
    return "".join(lets) + text + (f" -> {result}" if said else "")


def _used(components: Sequence[Component], inputs: int) -> list[int]:
    """The inputs in the order in which a reader of the text comes upon them."""
    found: dict[int, None] = {}
    todo = [inputs + len(components) - 1]
    while todo:
        tensor = todo.pop()
        if tensor not in found:
            found[tensor] = None
            if tensor >= inputs:
                todo += reversed(components[tensor - inputs].inputs)
    return [tensor for tensor in found if tensor < inputs]


def _name(operation: Operation) -> str:
    return operation.name.removesuffix("Accum")


def _usual(component: Component, inputs: Sequence[DType]) -> DType | None:
    """The dtype of what a component makes unless it is said."""
    if _name(component.operation) in ("Matmul", "Conv"):
        return result_dtype(*inputs)
    if component.operation.copies:  # a cast says it
        return component.dtype
    return inputs[0]


def _primitive(
    component: Component,
    arguments: Sequence[_Text],
    sizes: Mapping[str, int],
    result: str,
    *,
    goal: bool,
) -> _Text:
    """What a component makes of these arguments; `sizes` are those of its dimensions.

    `goal` says that it makes the output, of the type `result`.
    """
    operation, dtype = component.operation, component.dtype
    name = _name(operation)
    if name == "Matmul":
        lead = operation.dims[:-3]
        a = _oriented(arguments[0], operation.operands[0].dims, (*lead, "m", "k"))
        b = _oriented(arguments[1], operation.operands[1].dims, (*lead, "k", "n"))
        return _operator("@", a, b, dtype)
    if name == "Move":
        return _Text(_moved(operation, arguments[0], dtype, goal), dtype)
    if name.startswith("Fill"):
        return _Text(f"{_CALLS[name]}({result})", dtype)
    if operation.function is not None and name not in ("Broadcast", "OnePrefix"):
        made = _map(operation, arguments, dtype)
        if name == "Multiply" and len({*component.inputs}) == 1:  # which is read as a square
            return _Text(f"({made.text} unsquared)", dtype)
        return made
    words = [argument.text for argument in arguments]
    if name == "Conv":
        usual = conv(*_windows(operation), _channels_last(operation)).operands
        words = [
            _oriented(argument, operand.dims, like.dims).text
            for argument, operand, like in zip(arguments, operation.operands, usual, strict=False)
        ]
    words += [f"{key}={value}" for key, value in _options(operation, name, sizes)]
    call = name if _unsayable(operation, name) else _CALLS.get(name, name)
    return _Text(f"{call}({', '.join(words)})", dtype)


def _unsayable(operation: Operation, name: str) -> bool:
    """It has a function's name, and no call of that makes it."""
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
"""Functions by the primitives they name; parts of softmax with two outputs have none."""


def _operator(symbol: str, left: _Text, right: _Text, dtype: DType) -> _Text:
    binds = SUM if symbol in "+-" else PRODUCT
    return _Text(f"{left.within(binds)} {symbol} {right.within(binds + 1)}", dtype, binds)


def _map(operation: Operation, arguments: Sequence[_Text], dtype: DType) -> _Text:
    """A function of every element: an operator if it has one."""
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
    """A literal that is read back as this number."""
    return str(int(value)) if float(value).is_integer() and abs(value) < 2**53 else repr(value)


def _oriented(argument: _Text, dims: Sequence[str], wanted: Sequence[str]) -> _Text:
    """The tensor of these dims with those that are `wanted`, in their order."""
    if tuple(dims) == tuple(wanted) or set(dims) != set(wanted):
        return argument
    return _Text(_transpose(argument.text, [dims.index(d) for d in wanted]), argument.dtype)


def _transpose(text: str, order: Sequence[int]) -> str:
    return f"transpose({text}{'' if len(order) == 2 else f', order={_list(order)}'})"


def _moved(operation: Operation, source: _Text, dtype: DType, goal: bool) -> str:
    """A copy: to another order of the dimensions, or another dtype."""
    here, there = (operand.dims for operand in operation.operands)
    text, turned = source.text, here != there
    if turned:
        text = _transpose(text, [here.index(d) for d in there])
    if dtype is not source.dtype:
        return f"cast({text}, {dtype})"
    # What a use of an input could take in another order is a copy only if that is said.
    return text if turned and (goal or not source.external) else f"move({text})"


def _channels_last(operation: Operation) -> bool:
    return operation.operands[-1].dims[-1] == "f"


def _windows(operation: Operation) -> tuple[tuple[int, int], tuple[int, int]]:
    """The strides of a convolution, and its padding."""
    found = {one.names[0]: one for one in operation.axes[0]}
    y, x = found["y"], found["x"]
    return (y.terms[0][1], x.terms[0][1]), (y.padding // 2, x.padding // 2)


def _options(
    operation: Operation, name: str, sizes: Mapping[str, int]
) -> list[tuple[str, str | int]]:
    """The options of a call that are not as usual."""
    found: list[tuple[str, str | int]] = []
    dims = operation.operands[0].dims
    if name in ("Sum", "Max") or name.startswith("Softmax"):
        axis = dims.index(_scanned(operation))
        if axis != len(dims) - 1 or name in ("Sum", "Max"):
            found.append(("axis", axis))
    if name == "Conv":
        strides, padding = _windows(operation)
        if strides != (1, 1):
            found.append(("stride", _pair(strides)))
        if padding != (0, 0):
            found.append(("padding", _pair(padding)))
        if _channels_last(operation):
            found.append(("layout", "NHWC"))
    if name == "Broadcast":
        out = operation.operands[1]
        (new,) = set(out.dims) - set(dims)
        found += [("axis", out.dims.index(new)), ("size", sizes[new])]
    return found


def _scanned(operation: Operation) -> str:
    """The dimension along which rows are reduced, or have a maximum and a denominator."""
    if operation.reduced or operation.whole:
        return (*operation.reduced, *operation.whole)[0]
    rows = operation.operands[1].dims
    return next(d for d in operation.operands[0].dims if d not in rows)


def _pair(values: Sequence[int]) -> str:
    return str(values[0]) if values[0] == values[1] else _list(values)


def _list(values: Sequence[int]) -> str:
    return "[" + ",".join(map(str, values)) + "]"
