"""Operators of graphs as nodes of ONNX: what is left to ONNX Runtime, if the model has no node
of it itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import singledispatchmethod
from math import log, pi, prod, sqrt
from typing import Any

import numpy as np
from onnx import NodeProto, TensorProto, helper
from onnx.numpy_helper import from_array

from morello.base.errors import GraphError
from morello.graph.graph import Array, Node, Operator
from morello.graph.operators import (
    ArgReduce,
    Attention,
    Broadcast,
    Cast,
    Concat,
    Conv,
    Cumulate,
    Dot,
    Gather,
    Iota,
    LayerNorm,
    Map,
    Pad,
    Pooling,
    Reduce,
    Reshape,
    RmsNorm,
    Scatter,
    SegmentSum,
    Slice,
    Softmax,
    Transpose,
    Where,
)

_SAME = {
    "abs": "Abs", "add": "Add", "ceil": "Ceil", "cos": "Cos", "divide": "Div", "equal": "Equal",
    "erf": "Erf", "exp": "Exp", "floor": "Floor", "greater": "Greater", "less": "Less",
    "log": "Log", "logical_and": "And", "logical_not": "Not", "logical_or": "Or",
    "logical_xor": "Xor", "maximum": "Max", "minimum": "Min", "multiply": "Mul", "neg": "Neg",
    "power": "Pow", "reciprocal": "Reciprocal", "relu": "Relu", "round": "Round",
    "sigmoid": "Sigmoid", "sign": "Sign", "sin": "Sin", "sqrt": "Sqrt", "subtract": "Sub",
    "tanh": "Tanh",
}  # fmt: skip
"""The functions that are one operator."""

_OF_BITS = {
    "bitwise_and": "BitwiseAnd", "bitwise_not": "BitwiseNot", "bitwise_or": "BitwiseOr",
    "bitwise_xor": "BitwiseXor",
}  # fmt: skip
"""The functions of integers' bits that are one operator since version 18."""


class UnwrittenError(GraphError):
    """A `node` of a graph for which this version of ONNX has no operators."""

    def __init__(self, error: GraphError, node: Node) -> None:
        super().__init__(error.what, error.fix)
        self.node = node


class NodeWriter:
    """Nodes and constants of a model, of a version of ONNX's operators."""

    def __init__(self, version: int, names: Callable[[], str]) -> None:
        """`names` gives names that nothing else has."""
        self.version = version
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []
        self._names = names

    def write(self, node: Node, inputs: Sequence[str]) -> str:
        """Add the nodes that compute one from values of these names; the name of the result.

        Raises `UnwrittenError` if there are none.
        """
        try:
            return self._write(node.operator, node, *inputs)
        except GraphError as error:
            raise UnwrittenError(error, node) from None

    def writes(self, node: Node) -> bool:
        """Whether ONNX has operators for a node."""
        try:
            self.write(node, [""] * len(node.inputs))
        except UnwrittenError:
            return False
        return True

    def add(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """Add a node with one output, whose name is returned."""
        name = self._names()
        self.nodes.append(helper.make_node(kind, inputs, [name], **attributes))
        return name

    def constant(self, array: Array) -> str:
        """The name of a new constant."""
        name = self._names()
        self.constants.append(from_array(np.ascontiguousarray(array).reshape(array.shape), name))
        return name

    def _integers(self, *values: int) -> str:
        return self.constant(np.array(values, np.int64))

    def _number(self, value: float, like: Node) -> str:
        return self.constant(np.array(value, like.dtype))

    @singledispatchmethod
    def _write(self, operator: Operator, node: Node, *inputs: str) -> str:
        raise GraphError(f"ONNX has no operator for {operator}.")

    @_write.register
    def _map(self, operator: Map, node: Node, *inputs: str) -> str:
        if operator.name in _SAME:
            return self.add(_SAME[operator.name], *inputs)
        if operator.name in _OF_BITS and self.version >= 18:
            return self.add(_OF_BITS[operator.name], *inputs)
        x, like = inputs[0], node.inputs[0]
        match operator.name:
            case "square":
                return self.add("Mul", x, x)
            case "rsqrt":
                return self.add("Reciprocal", self.add("Sqrt", x))
            case "silu":
                return self.add("Mul", x, self.add("Sigmoid", x))
            case "not_equal":
                return self.add("Not", self.add("Equal", *inputs))
            case "less_equal" | "greater_equal":
                kind = "Less" if operator.name == "less_equal" else "Greater"
                if self.version >= 12:
                    return self.add(f"{kind}OrEqual", *inputs)
                return self.add("Or", self.add(kind, *inputs), self.add("Equal", *inputs))
            case "remainder":
                return self.add("Mod", *inputs, fmod=1)
            case "expm1":
                return self.add("Sub", self.add("Exp", x), self._number(1, like))
            case "log1p":
                return self.add("Log", self.add("Add", x, self._number(1, like)))
            case "exp2":
                return self.add("Exp", self.add("Mul", x, self._number(log(2), like)))
            case "log2":
                return self.add("Mul", self.add("Log", x), self._number(1 / log(2), like))
            case "erfc":
                return self.add("Sub", self._number(1, like), self.add("Erf", x))
            case "softplus":
                low = self.add("Exp", self.add("Neg", self.add("Abs", x)))
                tail = self.add("Log", self.add("Add", low, self._number(1, like)))
                return self.add("Add", self.add("Relu", x), tail)
            case "leaky_relu":
                below = self.add("Mul", *inputs)
                return self.add("Where", self.add("Less", x, self._number(0, like)), below, x)
            case "atan2":
                return self._angle(x, inputs[1], like)
            case "gelu":
                inner = self.add("Erf", self.add("Mul", x, self._number(sqrt(0.5), like)))
            case "gelu_tanh":
                cube = self.add("Mul", self.add("Mul", x, x), x)
                scaled = self.add("Mul", cube, self._number(0.044715, like))
                both = self.add("Add", x, scaled)
                inner = self.add("Tanh", self.add("Mul", both, self._number(sqrt(2 / pi), like)))
            case _:
                raise GraphError(f"ONNX has no operator for {operator}.")
        above = self.add("Add", inner, self._number(1, like))
        return self.add("Mul", self.add("Mul", x, self._number(0.5, like)), above)

    def _angle(self, y: str, x: str, like: Node) -> str:
        """atan(y / x), half a turn further left of 0; where y is 0 and x is not left of it, y."""
        zero, pi_ = self._number(0, like), self._number(pi, like)
        slope, left = self.add("Atan", self.add("Div", y, x)), self.add("Less", x, zero)
        below = self.add("Less", y, zero)
        half = self.add("Where", below, self.add("Neg", pi_), pi_)
        angle = self.add("Where", left, self.add("Add", slope, half), slope)
        flat = self.add("And", self.add("Equal", y, zero), self.add("Not", left))
        return self.add("Where", flat, y, angle)

    @_write.register
    def _cast(self, operator: Cast, node: Node, *inputs: str) -> str:
        return self.add("Cast", *inputs, to=helper.np_dtype_to_tensor_dtype(operator.dtype))

    @_write.register
    def _where(self, operator: Where, node: Node, *inputs: str) -> str:
        return self.add("Where", *inputs)

    @_write.register
    def _iota(self, operator: Iota, node: Node, *inputs: str) -> str:
        return self.constant(operator.evaluate())

    @_write.register
    def _reshape(self, operator: Reshape, node: Node, *inputs: str) -> str:
        return self._shaped(inputs[0], operator.shape)

    def _shaped(self, name: str, shape: Sequence[int]) -> str:
        return self.add("Reshape", name, self._integers(*shape))

    @_write.register
    def _transpose(self, operator: Transpose, node: Node, *inputs: str) -> str:
        return self._turned(inputs[0], operator.order)

    def _turned(self, name: str, order: Sequence[int]) -> str:
        return name if [*order] == sorted(order) else self.add("Transpose", name, perm=[*order])

    @_write.register
    def _broadcast(self, operator: Broadcast, node: Node, *inputs: str) -> str:
        if self.version < 8:
            raise GraphError("a broadcast needs version 8 of ONNX's operators.")
        return self.add("Expand", *inputs, self._integers(*operator.shape))

    @_write.register
    def _slice(self, operator: Slice, node: Node, *inputs: str) -> str:
        bounds, axes = (operator.starts, operator.stops), [*range(node.type.rank)]
        if self.version < 10:
            if {*operator.steps} - {1}:
                raise GraphError("a slice in steps needs version 10 of ONNX's operators.")
            return self.add("Slice", *inputs, starts=bounds[0], ends=bounds[1], axes=axes)
        every = (*bounds, axes, operator.steps)
        return self.add("Slice", *inputs, *(self._integers(*each) for each in every))

    @_write.register
    def _concat(self, operator: Concat, node: Node, *inputs: str) -> str:
        return self.add("Concat", *inputs, axis=operator.axis)

    @_write.register
    def _pad(self, operator: Pad, node: Node, *inputs: str) -> str:
        pads = (*operator.before, *operator.after)
        if self.version < 11:
            raise GraphError("a padding needs version 11 of ONNX's operators.")
        filler = inputs[1] if not node.inputs[1].shape else self._shaped(inputs[1], ())
        return self.add("Pad", inputs[0], self._integers(*pads), filler)

    @_write.register
    def _gather(self, operator: Gather, node: Node, *inputs: str) -> str:
        return self.add("Gather", *inputs, axis=operator.axis)

    @_write.register
    def _scatter(self, operator: Scatter, node: Node, *inputs: str) -> str:
        since, reduction = {"last": (11, ""), "sum": (16, "add")}.get(
            operator.kind, (18, operator.kind)
        )
        if self.version < since:
            raise GraphError(f"{operator} needs version {since} of ONNX's operators.")
        x, numbers, rows = inputs
        beyond = self.constant(np.zeros((1, node.shape[1]), node.dtype))
        longer = self.add("Concat", x, beyond, axis=0)
        return self._combined(longer, numbers, rows, node, reduction)

    @_write.register
    def _segment_sum(self, operator: SegmentSum, node: Node, *inputs: str) -> str:
        if self.version < 16:
            raise GraphError(f"{operator} needs version 16 of ONNX's operators.")
        rows, numbers = inputs
        longer = self.constant(np.zeros((operator.count + 1, node.shape[1]), node.dtype))
        return self._combined(longer, numbers, rows, node, "add")

    def _combined(self, longer: str, numbers: str, rows: str, node: Node, reduction: str) -> str:
        """Rows combined with a table of one row more than the result has.

        To it goes what has no place in the result. In ONNX, numbers below 0 count from the last
        row, and others outside are errors.
        """
        count = node.shape[0]
        wide = self.add("Cast", numbers, to=TensorProto.INT64)
        first, end = (self.constant(np.array(n)) for n in (0, count))
        inside = self.add("Not", self.add("Less", wide, first))
        inside = self.add("And", inside, self.add("Less", wide, end))
        places = self._shaped(self.add("Where", inside, wide, end), (-1, 1))
        how = {"reduction": reduction} if reduction else {}
        combined = self.add("ScatterND", longer, places, rows, **how)
        bounds = (self._integers(n) for n in (0, count, 0))
        return self.add("Slice", combined, *bounds)

    @_write.register
    def _dot(self, operator: Dot, node: Node, *inputs: str) -> str:
        """Dimensions are brought into the order batch, free, contracted, and free ones joined."""
        parts = []
        for side, (name, source) in enumerate(zip(inputs, node.inputs, strict=True)):
            batch = [pair[side] for pair in operator.batch]
            bound = [pair[side] for pair in operator.contracted]
            free = [*operator.free(side, source.type.rank)]
            order = [*batch, *free, *bound] if side == 0 else [*batch, *bound, *free]
            rows, columns = (free, bound) if side == 0 else (bound, free)
            shape = [source.shape[d] for d in batch]
            shape += [prod(source.shape[d] for d in dims) for dims in (rows, columns)]
            turned = self._turned(name, order)
            whole = [source.shape[d] for d in order]
            parts.append(turned if shape == whole else self._shaped(turned, shape))
        narrow = node.inputs[0].dtype.itemsize == 1
        result = self.add("MatMulInteger" if narrow else "MatMul", *parts)
        product_rank = len(operator.batch) + 2
        return result if node.type.rank == product_rank else self._shaped(result, node.shape)

    @_write.register
    def _conv(self, operator: Conv, node: Node, *inputs: str) -> str:
        return self.add(
            "Conv", *inputs, strides=operator.strides, pads=[*operator.before, *operator.after],
            dilations=operator.dilations, group=operator.groups,
        )  # fmt: skip

    @_write.register
    def _pooling(self, operator: Pooling, node: Node, *inputs: str) -> str:
        attributes: dict[str, Any] = {
            "kernel_shape": operator.window, "strides": operator.strides,
            "pads": [*operator.before, *operator.after],
        }  # fmt: skip
        if {*operator.dilations} != {1}:
            attributes["dilations"] = operator.dilations
        if operator.kind == "max":
            return self.add("MaxPool", *inputs, **attributes)
        return self.add(
            "AveragePool", *inputs, count_include_pad=int(operator.counts_padding), **attributes
        )

    @_write.register
    def _reduce(self, operator: Reduce, node: Node, *inputs: str) -> str:
        return self._reduced(operator.kind, inputs[0], operator.axes, operator.keepdims)

    def _reduced(self, kind: str, name: str, axes: Sequence[int], keeps: bool) -> str:
        typed = f"Reduce{kind.capitalize()}"
        if self.version < (13 if kind == "sum" else 18):
            return self.add(typed, name, axes=[*axes], keepdims=int(keeps))
        return self.add(typed, name, self._integers(*axes), keepdims=int(keeps))

    @_write.register
    def _arg_reduce(self, operator: ArgReduce, node: Node, *inputs: str) -> str:
        keeps = int(operator.keepdims)
        kind = f"Arg{operator.kind.capitalize()}"
        place = self.add(kind, *inputs, axis=operator.axis, keepdims=keeps)
        if node.dtype == np.int64:
            return place
        return self.add("Cast", place, to=helper.np_dtype_to_tensor_dtype(node.dtype))

    @_write.register
    def _cumulate(self, operator: Cumulate, node: Node, *inputs: str) -> str:
        return self.add("CumSum", *inputs, self.constant(np.array(operator.axis)))

    @_write.register
    def _softmax(self, operator: Softmax, node: Node, *inputs: str) -> str:
        return self._softmaxed(inputs[0], operator.axis, node.type.rank)

    def _softmaxed(self, name: str, axis: int, rank: int) -> str:
        """Before version 13, a softmax is along all axes from one on."""
        if self.version >= 13 or axis == rank - 1:
            return self.add("Softmax", name, axis=axis)
        order = [d for d in range(rank) if d != axis] + [axis]
        turned = self.add("Softmax", self._turned(name, order), axis=rank - 1)
        return self._turned(turned, [order.index(d) for d in range(rank)])

    @_write.register
    def _layer_norm(self, operator: LayerNorm, node: Node, *inputs: str) -> str:
        if self.version >= 17:
            return self.add("LayerNormalization", *inputs, axis=-1, epsilon=operator.epsilon)
        mean = self._reduced("mean", inputs[0], [node.type.rank - 1], True)
        centred = self.add("Sub", inputs[0], mean)
        scaled = self._by_root(centred, inputs[1], operator.epsilon, node)
        return self.add("Add", scaled, inputs[2])

    @_write.register
    def _rms_norm(self, operator: RmsNorm, node: Node, *inputs: str) -> str:
        return self._by_root(inputs[0], inputs[1], operator.epsilon, node)

    def _by_root(self, name: str, gamma: str, epsilon: float, node: Node) -> str:
        """Numbers divided by the root of the mean of their squares, times gamma."""
        squares = self.add("Mul", name, name)
        mean = self._reduced("mean", squares, [node.type.rank - 1], True)
        root = self.add("Sqrt", self.add("Add", mean, self._number(epsilon, node)))
        return self.add("Mul", self.add("Div", name, root), gamma)

    @_write.register
    def _attention(self, operator: Attention, node: Node, *inputs: str) -> str:
        q, k = node.inputs[:2]
        rank, rows, columns = q.type.rank, q.shape[-2], k.shape[-2]
        if rank > 2 and q.shape[-3] != k.shape[-3]:
            raise GraphError(f"ONNX has no operator for {operator} of heads that are shared.")
        turned = self._turned(inputs[1], [*range(rank - 2), rank - 1, rank - 2])
        scores = self.add("MatMul", inputs[0], turned)
        cap = operator.cap
        scores = self.add("Mul", scores, self._number(operator.scale / (cap or 1), q))
        if cap:
            scores = self.add("Mul", self.add("Tanh", scores), self._number(cap, q))
        for name in inputs[3:]:
            scores = self.add("Add", scores, name)
        if operator.causal:
            seen = self.constant(np.tri(rows, columns, columns - rows, dtype=bool))
            scores = self.add("Where", seen, scores, self._number(-np.inf, q))
        return self.add("MatMul", self._softmaxed(scores, rank - 1, rank), inputs[2])
