"""The types of values of an ONNX model that no translation computes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import onnx
import onnx.inliner
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, TypeProto, ValueInfoProto, helper
from onnx.numpy_helper import from_array
from onnx.reference import ReferenceEvaluator

from morello.base.errors import GraphError
from morello.graph.graph import Node, TensorType
from morello.graph.operators import Constant
from morello.importers.onnx.call import KNOWN, constant, domain_of, is_too_large

_SHOWN = 2**10
"""The most elements of a constant that the inference of shapes is given."""

_COMPUTED = 2**20
"""The most elements of constants of which others are computed, and steps that these may take."""

_RANDOM = {"Bernoulli", "Dropout", "Multinomial", "RandomNormalLike", "RandomUniformLike"}
"""The operators of some inputs that draw random numbers."""

_CHOOSING = {"Compress", "NonZero", "Unique"}
"""The operators whose results have an unknown size, of at most the input's elements or places."""

_SILENT = 4
"""The level at which ONNX Runtime logs nothing but crashes."""


def type_of(code: int, shape: Sequence[int]) -> TensorType | None:
    """The type of tensors; None if NumPy has none such."""
    try:
        dtype = np.dtype(helper.tensor_dtype_to_np_dtype(code))
    except (KeyError, ValueError, TypeError):
        return None
    kind = TensorType(tuple(map(int, shape)), dtype)
    if is_too_large(kind):
        raise GraphError(f"a tensor of {kind} is too large.")
    return kind


def stated(info: ValueInfoProto, sizes: Mapping[str, int]) -> TensorType | None:
    """The type that a model says that a value has; None if a size is not known.

    Named dimensions have the `sizes` that inputs gave them.
    """
    kind = info.type.tensor_type
    if not info.type.HasField("tensor_type") or not kind.HasField("shape"):
        return None
    shape = [
        dim.dim_value if dim.HasField("dim_value") else sizes.get(dim.dim_param, -1)
        for dim in kind.shape.dim
    ]
    return None if min(shape, default=0) < 0 else type_of(kind.elem_type, shape)


def inferred(
    proto: NodeProto, inputs: Mapping[str, Node | None], model: ModelProto
) -> list[TensorType | None]:
    """The types of the outputs of a node, as ONNX infers them; None where it does not.

    Those of operators that ONNX does not know are inferred by ONNX Runtime, if it is there.
    """
    alone = _typed(proto, inputs, model)
    if domain_of(proto):
        return _named(proto, _by_runtime(alone))
    try:
        alone = onnx.shape_inference.infer_shapes(alone, data_prop=True)
    except (onnx.shape_inference.InferenceError, RuntimeError, ValueError):
        return [None] * len(proto.output)
    return _named(proto, alone.graph.output)


def known(
    proto: NodeProto,
    inputs: Mapping[str, Node | None],
    types: Sequence[TensorType | None],
    model: ModelProto,
) -> list[Node]:
    """The results of a node of ONNX's own, if these and its inputs are small constants; else none.

    So indices that a model makes of constants are known, whatever the operators.
    """
    sizes = [_COMPUTED + 1 if kind is None else kind.size for kind in types]
    inside = any(attribute.HasField("g") for attribute in proto.attribute)
    if inside or not inputs or proto.op_type in _RANDOM:
        return []
    if max(sizes) > _COMPUTED and proto.op_type not in _CHOOSING:
        return []
    if any(abs(n) > _COMPUTED for each in proto.attribute for n in (each.i, *each.ints)):
        return []  # as many steps, perhaps
    arrays = {name: node.operator.array for name, node in inputs.items()
              if node is not None and isinstance(node.operator, Constant)}  # fmt: skip
    small = sum(array.size for array in arrays.values()) <= _COMPUTED
    if len(arrays) < len(inputs) or not small or domain_of(proto):
        return []
    infos = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
             for n, a in arrays.items()]  # fmt: skip
    names, alone = [name for name in proto.output if name], _alone(proto, infos, (), model)
    try:
        results = ReferenceEvaluator(alone).run(names, arrays)
    except Exception:  # what it lacks, or what is damaged, is another's to say
        return []
    by_name = dict(zip(names, results, strict=True))
    if not all(isinstance(each, np.ndarray) and each.dtype in KNOWN for each in results):
        return []
    return [constant(by_name[name]) if name else None for name in proto.output]  # type: ignore[misc]


def expansion(
    proto: NodeProto, inputs: Mapping[str, Node | None], model: ModelProto
) -> GraphProto | None:
    """The graph of operators by which ONNX defines the operator of a node, if it does."""
    alone = _typed(proto, inputs, model)
    try:
        alone = onnx.shape_inference.infer_shapes(alone, data_prop=True)
        inlined = onnx.inliner.inline_selected_functions(
            alone, [("", proto.op_type)], inline_schema_functions=True
        )
    except (onnx.shape_inference.InferenceError, RuntimeError, ValueError):
        return None
    again = any(node.op_type == proto.op_type for node in inlined.graph.node)
    return None if again else inlined.graph


def _typed(proto: NodeProto, inputs: Mapping[str, Node | None], model: ModelProto) -> ModelProto:
    """A model of one node, given what it reads; small constants are constants there."""
    infos, shown = [], []
    for name, node in inputs.items():
        assert node is not None
        if node.dtype == object or node.dtype.kind in "US":
            code = TensorProto.STRING
        else:
            code = helper.np_dtype_to_tensor_dtype(node.dtype)
        infos.append(helper.make_tensor_value_info(name, code, node.shape))
        if isinstance(node.operator, Constant) and node.type.size <= _SHOWN:
            array = np.ascontiguousarray(node.operator.array).reshape(node.shape)
            shown.append(from_array(array, name))
    return _alone(proto, infos, shown, model)


def _alone(
    proto: NodeProto,
    infos: Sequence[ValueInfoProto],
    shown: Sequence[TensorProto],
    model: ModelProto,
) -> ModelProto:
    """A model of one node with inputs of these types, some of which are constants."""
    outputs = [ValueInfoProto(name=name, type=TypeProto()) for name in proto.output if name]
    graph = helper.make_graph([proto], "node", infos, outputs, shown)
    return helper.make_model(graph, opset_imports=model.opset_import, ir_version=model.ir_version)


def _named(proto: NodeProto, infos: Iterable[ValueInfoProto]) -> list[TensorType | None]:
    """The types of a node's outputs, among those of values."""
    types = {info.name: stated(info, {}) for info in infos}
    return [types.get(name) for name in proto.output]


def _by_runtime(alone: ModelProto) -> list[ValueInfoProto]:
    """The outputs of a model of one node, with the types that ONNX Runtime infers for them."""
    try:
        import onnxruntime
    except ModuleNotFoundError:
        return []
    options = onnxruntime.SessionOptions()
    options.log_severity_level = _SILENT
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    content = alone.SerializeToString()
    try:
        session = onnxruntime.InferenceSession(content, options, ["CPUExecutionProvider"])
    except Exception:  # it raises exceptions of many classes, whose base is this one
        return []
    codes = {f"tensor({name})": code for name, code in _CODES.items()}
    return [
        helper.make_tensor_value_info(each.name, codes[each.type], each.shape)
        for each in session.get_outputs()
        if each.type in codes and all(isinstance(n, int) for n in each.shape)
    ]


_CODES = {
    "bool": TensorProto.BOOL, "double": TensorProto.DOUBLE, "float": TensorProto.FLOAT,
    "float16": TensorProto.FLOAT16, "int32": TensorProto.INT32, "int64": TensorProto.INT64,
    "int8": TensorProto.INT8, "uint8": TensorProto.UINT8,
}  # fmt: skip
"""The dtypes that ONNX Runtime names in types, by their names."""
