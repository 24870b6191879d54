"""Parses the text of an expression to a graph, independently of Morello: by Python's parser.

A type such as `f32[3,4]{0,1}S(1,5)` is no Python, and is replaced by a call of `tensor` with its
number first.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply", ast.Div: "divide",
    ast.MatMult: "matmul",
}  # fmt: skip

TYPE = re.compile(
    r"\b(u8|i8|u16|i16|u32|i32|f16|bf16|f32)\[([\d,\s]+)\](\{[^{}]*\})?(?:\s*S\(([\d,\s]+)\))?"
)


COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "less", ast.LtE: "less_equal", ast.Gt: "greater", ast.GtE: "greater_equal",
    ast.Eq: "equal", ast.NotEq: "not_equal",
}  # fmt: skip


@dataclass(frozen=True)
class Type:
    """A tensor type: dtype, shape, layout as text, and strides in elements if given."""

    dtype: str
    shape: tuple[int, ...]
    layout: str = ""
    strides: tuple[int, ...] | None = None

    def __str__(self) -> str:
        strides = "" if self.strides is None else f" S({','.join(map(str, self.strides))})"
        return f"{self.dtype}[{','.join(map(str, self.shape))}]{self.layout}{strides}"

    @property
    def in_panels(self) -> bool:
        """Whether the layout is packed in panels, so that no strides describe it."""
        return ":" in self.layout

    @property
    def steps(self) -> tuple[int, ...]:
        """The strides, in elements."""
        if self.strides is not None:
            return self.strides
        order = [int(d) for d in re.findall(r"\d+", self.layout.partition(":")[0])]
        steps, step = [1] * len(self.shape), 1
        for dim in order or reversed(range(len(self.shape))):
            steps[dim], step = step, step * self.shape[dim]
        return tuple(steps)


@dataclass(frozen=True, eq=False)
class Node:
    """An operation on other nodes and numbers; an input has a type and no arguments."""

    operation: str
    arguments: tuple[Node | float, ...] = ()
    options: tuple[tuple[str, Any], ...] = ()
    type: Type | None = None

    def nodes(self) -> Iterator[Node]:
        """All nodes of the graph below this one, and this one, in topological order."""
        seen: set[Node] = set()

        def visit(node: Node) -> Iterator[Node]:
            if node not in seen:
                seen.add(node)
                for argument in node.arguments:
                    if isinstance(argument, Node):
                        yield from visit(argument)
                yield node

        return visit(self)

    def inputs(self) -> list[Node]:
        return [node for node in self.nodes() if node.operation == "tensor"]


@dataclass(frozen=True)
class Text:
    """A parsed text: Python with `tensor(i)` for the i-th type, and the type of the result."""

    tree: ast.Module
    types: tuple[Type, ...]
    result: Type | None

    def __str__(self) -> str:
        return _written(self.tree, self.types, self.result)

    @property
    def graph(self) -> Node:
        """The graph of the last expression."""
        names: dict[str, Node | float] = {}
        for statement in self.tree.body:
            if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                names[statement.targets[0].id] = _node(statement.value, names, self.types)
            elif isinstance(statement, ast.Expr):
                value = _node(statement.value, names, self.types)
        assert isinstance(value, Node)
        return value


def read(text: str) -> Text:
    """Parse a text that Morello accepts; raises `SyntaxError` if it is no Python."""
    types: list[Type] = []

    def take(match: re.Match[str]) -> str:
        dtype, shape, layout, strides = match.groups()
        steps = _numbers(strides) if strides else None
        types.append(Type(dtype, _numbers(shape), layout or "", steps))
        return f"tensor({len(types) - 1})"

    body, *arrow = re.split(r'->(?=[^"]*$)', TYPE.sub(take, text), maxsplit=1)
    return Text(ast.parse(body.strip()), tuple(types), types[-1] if arrow else None)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(","))


def _written(tree: ast.Module, types: tuple[Type, ...], result: Type | None) -> str:
    text = "; ".join(ast.unparse(statement) for statement in tree.body)
    text = re.sub(r"tensor\((\d+)\)", lambda match: str(types[int(match[1])]), text)
    return text if result is None else f"{text} -> {result}"


def is_type(node: ast.AST) -> bool:
    """Whether a node stands for a type."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and (
        node.func.id == "tensor"
    )  # fmt: skip


def _node(node: ast.expr, names: dict[str, Node | float], types: tuple[Type, ...]) -> Node | float:
    def inner(argument: ast.expr) -> Node | float:
        return _node(argument, names, types)

    match node:
        case ast.Constant(value=int() | float() as number):
            return float(number)
        case ast.Name(id=name):
            return names[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            value = inner(operand)
            return -value if isinstance(value, float) else Node("neg", (value,))
        case ast.BinOp(left=left, op=op, right=right):
            return Node(OPERATORS[type(op)], (inner(left), inner(right)))
        case ast.Compare(left=left, ops=[comparison], comparators=[right]):
            return Node(COMPARISONS[type(comparison)], (inner(left), inner(right)))
        case ast.Subscript(value=x, slice=at):
            return Node("index", (inner(x),), (("at", _subscripts(at)),))
        case ast.Call(func=ast.Name(id="einsum"), args=[ast.Constant(value=str(letters)), *given]):
            return Node("einsum", tuple(map(inner, given)), (("letters", letters),))
        case ast.Call(args=[ast.Constant(value=int() as number)]) if is_type(node):
            return Node("tensor", type=types[number])
        case ast.Call(func=ast.Name(id="cast"), args=[x, ast.Name(id=dtype)]):
            return Node("cast", (inner(x),), (("dtype", dtype),))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords):
            options = tuple((str(k.arg), _option(k.value)) for k in keywords)
            return Node(name, tuple(inner(argument) for argument in args), options)
    raise SyntaxError(f"{ast.unparse(node)} means nothing")


def _subscripts(node: ast.expr) -> Any:
    """The subscripts between brackets: numbers, slices, `None` and `...`."""
    match node:
        case ast.Tuple(elts=elements):
            return tuple(map(_subscripts, elements))
        case ast.Slice(lower=lower, upper=upper, step=step):
            return slice(*(end and ast.literal_eval(end) for end in (lower, upper, step)))
    return ast.literal_eval(node)


def _option(node: ast.expr) -> Any:
    return node.id if isinstance(node, ast.Name) else ast.literal_eval(node)


# ---- smaller texts


PARTS = (ast.BinOp, ast.Call, ast.Subscript, ast.UnaryOp)
"""The expressions that compute a tensor."""


def parts(text: Text) -> Iterator[ast.expr]:
    """The expressions in a text, the outermost first, without names and numbers."""
    for statement in text.tree.body:
        assert isinstance(statement, ast.Assign | ast.Expr)
        for node in ast.walk(statement.value):
            if isinstance(node, PARTS) and not (is_type(node) or _is_number(node)):
                yield node


def _is_number(node: ast.AST) -> bool:
    """Whether a node is a number with a sign."""
    return isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant)


def replaced(text: Text, old: ast.expr, new: ast.expr, more: tuple[Type, ...] = ()) -> str:
    """The text with the expression `old` replaced by `new`, without unused names."""

    class Replace(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            visited: ast.AST = new if node is old else self.generic_visit(node)
            return visited

    tree = ast.parse(ast.unparse(text.tree))  # a copy whose nodes come in the same order
    twins = dict(zip(ast.walk(text.tree), ast.walk(tree), strict=True))
    old = twins[old]  # type: ignore[assignment]
    changed: ast.Module = Replace().visit(tree)  # type: ignore[assignment]
    return _written(_needed(changed), (*text.types, *more), text.result)


def _needed(tree: ast.Module) -> ast.Module:
    used: set[str] = set()
    kept: list[ast.stmt] = []
    for statement in reversed(tree.body):
        if isinstance(statement, ast.Assign):
            (target,) = statement.targets
            if isinstance(target, ast.Name) and target.id not in used:
                continue
        used |= {n.id for n in ast.walk(statement) if isinstance(n, ast.Name)}
        kept.append(statement)
    return ast.Module(kept[::-1], [])


def alone(text: Text, part: ast.expr) -> str:
    """The text of one of its expressions, with only the names that it needs."""
    last = ast.Module([*text.tree.body[:-1], ast.Expr(part)], [])
    return _written(_needed(last), text.types, None)


Change = Callable[[Type], Type]


def retyped(text: Text, change: Change) -> str:
    """The text with all its types changed by a function."""
    result = text.result and change(text.result)
    return _written(text.tree, tuple(change(t) for t in text.types), result)
