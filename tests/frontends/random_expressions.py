"""Random expressions, each with what NumPy makes of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

Array = npt.NDArray[Any]
Shape = tuple[int, ...]


@dataclass(eq=False)
class Node:
    """A part of an expression: its text around those of its parts, and its function of theirs."""

    template: str
    shape: Shape
    function: Callable[..., Array] | None = None
    parts: Sequence[Node] = ()
    name: str = ""

    def text(self) -> str:
        return self.name or self.body()

    def body(self) -> str:
        return self.template.format(*(part.text() for part in self.parts))

    def inputs(self) -> list[Node]:
        """The tensors it takes, in the order of their first use."""
        if self.function is None:
            return [self]
        return list(dict.fromkeys(one for part in self.parts for one in part.inputs()))

    def value(self, arrays: dict[int, Array]) -> Array:
        if self.function is None:
            return arrays[id(self)]
        return self.function(*(part.value(arrays) for part in self.parts))


@dataclass
class Goal:
    """An expression, and what is bound to names before it."""

    root: Node
    lets: list[Node] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(f"{one.name} = {one.body()}; " for one in self.lets) + self.root.text()


UNARY: dict[str, Callable[[Array], Array]] = {
    "abs({})": np.abs,
    "-({})": np.negative,
    "relu({})": lambda x: np.maximum(x, 0),
    "square({})": np.square,
    "tanh({})": np.tanh,
    "2 * ({})": lambda x: 2 * x,
    "({}) / 3": lambda x: x / 3,
    "0.5 - ({})": lambda x: 0.5 - x,
    "({}) + 1e-3": lambda x: x + 1e-3,
    "maximum(0.25, {})": lambda x: np.maximum(x, 0.25),
    "move({})": lambda x: x,
}
BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "({}) + ({})": np.add,
    "({}) - ({})": np.subtract,
    "({}) * ({})": np.multiply,
    "minimum({}, {})": np.minimum,
}

REDUCTIONS: list[tuple[str, Callable[..., Array]]] = [
    ("sum", np.sum),
    ("max", np.max),
    ("mean", np.mean),
]

sizes = st.integers(2, 5)


@st.composite
def goals(draw: st.DrawFn) -> Goal:
    """Expressions of matrices, most of several operations."""
    lets: list[Node] = []
    shape = (draw(sizes), draw(sizes))
    root = _computed(draw, lets, shape, draw(st.integers(1, 4)))
    used = {id(node) for node in _walk(root)}
    return Goal(root, [one for one in lets if id(one) in used])


def _walk(node: Node) -> list[Node]:
    return [node, *(inner for part in node.parts for inner in _walk(part))]


def _any(draw: st.DrawFn, lets: list[Node], shape: Shape, depth: int) -> Node:
    """A tensor of this shape: one that has a name, a new one, or what is computed."""
    known = [one for one in lets if one.shape == shape]
    if known and draw(st.integers(0, 2)) == 0:
        return draw(st.sampled_from(known))
    made = _computed(draw, lets, shape, depth) if depth > 0 else _leaf(draw, shape)
    if draw(st.integers(0, 3)) == 0:
        made.name = f"v{len(lets)}"
        lets.append(made)
    return made


def _leaf(draw: st.DrawFn, shape: Shape) -> Node:
    turned = len(shape) == 2 and draw(st.booleans())
    own = shape[::-1] if turned else shape
    text = f"f32[{','.join(map(str, own))}]"
    order = tuple(draw(st.permutations(range(len(own)))))
    how = draw(st.sampled_from(["plain", "layout", "strides"]))
    if how != "plain":
        text += "{{" + ",".join(map(str, order)) + "}}"
    if how == "strides" and len(own) == 2:
        strides = [1, 1]
        strides[order[1]] = own[order[0]] + draw(st.integers(0, 3))
        text += f"S({strides[0]},{strides[1]})"
    leaf = Node(text, own)
    return Node("transpose({})", shape, np.transpose, [leaf]) if turned else leaf


def _computed(draw: st.DrawFn, lets: list[Node], shape: Shape, depth: int) -> Node:
    kinds = ["unary", "binary", "turned"]
    if len(shape) < 4:
        kinds += ["reduce"]
    if len(shape) == 2:
        kinds += ["matmul", "rows", "columns", "softmax", "centred"]
    kind = draw(st.sampled_from(kinds))

    def inner(*size: int) -> Node:
        return _any(draw, lets, size, depth - 1)

    if kind == "unary":
        text = draw(st.sampled_from(sorted(UNARY)))
        return Node(text, shape, UNARY[text], [inner(*shape)])
    if kind == "binary":
        text = draw(st.sampled_from(sorted(BINARY)))
        return Node(text, shape, BINARY[text], [inner(*shape), inner(*shape)])
    if kind == "reduce":
        axis, size = draw(st.integers(0, len(shape))), draw(sizes)
        name, function = draw(st.sampled_from(REDUCTIONS))
        x = inner(*shape[:axis], size, *shape[axis:])
        return Node(f"{name}({{}}, axis={axis})", shape, lambda x: function(x, axis=axis), [x])
    if kind == "turned":
        if len(shape) == 2 and draw(st.booleans()):
            return Node("transpose({})", shape, np.transpose, [inner(*shape[::-1])])
        order = tuple(draw(st.permutations(range(len(shape)))))
        x = inner(*(shape[order.index(d)] for d in range(len(shape))))
        text = f"transpose({{}}, order={list(order)})"
        return Node(text, shape, lambda x: x.transpose(order), [x])
    if kind == "matmul":
        size = draw(sizes)
        return Node("({}) @ ({})", shape, np.matmul, [inner(shape[0], size), inner(size, shape[1])])
    if kind == "rows":
        return Node("({}) + ({})", shape, np.add, [inner(*shape), inner(shape[1])])
    if kind == "columns":
        return Node(
            "({}) * expand_dims({}, axis=-1)",
            shape,
            lambda x, y: x * y[:, None],
            [inner(*shape), inner(shape[0])],
        )
    axis = draw(st.integers(0, 1))
    x = inner(*shape)
    if kind == "softmax":
        return Node(f"softmax({{}}, axis={axis})", shape, lambda x: softmax(x, axis), [x])
    if not x.name:
        x.name = f"v{len(lets)}"
        lets.append(x)
    return Node(
        f"{{0}} - max({{0}}, axis={axis}, keepdims=True)",
        shape,
        lambda x: x - x.max(axis=axis, keepdims=True),
        [x],
    )


def softmax(x: Array, axis: int = -1) -> Array:
    scaled = np.exp(x - x.max(axis=axis, keepdims=True))
    return np.asarray(scaled / scaled.sum(axis=axis, keepdims=True))
