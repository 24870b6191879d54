"""The grammar of text expressions.

    goal       = {name "=" expression ";"} (given into expression | expression ["->" types])
    into       = "+=" | "max=" | "min=" | "merge=" | "/="
    given      = (type | name) | "(" (type | name) {"," (type | name)} ")"
    types      = type | "(" type {"," type} ")"
    expression = sum [("<" | "<=" | ">" | ">=" | "==" | "!=") sum]
    sum        = term {("+" | "-") term}
    term       = factor {("@" | "*" | "/") factor}
    factor     = "-" factor | part ["**" factor]
    part       = operand {"[" subscript {"," subscript} "]"}
    operand    = "(" expression ")" | call | type | name | number | "inf"
    subscript  = number | [number] ":" [number] [":" [number]] | "..." | "None"
    call       = function "(" [argument {"," argument}] ")"
    argument   = expression | quoted text | option "=" (number | name | "[" number {"," number} "]")
    type       = dtype "[" size {"," size} "]" [layout] ["S(" stride {"," stride} ")"]
               | grouped "[" size "," size "]"

Layouts are written as XLA writes them, minor dimension first: `f32[2048,16384]{0,1}`. Strides
are in elements, one for each dimension: `f32[64,64]S(100,1)`. A type of weights in groups, such as
`i4g32[64,16]`, is an operand of `@` only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TypeVar

from morello.base.errors import SpecError
from morello.frontends.grouped import GroupedType, grouped_type, is_grouped_name
from morello.frontends.tokens import Token, error_at, errors_at, tokenize
from morello.frontends.types import Type, make_type
from morello.frontends.views import Subscript
from morello.ir.dtype import DType, parse_dtype
from morello.ir.expression import COMBINING, DIVIDING, MERGING
from morello.ir.functions import COMPARISONS
from morello.ir.layout import Layout, parse_layout
from morello.ir.primitives import MAX_RANK
from morello.ir.spec import MAX_SIZE

MAX_OPERATIONS = 100
"""The maximum number of operators and calls in a text."""

_MAX_DEPTH = 50
_EXAMPLE = "f32[64,64] @ f32[64,64]"
_COMPARISONS = {symbol: name for name, symbol in COMPARISONS.items()}
_SUMS = {"+": "add", "-": "subtract"}
_PRODUCTS = {"@": "matmul", "*": "multiply", "/": "divide"}

_T = TypeVar("_T")


@dataclass(frozen=True)
class Literal:
    """A number, and where it begins in the text."""

    value: float
    at: int


@dataclass(frozen=True)
class Name:
    """A name, and where it begins in the text."""

    name: str
    at: int


@dataclass(frozen=True)
class Quoted:
    """A quoted text, and where it begins in the whole text."""

    value: str
    at: int


@dataclass(frozen=True)
class TypeLiteral:
    """A tensor type, and where it begins in the text."""

    type: Type
    at: int


@dataclass(frozen=True)
class GroupedLiteral:
    """A type of weights in groups, and where it begins in the text."""

    type: GroupedType
    at: int


@dataclass(frozen=True)
class Option:
    """The value of a call's option, and where it begins in the text."""

    value: int | float | str | tuple[int, ...]
    at: int


@dataclass(frozen=True)
class FunctionCall:
    """A function or operator with its arguments, and where its name or symbol is in the text."""

    function: str
    arguments: tuple[Expression, ...]
    at: int
    options: tuple[tuple[Name, Option], ...] = ()


@dataclass(frozen=True)
class Subscripted:
    """An expression with subscripts, and where each of these begins in the text."""

    source: Expression
    subscripts: tuple[Subscript, ...]
    places: tuple[int, ...]

    @property
    def at(self) -> int:
        """Where it begins in the text."""
        return self.source.at


Expression = TypeLiteral | GroupedLiteral | Literal | Name | Quoted | FunctionCall | Subscripted


@dataclass(frozen=True)
class Results:
    """The types of the results, or names of given tensors, and where they begin in the text.

    With an operator, such as +=, the results are combined by it with what these tensors hold.
    """

    tensors: tuple[TypeLiteral | Name, ...]
    at: int
    operator: str = ""


@dataclass(frozen=True)
class ParsedText:
    """A whole text: names bound to expressions, what to compute, and the results if given."""

    lets: tuple[tuple[Name, Expression], ...]
    expression: Expression
    results: Results | None


def read(text: str, given: Iterable[str] = ()) -> ParsedText:
    """The syntax tree of a text; raises a `SpecError` that points at what is wrong.

    Before a bracket, a name is that of a tensor if it is `given`, or bound before; else a dtype.
    """
    parser = _Parser(text, given)
    if parser.next.kind == "end":
        raise SpecError(f"the expression is empty; write one such as {_EXAMPLE}.")
    lets = []
    while parser.next.kind == "name" and parser.after_next.kind == "=":
        lets.append(parser.let())
    results = parser.into()
    expression = parser.expression()
    if results is None and parser.accept("->"):
        results = parser.results(parser.type)
    parser.end("end the expression" + ", or go on with -> and a type" * (results is None))
    return ParsedText(tuple(lets), expression, results)


def read_type(text: str) -> Type:
    """The type that a text such as `f32[64,64]{0,1}` denotes; raises `SpecError`."""
    parser = _Parser(text)
    operand = parser.type()
    parser.end("end the type before it")
    return operand.type


def read_given(text: str) -> Type | GroupedType:
    """The type that a text such as `f32[64,64]` or `i4g32[64,16]` denotes; raises `SpecError`."""
    parser = _Parser(text)
    operand = parser.type_or_grouped()
    parser.end("end the type before it")
    return operand.type


class _Parser:
    """Recursive descent over the tokens of a text."""

    def __init__(self, text: str, given: Iterable[str] = ()) -> None:
        self.text = text
        self._tokens = tokenize(text)
        self._position = 0
        self._depth = 0
        self._operations = 0
        self._bound = {*given}

    @property
    def next(self) -> Token:
        return self._tokens[self._position]

    @property
    def after_next(self) -> Token:
        return self._tokens[min(self._position + 1, len(self._tokens) - 1)]

    def accept(self, *kinds: str) -> Token | None:
        """Take the next token if it is of one of these kinds."""
        token = self.next
        if token.kind not in kinds:
            return None
        self._position += 1
        return token

    def expect(self, kind: str, fix: str) -> Token:
        token = self.accept(kind)
        if token is None:
            end = self.next.kind == "end"
            what = "the text ends too soon" if end else f"{self.next} is not expected here"
            raise error_at(self.text, self.next.at, what, fix)
        return token

    def end(self, fix: str) -> None:
        self.expect("end", fix)

    def let(self) -> tuple[Name, Expression]:
        name = self.expect("name", "a name")
        self.expect("=", "give it a meaning")
        value = self.expression()
        self._bound.add(name.text)
        self.expect(";", "end what the name stands for with a semicolon, and go on")
        return Name(name.text, name.at), value

    # ---- results

    def into(self) -> Results | None:
        """The left side of an update such as `c += a @ b`; None if the goal is no update."""
        depth, place = 0, self._position
        while depth or not self._operator(place):
            kind = self._tokens[place].kind
            if kind == "end":
                return None
            depth += (kind in ("(", "[")) - (kind in (")", "]"))
            place += 1
        operator = self._operator(place)
        results = replace(self.results(self._given), operator=operator)
        if self._position != place:
            fix = f"write types or names before {operator}"
            raise error_at(self.text, self.next.at, f"{self.next} is not expected here", fix)
        self._position += 1 if self.next.kind == operator else 2
        return results

    def _operator(self, place: int) -> str:
        """The operator that combines results, which begins with the token at this place, if any."""
        token = self._tokens[place]
        text = token.text + "=" * (token.kind == "name" and self._tokens[place + 1].kind == "=")
        return text if text in (*COMBINING.values(), MERGING, DIVIDING) else ""

    def results(self, parse_one: Callable[[], TypeLiteral | Name]) -> Results:
        """A result, or several in parentheses."""
        at, several = self.next.at, self.accept("(")
        tensors = self._listed(parse_one) if several else [parse_one()]
        if several:
            self.expect(")", "separate results by commas, and close the parenthesis")
        return Results(tuple(tensors), at)

    def _given(self) -> TypeLiteral | Name:
        if self.next.kind == "name" and self.after_next.kind != "[":
            name = self.expect("name", "a tensor")
            return Name(name.text, name.at)
        return self.type()

    # ---- expressions

    def expression(self) -> Expression:
        left = self.sum()
        if operator := self.accept(*_COMPARISONS):
            return self._call(_COMPARISONS[operator.kind], operator.at, (left, self.sum()))
        return left

    def sum(self) -> Expression:
        left = self.term()
        while operator := self.accept(*_SUMS):
            left = self._call(_SUMS[operator.kind], operator.at, (left, self.term()))
        return left

    def term(self) -> Expression:
        left = self.factor()
        while operator := self.accept(*_PRODUCTS):
            left = self._call(_PRODUCTS[operator.kind], operator.at, (left, self.factor()))
        return left

    def factor(self) -> Expression:
        minus = self.accept("-")
        if minus is None:
            base = self.subscripted(self.operand())
            if power := self.accept("**"):
                self._enter(power)
                exponent = self.factor()
                self._depth -= 1
                return self._call("pow", power.at, (base, exponent))
            return base
        self._enter(minus)
        inner = self.factor()
        self._depth -= 1
        if isinstance(inner, Literal):
            return Literal(-inner.value, minus.at)
        return self._call("neg", minus.at, (inner,))

    def subscripted(self, source: Expression) -> Expression:
        """An expression with the subscripts that follow it, if any do."""
        while opening := self.accept("["):
            self._count(opening.at)
            items = self._listed(lambda: (self.next.at, self.subscript()))
            self.expect("]", "separate subscripts by commas, and close the bracket")
            places, subscripts = zip(*items, strict=True)
            source = Subscripted(source, subscripts, places)
        return source

    def subscript(self) -> Subscript:
        if self.accept("..."):
            return ...
        if self.next.text == "None":
            self.expect("name", "")
            return None
        if self.next.kind not in ("number", "-", ":"):
            fix = (
                "write a number, a slice such as 1:4, ... or None; take(x, ids) has rows by number"
            )
            raise error_at(self.text, self.next.at, f"{self.next} is no subscript", fix)
        parts: list[int | None] = [None if self.next.kind == ":" else self.integer()]
        while len(parts) < 3 and self.accept(":"):
            parts.append(self.integer() if self.next.kind in ("number", "-") else None)
        return slice(*parts) if len(parts) > 1 or parts[0] is None else parts[0]

    def operand(self) -> Expression:
        if opening := self.accept("("):
            self._enter(opening)
            inner = self.expression()
            self.expect(")", "close the parenthesis here")
            self._depth -= 1
            return inner
        if number := self.accept("number"):
            value = float(number.text)
            if math.isinf(value):
                fix = "use a smaller one"
                raise error_at(self.text, number.at, "this number is too large", fix)
            return Literal(value, number.at)
        if quoted := self.accept("quoted"):
            return Quoted(quoted.text[1:-1], quoted.at)
        if self.next.kind == "name":
            after = self.after_next.kind
            if after == "(":
                return self.call()
            if after != "[" or self.next.text in self._bound:
                name = self.expect("name", "a tensor")
                infinite = name.text == "inf"
                return Literal(math.inf, name.at) if infinite else Name(name.text, name.at)
        return self.type_or_grouped()

    def call(self) -> FunctionCall:
        name, opening = self.expect("name", "a function"), self.expect("(", "arguments")
        self._enter(opening)
        arguments: list[Expression] = []
        options: list[tuple[Name, Option]] = []
        while self.next.kind != ")" and (not (arguments or options) or self.accept(",")):
            if self.next.kind == "name" and self.after_next.kind == "=":
                options.append(self.option())
            elif options:
                raise error_at(
                    self.text, self.next.at, "a tensor after an option", "write the options last"
                )
            else:
                arguments.append(self.expression())
        self.expect(")", "separate arguments by commas, and close the parenthesis")
        self._depth -= 1
        return self._call(name.text, name.at, tuple(arguments), tuple(options))

    def option(self) -> tuple[Name, Option]:
        name = self.expect("name", "an option")
        self.expect("=", "give it a value")
        value = self.next
        if self.accept("["):
            numbers = self._listed(self.integer)
            self.expect("]", "separate numbers by commas, and close the bracket")
            return Name(name.text, name.at), Option(tuple(numbers), value.at)
        minus = self.next.kind == "-"
        first = self.after_next if minus else self.next
        sign = -1.0 if minus else 1.0
        number: int | float | str
        if first.text == "inf" or (first.kind == "number" and not first.text.isdecimal()):
            self._position += 1 + minus
            number = sign * float(first.text)
        else:
            word = self.accept("name")
            number = word.text if word else self.integer()
        return Name(name.text, name.at), Option(number, value.at)

    def integer(self) -> int:
        minus = self.accept("-")
        token = self.expect("number", "write a whole number here")
        if not token.text.isdecimal() or len(token.text) > 10:
            raise error_at(
                self.text, token.at, f"{token.text:.20} is no number of dimensions or elements",
                "write a small whole number here",
            )  # fmt: skip
        return -int(token.text) if minus else int(token.text)

    # ---- types

    def type_or_grouped(self) -> TypeLiteral | GroupedLiteral:
        name = self.next
        if name.kind != "name" or not is_grouped_name(name.text):
            return self.type()
        self._position += 1
        shape = self._shape(name.text)
        with errors_at(self.text, name.at):
            return GroupedLiteral(grouped_type(name.text, shape), name.at)

    def type(self) -> TypeLiteral:
        if self.next.kind != "name":
            what = "a tensor is missing" if self.next.kind == "end" else f"{self.next} is no tensor"
            raise error_at(self.text, self.next.at, what, "write a type such as f32[4,4] here")
        name = self.expect("name", "a dtype")
        dtype = self._dtype(name)
        shape = self._shape(str(dtype))
        if len(shape) > MAX_RANK:
            many = f"{len(shape)} dimensions; a tensor has at most {MAX_RANK}"
            raise error_at(self.text, name.at, many, "flatten some of them into one")
        layout = self._layout(len(shape))
        strides = None
        begin = self.next.at
        if self.next.text == "S" and self.after_next.kind == "(":
            self._position += 2
            strides = tuple(self._listed(self.size))
            self.expect(")", "separate strides by commas, and close the parenthesis")
        with errors_at(self.text, begin):
            return TypeLiteral(make_type(shape, dtype, layout, strides), name.at)

    def _shape(self, dtype: str) -> tuple[int, ...]:
        self.expect("[", f"write the sizes, as in {dtype}[4,4]")
        shape = tuple(self._listed(self.size))
        self.expect("]", "separate sizes by commas, and close the bracket")
        return shape

    def size(self) -> int:
        minus = self.accept("-")
        token = self.expect("number", "write a size, a whole number, here")
        if not token.text.isdecimal():
            raise error_at(
                self.text, token.at, f"{token.text:.20} is no size", "write a whole number here"
            )
        digits = token.text.lstrip("0") or "0"
        if minus or digits == "0":
            at = (minus or token).at
            raise error_at(self.text, at, "a size must be at least 1", "use 1 or more")
        if len(digits) > len(str(MAX_SIZE)) or int(digits) > MAX_SIZE:
            raise error_at(
                self.text, token.at, f"a size may be at most {MAX_SIZE}", "use a smaller one"
            )
        return int(digits)

    def _dtype(self, name: Token) -> DType:
        if is_grouped_name(name.text):
            what = f"{name.text} is of weights in groups"
            raise error_at(self.text, name.at, what, "only the second operand of @ can be such")
        with errors_at(self.text, name.at):
            return parse_dtype(name.text)

    def _layout(self, rank: int) -> Layout | None:
        token = self.accept("layout")
        if token is None:
            return None
        with errors_at(self.text, token.at):
            return parse_layout(token.text, rank)

    # ---- limits

    def _listed(self, parse_item: Callable[[], _T]) -> list[_T]:
        items = [parse_item()]
        while self.accept(","):
            items.append(parse_item())
        return items

    def _call(
        self,
        function: str,
        at: int,
        arguments: tuple[Expression, ...],
        options: tuple[tuple[Name, Option], ...] = (),
    ) -> FunctionCall:
        self._count(at)
        return FunctionCall(function, arguments, at, options)

    def _count(self, at: int) -> None:
        """Count an operation, which begins here; raises `SpecError` if there are too many."""
        self._operations += 1
        if self._operations > MAX_OPERATIONS:
            raise error_at(
                self.text, at, f"more than {MAX_OPERATIONS} operations",
                "compute a part as a Spec of its own",
            )  # fmt: skip

    def _enter(self, opening: Token) -> None:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            fix = "bind a part to a name, as in x = f32[4] * 2; x + 1"
            raise error_at(self.text, opening.at, "this is nested too deep", fix)
