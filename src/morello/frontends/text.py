"""Text expressions: `f32[512,512] @ f32[512,512]`.

    goal       = expression ["->" type]
    expression = operand {"@" operand}
    operand    = type | function "(" [expression {"," expression}] ")" | "(" expression ")"
    type       = dtype "[" size {"," size} "]" [layout]

Layouts are written as XLA writes them, minor dimension first: `f32[2048,16384]{0,1}`.
"""

from __future__ import annotations

from dataclasses import dataclass

from morello.errors import SpecError
from morello.frontends.tokens import Token, tokens, wrong
from morello.ir.dtype import DType, parse_dtype
from morello.ir.layout import Layout, parse_layout, row_major
from morello.ir.spec import MAX_SIZE, Spec, matmul_spec
from morello.ir.tensor import TensorSpec, canonical, gapless

FUNCTIONS = ("matmul",)
"""What can be called; `a @ b` is `matmul(a, b)`."""

_MAX_DEPTH = 50
_EXAMPLE = "f32[64,64] @ f32[64,64]"
_SINGLE = "only a single matmul of two types is taken now"


@dataclass(frozen=True)
class Operand:
    """A tensor type in an expression, and where it begins in the text."""

    tensor: TensorSpec
    at: int


@dataclass(frozen=True)
class Call:
    """A function of expressions, and where its name, or its operator, stands in the text."""

    function: str
    arguments: tuple[Expression, ...]
    at: int


Expression = Operand | Call


def parse(text: str) -> Spec:
    """The Spec that an expression names; raises a `SpecError` that points at what is wrong."""
    parser = _Parser(text)
    if parser.next.kind == "end":
        raise SpecError(f"the expression is empty; write one such as {_EXAMPLE}.")
    expression = parser.expression()
    result = parser.type() if parser.accept("->") else None
    parser.end("end the expression, or go on with -> and a type")
    return _spec(text, expression, result)


def parse_type(text: str) -> TensorSpec:
    """The tensor that a type such as `f32[64,64]{0,1}` names; raises `SpecError`."""
    parser = _Parser(text)
    operand = parser.type()
    parser.end("end the type before it")
    return operand.tensor


def _spec(text: str, expression: Expression, result: Operand | None) -> Spec:
    """The Spec of an expression tree: for now, of one matmul."""
    if isinstance(expression, Operand):
        fix = f"multiply it by another, as in {_EXAMPLE}"
        raise wrong(text, expression.at, "this is a tensor, not something to compute", fix)
    operands = []
    for argument in expression.arguments:
        if isinstance(argument, Call):
            raise wrong(text, argument.at, _SINGLE, "compute this one as a Spec of its own")
        operands.append(argument)
    if len(operands) != 2:
        count = f"{expression.function} takes 2 tensors, not {len(operands)}"
        raise wrong(text, expression.at, count, "write matmul(f32[64,64], f32[64,64])")
    a, b = (operand.tensor for operand in operands)
    layout = None if result is None else result.tensor.form.layout
    try:
        spec = matmul_spec(a.shape, b.shape, layouts=(a.form.layout, b.form.layout, layout))
    except SpecError as error:
        raise wrong(text, operands[1].at, str(error)) from None
    made = spec.tensor(spec.operation.output)
    if result is not None and result.tensor.shape != made.shape:
        fix = f"write {made.dtype}[{_commas(made.shape)}] here"
        raise wrong(text, result.at, "the result does not have this shape", fix)
    return spec


class _Parser:
    """Recursive descent over the tokens of a text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._tokens = tokens(text)
        self._position = 0
        self._depth = 0

    @property
    def next(self) -> Token:
        return self._tokens[self._position]

    def accept(self, kind: str) -> Token | None:
        """Take the next token if it is of this kind."""
        token = self.next
        if token.kind != kind:
            return None
        self._position += 1
        return token

    def expect(self, kind: str, fix: str) -> Token:
        token = self.accept(kind)
        if token is None:
            end = self.next.kind == "end"
            what = "the text ends too soon" if end else f"{self.next} is not expected here"
            raise wrong(self.text, self.next.at, what, fix)
        return token

    def end(self, fix: str) -> None:
        self.expect("end", fix)

    def expression(self) -> Expression:
        left = self.operand()
        while operator := self.accept("@"):
            left = Call("matmul", (left, self.operand()), operator.at)
        return left

    def operand(self) -> Expression:
        if opening := self.accept("("):
            self._enter(opening)
            inner = self.expression()
            self.expect(")", "close the parenthesis here")
            self._depth -= 1
            return inner
        if self.next.kind == "name" and self._tokens[self._position + 1].kind == "(":
            return self.call()
        return self.type()

    def call(self) -> Call:
        name, opening = self.expect("name", "a function"), self.expect("(", "arguments")
        if name.text not in FUNCTIONS:
            known = f"the functions are: {', '.join(FUNCTIONS)}"
            raise wrong(self.text, name.at, f"unknown function {name}", known)
        self._enter(opening)
        arguments: list[Expression] = []
        while self.next.kind != ")" and (not arguments or self.accept(",")):
            arguments.append(self.expression())
        self.expect(")", "separate arguments by commas, and close the parenthesis")
        self._depth -= 1
        return Call(name.text, tuple(arguments), name.at)

    def type(self) -> Operand:
        if self.next.kind != "name":
            what = "a tensor is missing" if self.next.kind == "end" else f"{self.next} is no tensor"
            raise wrong(self.text, self.next.at, what, "write a type such as f32[4,4] here")
        name = self.expect("name", "a dtype")
        dtype = self._dtype(name)
        self.expect("[", f"write the sizes, as in {dtype}[4,4]")
        shape = [self.size()]
        while self.accept(","):
            shape.append(self.size())
        self.expect("]", "separate sizes by commas, and close the bracket")
        layout = self._layout(len(shape))
        form = canonical(tuple(shape), gapless(layout))
        return Operand(TensorSpec(tuple(shape), dtype, 0, form), name.at)

    def size(self) -> int:
        token = self.expect("number", "write a size, a whole number, here")
        digits = token.text.lstrip("0") or "0"
        if token.text.startswith("-") or digits == "0":
            raise wrong(self.text, token.at, "a size must be at least 1", "use 1 or more")
        if len(digits) > len(str(MAX_SIZE)) or int(digits) > MAX_SIZE:
            raise wrong(
                self.text, token.at, f"a size may be at most {MAX_SIZE}", "use a smaller one"
            )
        return int(digits)

    def _dtype(self, name: Token) -> DType:
        try:
            return parse_dtype(name.text)
        except SpecError as error:
            what, _, fix = str(error).rstrip(".").partition("; ")
            raise wrong(self.text, name.at, what, fix) from None

    def _layout(self, rank: int) -> Layout:
        token = self.accept("layout")
        if token is None:
            return row_major(rank)
        try:
            return parse_layout(token.text, rank)
        except SpecError as error:
            raise wrong(self.text, token.at, str(error)) from None

    def _enter(self, opening: Token) -> None:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise wrong(self.text, opening.at, "parentheses are nested too deep", _SINGLE)


def _commas(shape: tuple[int, ...]) -> str:
    return ",".join(map(str, shape))
