"""Text expressions such as `softmax(f32[64,64] @ f32[64,64])`, evaluated to Specs.

The grammar is in `frontends.syntax`; the functions that can be called, in `frontends.functions`.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from types import UnionType
from typing import Any, get_args

from morello.base.errors import SeveralKernelsError, SpecError, quoted
from morello.base.wording import counted
from morello.frontends.copies import cast, move
from morello.frontends.functions import ELSEWHERE, FUNCTIONS, SUGGESTED, signature
from morello.frontends.grouped import GroupedType
from morello.frontends.inputs import TensorLike, given_type
from morello.frontends.maps import divide_in_place
from morello.frontends.syntax import (
    Expression,
    FunctionCall,
    GroupedLiteral,
    Literal,
    Name,
    Option,
    Quoted,
    Results,
    Subscripted,
    TypeLiteral,
    read,
    read_type,
)
from morello.frontends.tokens import error_at, errors_at
from morello.frontends.types import Type
from morello.frontends.values import MisuseError, Value, input_of, value_of
from morello.frontends.views import ViewTensor, has_views, index, inputs_of, whole
from morello.ir.computation import Tensor, computation, in_order
from morello.ir.dtype import BF16, DTYPES, F16, F32, I16, U16, DType, meant_dtype, parse_dtype
from morello.ir.expression import DIVIDING, combining
from morello.ir.operation import accumulating, has_accumulating_form
from morello.ir.spec import Spec
from morello.ir.tensor import TensorSpec

MAX_INPUTS = 7
"""A kernel takes at most 8 arrays, one of which is the result."""


@dataclass(frozen=True)
class NamedCall:
    """A call of a function of the language, an operator included: its operands and its result."""

    function: str
    arguments: tuple[Value | float | str | DType, ...]
    options: Mapping[str, Any]
    result: Value


@dataclass(frozen=True)
class CallSequence:
    """An expression as a sequence of function calls, in an order in which they can be evaluated."""

    inputs: tuple[Tensor, ...]
    """The inputs, in the order in which the expression's kernel or program takes them."""
    calls: tuple[NamedCall, ...]
    """The calls, each after those whose results it takes."""
    result: Value
    dtype: DType
    """That of the result, which may be narrower than `result`."""


def call_sequence(text: str) -> CallSequence:
    """The calls of an expression; raises `SpecError` as `parse`."""
    syntax, evaluator = read(text), _Evaluator(text, {})
    for name, node in syntax.lets:
        evaluator.bind(name, node)
    value = evaluator.of(syntax.expression)
    assert isinstance(value, Value)
    tensor = evaluator.computed(syntax.expression, value)
    results = syntax.results
    if value.tensor.others or (results and results.operator):
        what = "this has several results, or updates a tensor that is given"
        raise error_at(text, syntax.expression.at, what, "write one that has a single new result")
    stored = results.tensors[-1] if results else None
    dtype = stored.type.dtype if isinstance(stored, TypeLiteral) else value.dtype
    return CallSequence(_taken(tensor), tuple(evaluator.calls), value, dtype)


def _taken(tensor: Tensor) -> tuple[Tensor, ...]:
    """The inputs in the order in which a kernel takes them, or a program of several."""
    if not has_views(tensor):
        with suppress(SpecError):
            return computation(tensor).arrays
    return inputs_of(tensor)


def parse(text: str, /, **tensors: TensorLike) -> Spec:
    """The Spec of an expression; raises a `SpecError` that points at what is wrong.

    If the text is right, but no single kernel computes it, that is a `SeveralKernelsError`.

        parse("relu(x @ w)", x="f32[16,64]", w=w)  # w is an array

    `tensors` binds names in the text to types, tensor specs or arrays, whose values do not matter.
    """
    evaluator, node, result = _read(text, tensors)
    return evaluator.goal(node, result)


def parse_tensor(text: str, /, **tensors: TensorLike) -> Tensor:
    """The tensor that an expression computes, as a graph; raises `SpecError` as `parse`.

    The graph may have more operations and inputs than a Spec can have, but one result, which is
    combined with no other.
    """
    evaluator, node, result = _read(text, tensors)
    if evaluator.into or result.others:
        what = "a graph's operations have one result each, and change no tensor that is given"
        raise error_at(text, node.at, what, "compute it as a Spec of its own")
    return result


def _read(text: str, tensors: Mapping[str, TensorLike]) -> tuple[_Evaluator, Expression, Tensor]:
    """The text's evaluator, its expression, and the tensor that the expression computes."""
    syntax = read(text, tensors)
    evaluator = _Evaluator(text, {name: given_type(name, value) for name, value in tensors.items()})
    for name, node in syntax.lets:
        evaluator.bind(name, node)
    result = evaluator.result(syntax.expression, syntax.results)
    evaluator.check_used()
    return evaluator, syntax.expression, result


def parse_type(text: str) -> TensorSpec:
    """The tensor spec of a type such as `f32[64,64]{0,1}`; raises `SpecError`."""
    return read_type(text).tensor


class _Evaluator:
    """Evaluates the expressions of a text, given the types of the tensors it may name."""

    def __init__(self, text: str, given: Mapping[str, Type | GroupedType]) -> None:
        self.text = text
        self.calls: list[NamedCall] = []
        self.into = ""
        """The operator that combines the results with what they are written to, if there is any."""
        self._values: dict[str, Value | float] = {}
        self._places: dict[str, int | None] = {}
        self._inputs: dict[Tensor, int] = {}
        self._used: set[str] = set()
        self._bound: dict[str, Expression] = {}
        self._grouped: dict[str, tuple[Name, Name]] = {}
        """Names of weights in groups, with those of the two tensors that hold them."""
        for name, kind in given.items():
            if reserved := _reserved(name):
                raise SpecError(f"{name} is {reserved}; call the tensor by another name.")
            self._places[name] = None
            if isinstance(kind, GroupedType):
                self._bind_grouped(name, GroupedLiteral(kind, 0))
            else:
                self._values[name] = value_of(input_of(kind, name))

    def bind(self, name: Name, node: Expression) -> None:
        """Bind a name to the value of an expression; raises `SpecError`."""
        if reserved := _reserved(name.name):
            raise error_at(self.text, name.at, f"{name.name} is {reserved}", "use another name")
        if name.name in self._values or name.name in self._grouped:
            fix = "use another name"
            raise error_at(self.text, name.at, f"{name.name} stands for something already", fix)
        self._places[name.name] = name.at
        if isinstance(node, GroupedLiteral):
            self._bind_grouped(name.name, node)
            return
        value = self._input(node, name.name) if isinstance(node, TypeLiteral) else self.of(node)
        self._values[name.name] = value
        self._bound[name.name] = node

    def _bind_grouped(self, name: str, node: GroupedLiteral) -> None:
        """Bind a name to weights in groups, and two more to the tensors; raises `SpecError`."""
        names = Name(f"{name}_weights", node.at), Name(f"{name}_scales", node.at)
        for each, type in zip(names, (node.type.weights, node.type.scales), strict=True):
            if each.name in self._values:
                what = f"{each.name} stands for something already"
                raise error_at(self.text, node.at, what, f"call {name} by another name")
            self._values[each.name] = value_of(input_of(type, each.name))
        self._grouped[name] = names

    def check_used(self) -> None:
        for name, at in self._places.items():
            if name in self._used:
                continue
            if at is None:
                raise SpecError(f"{name:.60} is given, and the expression does not use it.")
            raise error_at(self.text, at, f"{name} is never used", "use it, or leave it out")

    def of(self, node: Expression) -> Value | float:
        """The value of an expression, a tensor or a number; raises `SpecError`."""
        if isinstance(node, Literal):
            return node.value
        if isinstance(node, TypeLiteral):
            return self._input(node, "")
        if isinstance(node, FunctionCall):
            return self._call(node)
        if isinstance(node, Subscripted):
            return self._part(node)
        if isinstance(node, Quoted):
            fix = "write a tensor such as f32[4,4]"
            raise error_at(self.text, node.at, "a quoted text cannot stand here", fix)
        if isinstance(node, GroupedLiteral) or node.name in self._grouped:
            fix = "only the second operand of @ can be such, as in f32[1,64] @ i4g32[64,16]"
            raise error_at(self.text, node.at, "these are weights in groups", fix)
        if node.name not in self._values:
            raise self._unknown(node)
        self._used.add(node.name)
        value = self._values[node.name]
        if isinstance(value, Value) and value.external:
            self._inputs.setdefault(value.tensor, node.at)
        return value

    def _input(self, node: TypeLiteral, name: str) -> Value:
        tensor = input_of(node.type, name)
        self._inputs[tensor] = node.at
        return value_of(tensor)

    def _unknown(self, node: Name) -> SpecError:
        what = f"{node.name} stands for nothing"
        if node.name in FUNCTIONS:
            return error_at(self.text, node.at, f"{node.name} is a function", "call it, as in "
                         + signature(node.name).usage)  # fmt: skip
        dtype = meant_dtype(node.name)
        if dtype is not None:
            fix = f"write the sizes, as in {dtype}[4,4]"
            return error_at(self.text, node.at, f"{node.name} is only a dtype", fix)
        near = difflib.get_close_matches(node.name, self._values, 1)
        fix = f"did you mean {near[0]}" if near else f"bind it first, as in {node.name} = f32[4,4];"
        return error_at(self.text, node.at, what, fix)

    def _part(self, node: Subscripted) -> Value:
        """The part of a tensor that subscripts select."""
        value = self.of(node.source)
        if isinstance(value, float):
            raise error_at(self.text, node.at, "a number has no parts", "write a tensor here")
        try:
            result = index(value, node.subscripts)
        except MisuseError as error:
            places = (*node.places, node.at)
            at = node.at if error.at is None else places[min(int(error.at), len(places) - 1)]
            raise error_at(self.text, at, error.what, error.fix) from None
        return self._noted(NamedCall("index", (value,), {"at": node.subscripts}, result), node.at)

    def _noted(self, call: NamedCall, at: int) -> Value:
        """The result of a call, which may be a view, after the call is noted."""
        if isinstance(call.result.tensor, ViewTensor):
            self._inputs.setdefault(call.result.tensor, at)
        self.calls.append(call)
        return call.result

    # ---- calls

    def _call(self, node: FunctionCall) -> Value:
        if node.function not in FUNCTIONS:
            near = difflib.get_close_matches(node.function, SUGGESTED, 1)
            fix = f"the functions are: {', '.join(SUGGESTED)}"
            fix = f"did you mean {near[0]}" if near else fix
            fix = ELSEWHERE.get(node.function, fix)
            raise error_at(self.text, node.at, f"unknown function {quoted(node.function)}", fix)
        node = self._with_tensors(node)
        known = signature(node.function)
        kinds = [*known.arguments.values()]
        if known.more is not None:
            kinds += [known.more] * max(0, len(node.arguments) - len(kinds))
        if not known.fewest <= len(node.arguments) <= len(kinds):
            wanted = len(known.arguments)
            some = f"{known.fewest} to " * (known.fewest < wanted)
            count = f"{some}{counted(wanted, 'argument')}, not {len(node.arguments)}"
            what = f"{node.function} takes {count}"
            raise error_at(self.text, node.at, what, f"write {known.usage}")
        arguments = [
            self._argument(argument, kind)
            for argument, kind in zip(node.arguments, kinds, strict=False)
        ]
        options: dict[str, Any] = {}
        for name, option in node.options:
            if name.name not in known.options or name.name in options:
                what = f"{node.function} has no option {name.name}"
                if name.name in options:
                    what = f"{name.name} is set twice"
                raise error_at(self.text, name.at, what, f"write {known.usage}")
            options[name.name] = self._option(name, option, known.options[name.name])
        if missing := sorted(known.required - options.keys()):
            what = f"{node.function} needs {' and '.join(missing)}"
            raise error_at(self.text, node.at, what, f"write {known.usage}")
        try:
            result = FUNCTIONS[node.function](*arguments, **options)
        except MisuseError as error:
            raise error_at(self.text, _place(node, error.at), error.what, error.fix) from None
        return self._noted(NamedCall(node.function, tuple(arguments), options, result), node.at)

    def _with_tensors(self, node: FunctionCall) -> FunctionCall:
        """The call itself, or that of `quantized_matmul` for a product by weights in groups."""
        if node.function != "matmul" or len(node.arguments) != 2:
            return node
        x, w = node.arguments
        if isinstance(w, Name) and w.name in self._grouped:
            self._used.add(w.name)
            held: tuple[Expression, ...] = self._grouped[w.name]
        elif isinstance(w, GroupedLiteral):
            held = TypeLiteral(w.type.weights, w.at), TypeLiteral(w.type.scales, w.at)
        else:
            return node
        return replace(node, function="quantized_matmul", arguments=(x, *held))

    def _argument(self, node: Expression, kind: Any) -> Value | float | str | DType:
        if kind is str:
            if not isinstance(node, Quoted):
                fix = 'write it in quotes, as in "mk,kn->mn"'
                raise error_at(self.text, node.at, "this is no quoted text", fix)
            return node.value
        if kind is DType:
            if not isinstance(node, Name) or node.name not in DTYPES:
                fix = f"name one of {', '.join(DTYPES)}"
                raise error_at(self.text, node.at, "this is no dtype", fix)
            return parse_dtype(node.name)
        value = self.of(node)
        kinds = get_args(kind) or (kind,)
        if isinstance(value, float) and float not in kinds:
            fix = "write a tensor such as f32[4,4]"
            raise error_at(self.text, node.at, "a number cannot stand here", fix)
        if isinstance(value, Value) and Value not in kinds:
            raise error_at(self.text, node.at, "a tensor cannot stand here", "write a number")
        return value

    def _option(self, name: Name, option: Option, kind: Any) -> Any:
        """The value of an option of type `kind`; raises `SpecError` for a value of another type."""
        kinds = get_args(kind) if isinstance(kind, UnionType) else (kind,)
        value = option.value
        if bool in kinds and isinstance(value, str):
            if value.lower() in ("true", "false"):
                return value.lower() == "true"
        elif str in kinds:
            return str(value)
        elif isinstance(value, int | float) and float in kinds:
            return float(value)
        elif isinstance(value, int):
            if int in kinds:
                return value
        elif isinstance(value, tuple) and len(kinds) > 1:
            return value
        wanted = "a number" if float in kinds else "a small whole number"
        wanted = "True or False" if bool in kinds else wanted
        wanted += " or a list of them, as in [2,1]" * (len(kinds) > 1)
        raise error_at(self.text, option.at, f"{name.name} cannot be this", f"write {wanted}")

    # ---- the goal

    def result(self, node: Expression, results: Results | None) -> Tensor:
        """The last tensor that a goal computes, as it is stored; raises `SpecError`."""
        value = self.of(node)
        if results is None:
            return self.computed(node, value)
        self.into = results.operator
        given = [self._given(tensor) for tensor in results.tensors]
        if self.into == DIVIDING and isinstance(value, Value):
            try:
                value = divide_in_place(value_of(given[0]), value)
            except MisuseError as error:
                raise error_at(self.text, node.at, error.what, error.fix) from None
        tensor = self.computed(node, value)
        if not {*given}.isdisjoint(in_order(tensor)[1]):
            fix = "give the expression a tensor of its own"
            raise error_at(self.text, results.at, "the result is read as an input, too", fix)
        return self._stored(tensor, results, given)

    def computed(self, node: Expression, value: Value | float) -> Tensor:
        """The tensor of an expression's value; raises `SpecError` if nothing is computed."""
        if isinstance(value, float):
            fix = "write one of tensors, such as f32[64,64] * 2"
            raise error_at(self.text, node.at, "this is a number, not something to compute", fix)
        if isinstance(value.tensor, ViewTensor):
            return whole(value)
        with errors_at(self.text, node.at):
            tensor = value.materialized.tensor
        if tensor.operation is None and isinstance(
            self._resolved(node), FunctionCall | Subscripted
        ):
            tensor = move(value).tensor  # what changes nothing is a copy
        if tensor.operation is None:
            fix = "compute something of it, as in f32[64,64] @ f32[64,64]"
            raise error_at(self.text, node.at, "this is a tensor, not something to compute", fix)
        return tensor

    def _resolved(self, node: Expression) -> Expression:
        """The expression itself, or the one bound to it if it is a name."""
        while isinstance(node, Name) and node.name in self._bound:
            node = self._bound[node.name]
        return node

    def _given(self, node: TypeLiteral | Name) -> Tensor:
        """The tensor that a result is written to, without a name if it is only a type."""
        if isinstance(node, TypeLiteral):
            return input_of(node.type)
        value = self.of(node)
        known = value.tensor if isinstance(value, Value) and value.materialized is value else None
        if known is not None and known.operation is None and not isinstance(known, ViewTensor):
            return known
        fix = f"bind it to a type, as in {node.name} = f32[4,4];"
        raise error_at(self.text, node.at, f"{node.name} is no tensor that is given", fix)

    def _stored(self, tensor: Tensor, results: Results, given: Sequence[Tensor]) -> Tensor:
        """The result with the dtypes, layouts and strides of given ones; raises `SpecError`."""
        computed = (*tensor.others, tensor)
        if len(given) != len(computed):
            types = ", ".join(_type_text(t) for t in computed)
            there = "is" if len(computed) == 1 else "are"
            what = f"there {there} {counted(len(computed), 'result')}, not {len(given)}"
            fix = f"write {types if len(computed) == 1 else f'({types})'} here"
            raise error_at(self.text, results.at, what, fix)
        if len({*given}) < len(given):
            fix = "name a tensor for each"
            raise error_at(self.text, results.at, "one tensor cannot hold two results", fix)
        for each, wanted, node in zip(computed, given, results.tensors, strict=True):
            if wanted.shape != each.shape:
                fix = f"write {_type_text(each)} here"
                raise error_at(self.text, node.at, "the result does not have this shape", fix)
            dtypes = (each.dtype,) if tensor.others else _result_dtypes(tensor, bool(self.into))
            if wanted.dtype not in dtypes:
                known = " or ".join(str(dtype) for dtype in dtypes)
                what = f"the result is of {known}, not {wanted.dtype}"
                fix = f"write {known}"
                if not (self.into or tensor.others):
                    fix += f", or cast(.., {wanted.dtype}) before ->"
                raise error_at(self.text, node.at, what, fix)
        if tensor.operation is None:
            tensor = move(value_of(tensor)).tensor
        if not (tensor.operation and tensor.operation.is_product):
            tensor = cast(value_of(tensor), given[-1].dtype).tensor
        *others, last = (
            replace(each, dtype=t.dtype, layout=t.layout, strides=t.strides, name=t.name)
            for each, t in zip((*tensor.others, tensor), given, strict=True)
        )
        return replace(last, others=tuple(others))

    def check_whole(self, result: Tensor) -> None:
        """Raise `SpecError` if a result is, or is computed from, views of tensors."""
        if has_views(result):
            views = (at for tensor, at in self._inputs.items() if isinstance(tensor, ViewTensor))
            at = next(views, 0)
            kind = SpecError if self.into else SeveralKernelsError
            fix = "morello.compile and `morello synth` make a program of several kernels"
            fix = "compute the view as a tensor of its own" if self.into else fix
            raise error_at(self.text, at, "a Spec has no views, such as this one", fix, kind)

    def goal(self, node: Expression, result: Tensor) -> Spec:
        self.check_whole(result)
        several = SpecError if self.into or result.others else SeveralKernelsError
        with errors_at(self.text, node.at, several):
            computed = computation(result)
        operator = combining(computed.operation)
        if self.into not in ("", operator):
            what = f"what is computed here is not combined by {self.into}"
            fix = f"write {operator}" if operator else "only sums and extrema are combined"
            raise error_at(self.text, node.at, what, fix)
        if self.into and has_accumulating_form(computed.operation):
            computed = replace(computed, operation=accumulating(computed.operation))
        if len(computed.arrays) > MAX_INPUTS:
            what = f"{len(computed.arrays)} tensors; a kernel takes {MAX_INPUTS} and the result"
            at = self._inputs[computed.arrays[MAX_INPUTS]]
            raise error_at(self.text, at, what, "compute a part as a Spec of its own")
        with errors_at(self.text, node.at):
            return computed.spec


def _reserved(name: str) -> str:
    """The kind of thing that a reserved name stands for; empty for a name that can be bound."""
    return "a function" if name in FUNCTIONS else "a dtype" if name in DTYPES else ""


def _place(node: FunctionCall, at: int | str | None) -> int:
    """The position of a call's argument (a number) or option (a name), or of the call for None.

    So too for one that is not the call's: functions report misuses of those that they call.
    """
    if isinstance(at, str):
        return next((option.at for name, option in node.options if name.name == at), node.at)
    return node.at if at is None or at >= len(node.arguments) else node.arguments[at].at


def _type_text(tensor: Tensor) -> str:
    return f"{tensor.dtype}[{','.join(map(str, tensor.shape))}]"


def _result_dtypes(tensor: Tensor, combined: bool) -> tuple[DType, ...]:
    """The dtypes that a result may have, the default first; no cast comes before it is combined."""
    if tensor.operation is None:
        return (tensor.dtype,)
    default = tensor.dtype
    if default is F32 and not tensor.operation.fills:
        return (F32, BF16, F16) if tensor.operation.is_product or not combined else (F32,)
    if not tensor.operation.is_product:
        return (default,)
    narrow = all(source.dtype.bytes == 1 for source in tensor.inputs)
    return (default, I16, U16) if narrow else (default,)
