"""Models read from files: what is damaged, or reaches outside of its folder, is refused."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import onnx
from google.protobuf.message import DecodeError
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto

from morello.base.errors import GraphError, quoted


def read_model(path: str | os.PathLike[str]) -> ModelProto:
    """The model of a file, with the tensors that it keeps in other files; checked for mistakes.

    Raises `GraphError` if there is no valid model, or a tensor lies outside of its folder.
    """
    file = Path(path)
    try:
        content = file.read_bytes()
        model = ModelProto.FromString(content)
    except OSError as error:
        raise GraphError(f"{file} cannot be read: {error.strerror}.") from None
    except DecodeError:
        raise GraphError(f"{file} is no ONNX model, or is damaged.") from None
    outside = [t for t in tensors(model.graph) if t.data_location == TensorProto.EXTERNAL]
    for tensor in outside:
        _load(tensor, file.parent)
    try:
        odd = any(map(_is_untyped, _infos(model))) or any(map(_is_own, _nodes(model.graph)))
        onnx.checker.check_model(_checkable(model) if odd else model if outside else content)
    except (onnx.checker.ValidationError, ValueError, RuntimeError, UnicodeError) as error:
        reason = " ".join(str(error).split())[:200].rstrip(".")
        raise GraphError(f"{file} is no valid ONNX model: {reason}.") from None
    return model


def _infos(model: ModelProto) -> Iterator[ValueInfoProto]:
    """The inputs, outputs and values of a graph, with the types that the model states."""
    yield from (*model.graph.input, *model.graph.output, *model.graph.value_info)


def _is_untyped(info: ValueInfoProto) -> bool:
    """Whether a value has no type, or is a tensor of which the elements or the shape are missing.

    ONNX Runtime infers them, but ONNX's checker wants them.
    """
    if not info.type.HasField("tensor_type"):
        return info.type.WhichOneof("value") is None
    kind = info.type.tensor_type
    return not (kind.elem_type and kind.HasField("shape"))


def _is_own(node: NodeProto) -> bool:
    """Whether a node is of an operator that only ONNX Runtime has, in the domain of ONNX's own."""
    return node.op_type == "SimplifiedLayerNormalization" and not node.domain


def _checkable(model: ModelProto) -> ModelProto:
    """A copy of a model for the checker.

    In it, values without a type are some number, and nodes that only ONNX Runtime has are in its
    domain, of which the checker knows nothing.
    """
    copy = ModelProto()
    copy.CopyFrom(model)
    for info in filter(_is_untyped, _infos(copy)):
        kind = info.type.tensor_type
        kind.elem_type = kind.elem_type or TensorProto.FLOAT
        kind.shape.SetInParent()
    for node in filter(_is_own, _nodes(copy.graph)):
        node.domain = "com.microsoft"
    if all(each.domain != "com.microsoft" for each in copy.opset_import):
        copy.opset_import.add(domain="com.microsoft", version=1)
    return copy


def _nodes(graph: GraphProto) -> Iterator[NodeProto]:
    """The nodes of a graph, and those of the graphs inside."""
    yield from graph.node
    for inner in inner_graphs(graph.node):
        yield from _nodes(inner)


def names_in(graph: GraphProto) -> Iterator[str]:
    """The names of the values of a graph, and of the graphs inside."""
    yield from (each.name for each in (*graph.initializer, *graph.input, *graph.output))
    for node in _nodes(graph):
        yield from (*node.input, *node.output)


def tensors(graph: GraphProto) -> Iterator[TensorProto]:
    """The constants of a graph, and those of the graphs inside."""
    yield from graph.initializer
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == AttributeProto.TENSOR:
                yield attribute.t
            yield from attribute.tensors
    for inner in inner_graphs(graph.node):
        yield from tensors(inner)


def inner_graphs(nodes: Iterable[NodeProto]) -> Iterator[GraphProto]:
    """The graphs that are attributes of nodes: branches, and bodies of loops."""
    for node in nodes:
        for attribute in node.attribute:
            if attribute.type == AttributeProto.GRAPH:
                yield attribute.g
            yield from attribute.graphs


def _load(tensor: TensorProto, folder: Path) -> None:
    """Put the contents of another file of the folder into a tensor."""
    where = {entry.key: entry.value for entry in tensor.external_data}
    location = where.get("location", "")
    root = folder.resolve()
    try:
        source = (root / location).resolve()
        inside = bool(location) and source.is_relative_to(root) and source.is_file()
    except (OSError, ValueError, RuntimeError):
        inside = False
    if not inside:
        what = f"the data of {quoted(tensor.name)} are said to be in {quoted(location)}"
        raise GraphError(what, "give a file in the model's folder, or below it")
    start, length = _bounds(where, source.stat().st_size, tensor)
    with source.open("rb") as file:
        file.seek(start)
        tensor.raw_data = file.read(length)
    tensor.data_location = TensorProto.DEFAULT
    del tensor.external_data[:]


def _bounds(where: Mapping[str, str], size: int, tensor: TensorProto) -> tuple[int, int]:
    """Where the contents of a tensor lie in a file of a size: from which byte on, how many."""
    try:
        start = int(where.get("offset", "0"))
        length = int(where.get("length", str(size - start)))
    except ValueError:
        start = length = -1
    if start < 0 or length < 0 or start + length > size:
        raise GraphError(f"the data of {quoted(tensor.name)} are not all in its file.")
    return start, length
