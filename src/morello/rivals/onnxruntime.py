"""ONNX Runtime: the expression as a model, in a session with its inputs bound."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

from morello.base.errors import GraphError
from morello.frontends.reductions import EPSILON
from morello.frontends.text import CallSequence, NamedCall
from morello.frontends.values import Value
from morello.ir.dtype import DType
from morello.rivals.functions import constant, each, ends, function_for
from morello.rivals.rival import RacedExpression, Rival
from morello.runtime.argument import Array

_OPSET = 20
_QUIET = 4


def prepare(raced: RacedExpression) -> Rival:
    """A session that runs the model on arrays, with all of ONNX Runtime's optimizations."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = raced.threads
    options.log_severity_level = _QUIET
    model = _Writer(raced.sequence).model.SerializeToString()
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    for number, array in enumerate(raced.inputs):
        binding.bind_cpu_input(f"x{number}", np.ascontiguousarray(array))
    binding.bind_output("result")
    return Rival(
        f"onnxruntime {onnxruntime.__version__}",
        lambda: session.run_with_iobinding(binding),
        lambda _: _first(binding),
    )


def _first(binding: Any) -> Array:
    (result,) = binding.copy_outputs_to_cpu()
    return np.asarray(result)


def _type(dtype: DType) -> int:
    return int(helper.np_dtype_to_tensor_dtype(dtype.np))


class _Writer:
    """Writes the model of a sequence: each value has the name of a result."""

    def __init__(self, sequence: CallSequence) -> None:
        self._nodes: list[onnx.NodeProto] = []
        self._constants: list[onnx.TensorProto] = []
        self._names: dict[object, str] = {t: f"x{n}" for n, t in enumerate(sequence.inputs)}
        inputs = [
            helper.make_tensor_value_info(name, _type(tensor.dtype), tensor.shape)
            for tensor, name in zip(sequence.inputs, self._names.values(), strict=True)
        ]
        for call in sequence.calls:
            write = function_for(call, _FUNCTIONS, "ONNX Runtime")
            words = [self._argument(call, argument) for argument in call.arguments]
            self._names[call.result] = write(self, call, *words, **call.options)
        last = self._names[sequence.result]
        self._nodes.append(helper.make_node("Cast", [last], ["result"], to=_type(sequence.dtype)))
        result = helper.make_tensor_value_info("result", _type(sequence.dtype), None)
        graph = helper.make_graph(self._nodes, "expression", inputs, [result], self._constants)
        opset = helper.make_opsetid("", _OPSET)
        self.model = helper.make_model(graph, opset_imports=[opset], ir_version=10)

    def node(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """The result of an operator."""
        name = f"y{len(self._nodes)}"
        self._nodes.append(helper.make_node(kind, inputs, [name], **attributes))
        return name

    def constant(self, array: Any, dtype: Any) -> str:
        name = f"c{len(self._constants)}"
        self._constants.append(numpy_helper.from_array(np.asarray(array, dtype), name))
        return name

    def _argument(self, call: NamedCall, argument: Any) -> Any:
        if isinstance(argument, Value):
            return self._names.get(argument) or self._names[argument.tensor.array]
        if not isinstance(argument, float):
            return argument
        like = next(each for each in call.arguments if isinstance(each, Value))
        return self.constant(constant(call, argument), like.dtype.np)


def _values(call: NamedCall) -> list[Value]:
    return [argument for argument in call.arguments if isinstance(argument, Value)]


def _operator(kind: str, **attributes: Any) -> Callable[..., str]:
    """Writes one operator of ONNX, whose options the language has not."""
    return lambda writer, call, *inputs: writer.node(kind, *inputs, **attributes)


def _truth(kind: str, *after: str) -> Callable[..., str]:
    """A comparison, and what is applied to its truth, as a number."""

    def compared(writer: _Writer, call: NamedCall, a: str, b: str) -> str:
        truth = writer.node(kind, a, b)
        for function in after:
            truth = writer.node(function, truth)
        return writer.node("Cast", truth, to=_type(call.result.dtype))

    return compared


def _matmul(writer: _Writer, call: NamedCall, a: str, b: str) -> str:
    kind = "MatMul" if _values(call)[0].dtype.is_float else "MatMulInteger"
    return writer.node(kind, a, b)


def _linear(writer: _Writer, call: NamedCall, x: str, w: str, *bias: str) -> str:
    product = _matmul(writer, call, x, w)
    return writer.node("Add", product, *bias) if bias else product


def _einsum(writer: _Writer, call: NamedCall, subscripts: str, *operands: str) -> str:
    return writer.node("Einsum", *operands, equation=subscripts)


def _attention(
    writer: _Writer, call: NamedCall, q: str, k: str, v: str, *mask: str, causal: bool = False
) -> str:
    query, key, *_ = _values(call)
    if mask or causal or query.shape[:-2] != key.shape[:-2]:
        raise GraphError("attention with masks is not raced against ONNX Runtime.")
    order = [*range(key.rank - 2), key.rank - 1, key.rank - 2]
    scale = writer.constant(query.shape[-1] ** -0.5, query.dtype.np)
    scores = writer.node("MatMul", q, writer.node("Transpose", k, perm=order))
    weights = writer.node("Softmax", writer.node("Mul", scores, scale), axis=-1)
    return writer.node("MatMul", weights, v)


def _windows(
    call: NamedCall, stride: Any = 1, padding: Any = 0, dilation: Any = 1, layout: str = "NCHW"
) -> dict[str, Any]:
    if layout != "NCHW":
        raise GraphError(f"{layout} is not raced against ONNX Runtime, which has NCHW.")
    rank = _values(call)[0].rank - 2
    sides = ends(padding, rank)
    return {
        "strides": each(stride, rank),
        "dilations": each(dilation, rank),
        "pads": [*(before for before, _ in sides), *(after for _, after in sides)],
    }


def _conv(
    writer: _Writer, call: NamedCall, image: str, filters: str, groups: int = 1, **options: Any
) -> str:
    kind = "Conv" if _values(call)[0].dtype.is_float else "ConvInteger"
    return writer.node(kind, image, filters, group=groups, **_windows(call, **options))


def _max_pool(writer: _Writer, call: NamedCall, x: str, window: Any, **options: Any) -> str:
    shape = each(window, _values(call)[0].rank - 2)
    return writer.node("MaxPool", x, kernel_shape=shape, **_windows(call, **options))


def _avg_pool(
    writer: _Writer,
    call: NamedCall,
    x: str,
    window: Any,
    count_include_pad: bool = True,
    **options: Any,
) -> str:
    shape, windows = each(window, _values(call)[0].rank - 2), _windows(call, **options)
    return writer.node("AveragePool", x, kernel_shape=shape, count_include_pad=1, **windows)


def _sum_pool(writer: _Writer, call: NamedCall, x: str, window: Any, **options: Any) -> str:
    (image,) = _values(call)
    count = writer.constant(prod(each(window, image.rank - 2)), image.dtype.np)
    return writer.node("Mul", _avg_pool(writer, call, x, window, **options), count)


def _reduced(kind: str) -> Callable[..., str]:
    def reduced(
        writer: _Writer, call: NamedCall, x: str, axis: Any = -1, keepdims: bool = False
    ) -> str:
        axes = writer.constant(each(axis, 1), np.int64)
        return writer.node(kind, x, axes, keepdims=int(keepdims))

    return reduced


def _place(kind: str) -> Callable[..., str]:
    def place(writer: _Writer, call: NamedCall, x: str, axis: int = -1) -> str:
        return writer.node(kind, x, axis=axis, keepdims=0)

    return place


def _softmax(writer: _Writer, call: NamedCall, x: str, axis: int = -1) -> str:
    return writer.node("Softmax", x, axis=axis)


def _cumsum(writer: _Writer, call: NamedCall, x: str, axis: int = -1) -> str:
    return writer.node("CumSum", x, writer.constant(axis, np.int64))


def _scatter(reduction: str) -> Callable[..., str]:
    def scatter(writer: _Writer, call: NamedCall, table: str, ids: str, rows: str) -> str:
        wide = writer.node("Cast", ids, to=onnx.TensorProto.INT64)
        places = writer.node("Unsqueeze", wide, writer.constant([1], np.int64))
        return writer.node("ScatterND", table, places, rows, reduction=reduction)

    return scatter


def _segment_sum(writer: _Writer, call: NamedCall, rows: str, ids: str, count: int) -> str:
    zeros = writer.constant(np.zeros(call.result.shape), call.result.dtype.np)
    return _scatter("add")(writer, call, zeros, ids, rows)


def _layer_norm(
    writer: _Writer, call: NamedCall, x: str, gamma: str, beta: str, epsilon: float = EPSILON
) -> str:
    return writer.node("LayerNormalization", x, gamma, beta, axis=-1, epsilon=epsilon)


def _rms_norm(
    writer: _Writer, call: NamedCall, x: str, gamma: str, epsilon: float = EPSILON
) -> str:
    dtype, axes = _values(call)[0].dtype.np, writer.constant([-1], np.int64)
    mean = writer.node("ReduceMean", writer.node("Mul", x, x), axes, keepdims=1)
    size = writer.node("Sqrt", writer.node("Add", mean, writer.constant(epsilon, dtype)))
    return writer.node("Mul", writer.node("Div", x, size), gamma)


def _transpose(writer: _Writer, call: NamedCall, x: str, order: Any = None) -> str:
    return writer.node("Transpose", x, **({} if order is None else {"perm": order}))


def _expand_dims(writer: _Writer, call: NamedCall, x: str, axis: int) -> str:
    return writer.node("Unsqueeze", x, writer.constant([axis], np.int64))


def _broadcast(writer: _Writer, call: NamedCall, x: str, axis: int, size: int) -> str:
    shape = writer.constant(call.result.shape, np.int64)
    return writer.node("Expand", _expand_dims(writer, call, x, axis), shape)


def _cast(writer: _Writer, call: NamedCall, x: str, dtype: DType) -> str:
    return writer.node("Cast", x, to=_type(dtype))


def _where(writer: _Writer, call: NamedCall, condition: str, a: str, b: str) -> str:
    return writer.node("Where", writer.node("Cast", condition, to=onnx.TensorProto.BOOL), a, b)


def _clip(writer: _Writer, call: NamedCall, x: str, low: str, high: str) -> str:
    return writer.node("Min", writer.node("Max", x, low), high)


def _square(writer: _Writer, call: NamedCall, x: str) -> str:
    return writer.node("Mul", x, x)


def _rsqrt(writer: _Writer, call: NamedCall, x: str) -> str:
    return writer.node("Reciprocal", writer.node("Sqrt", x))


def _silu(writer: _Writer, call: NamedCall, x: str) -> str:
    return writer.node("Mul", x, writer.node("Sigmoid", x))


_ONE = {
    "abs": "Abs", "add": "Add", "atan": "Atan", "bitwise_and": "BitwiseAnd",
    "bitwise_not": "BitwiseNot", "bitwise_or": "BitwiseOr", "bitwise_xor": "BitwiseXor",
    "ceil": "Ceil", "cos": "Cos", "divide": "Div", "quotient": "Div",
    "erf": "Erf", "exp": "Exp", "floor": "Floor", "hardswish": "HardSwish", "leaky_relu": "PRelu",
    "log": "Log", "maximum": "Max", "minimum": "Min", "move": "Identity", "multiply": "Mul",
    "neg": "Neg", "pow": "Pow", "reciprocal": "Reciprocal", "relu": "Relu", "round": "Round",
    "sigmoid": "Sigmoid", "sign": "Sign", "sin": "Sin", "softplus": "Softplus", "sqrt": "Sqrt",
    "subtract": "Sub", "take": "Gather", "tanh": "Tanh",
}  # fmt: skip
"""The operators of ONNX that are functions of the language."""

_FUNCTIONS: dict[str, Callable[..., str]] = {
    **{name: _operator(kind) for name, kind in _ONE.items()},
    "argmax": _place("ArgMax"),
    "argmin": _place("ArgMin"),
    "attention": _attention,
    "avg_pool": _avg_pool,
    "broadcast": _broadcast,
    "cast": _cast,
    "clip": _clip,
    "conv": _conv,
    "cumsum": _cumsum,
    "einsum": _einsum,
    "equal": _truth("Equal"),
    "expand_dims": _expand_dims,
    "gelu": _operator("Gelu"),
    "gelu_tanh": _operator("Gelu", approximate="tanh"),
    "greater": _truth("Greater"),
    "greater_equal": _truth("GreaterOrEqual"),
    "hardsigmoid": _operator("HardSigmoid", alpha=1 / 6, beta=0.5),
    "layer_norm": _layer_norm,
    "less": _truth("Less"),
    "less_equal": _truth("LessOrEqual"),
    "linear": _linear,
    "matmul": _matmul,
    "max": _reduced("ReduceMax"),
    "max_pool": _max_pool,
    "mean": _reduced("ReduceMean"),
    "min": _reduced("ReduceMin"),
    "not_equal": _truth("Equal", "Not"),
    "remainder": _operator("Mod", fmod=1),
    "rms_norm": _rms_norm,
    "rsqrt": _rsqrt,
    "scatter_last": _scatter("none"),
    "scatter_max": _scatter("max"),
    "scatter_min": _scatter("min"),
    "scatter_sum": _scatter("add"),
    "segment_sum": _segment_sum,
    "silu": _silu,
    "softmax": _softmax,
    "square": _square,
    "sum": _reduced("ReduceSum"),
    "sum_pool": _sum_pool,
    "transpose": _transpose,
    "where": _where,
}
