"""A model in which segments are nodes of the domain `morello`; all others are ONNX Runtime's."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper
from onnx.numpy_helper import from_array

from morello.graph.graph import Array, Node
from morello.graph.operators import Constant, Foreign, Input
from morello.graph.views import VIEWS
from morello.importers.onnx import OnnxProgram
from morello.importers.onnx.files import inner_graphs
from morello.importers.onnx.program import OnnxNode
from morello.models import CompiledGraph, Segment
from morello.models.source import ConstantBlock
from morello.onnx.library import CustomOp
from morello.onnx.nodes import NodeWriter

DOMAIN = "morello"
LARGE = 4096
"""The least bytes of constants whose contents are apart from the model: a page."""
_IR_VERSION = 4
"""The version of the format since which constants need not be inputs as well."""


def rewritten(
    program: OnnxProgram, compiled: CompiledGraph, ops: Mapping[Segment, CustomOp]
) -> tuple[ModelProto, Mapping[str, Contents]]:
    """The model of a program whose segments are custom operators, and the contents of constants.

    Those of `LARGE` bytes or more are by name, and not in the model, if NumPy has their dtype. What
    nothing reads any longer is left out: also weights that only kernels use. Raises
    `UnwrittenError` for a node without a kernel that ONNX has no operators for.
    """
    writing = _Rewriting(program, compiled, ops)
    for step in compiled.steps:
        writing.add(step)
    return writing.finish(), writing.contents


@dataclass(frozen=True)
class Contents:
    """The bytes of a constant, so many `nbytes`, as `pieces` that follow each other."""

    nbytes: int
    pieces: Callable[[], Iterator[bytes | memoryview]]


class _Rewriting:
    """The nodes and constants of the new model so far, and the names of what they compute."""

    def __init__(
        self, program: OnnxProgram, compiled: CompiledGraph, ops: Mapping[Segment, CustomOp]
    ) -> None:
        self._program = program
        self._ops = ops
        self._taken = {*program.values, *_names(program.model)}
        self._fresh = (name for n in count() if (name := f"morello/{n}") not in self._taken)
        self._version = _version(program.model)
        self._nodes: list[NodeProto] = []
        self._constants: list[TensorProto] = []
        self.contents: dict[str, Contents] = {}
        self._name: dict[Node, str] = {}
        self._written = {*program.inputs}
        self._outputs = compiled.graph.outputs
        self._foreign = {
            (node.operator.key, node.operator.index): node
            for node in compiled.graph.nodes
            if isinstance(node.operator, Foreign)
        }
        self._wanted = self._preferred()
        self._origins = {
            output: proto
            for proto in program.model.graph.node
            if not any(inner_graphs([proto]))
            for output in proto.output
            if output
        }
        for name, node in zip(program.inputs, program.graph.inputs, strict=True):
            self._name[node] = name

    def _preferred(self) -> dict[Node, str]:
        """The name of each node: that of an output that it computes, else its own in the model."""
        program, names = self._program, dict[Node, str]()
        known = zip((*program.outputs, *program.carried), self._outputs, strict=True)
        left = ((_model_node(node).proto.output[n], node) for (_, n), node in self._foreign.items())
        for name, node in (*known, *left, *program.values.items()):
            names.setdefault(node, name)
        return names

    def add(self, step: Segment | Node) -> None:
        """Add a step, and what has to come before it."""
        if isinstance(step, Node):
            self._compute(step)
            return
        op = self._ops[step]
        for node in step.inputs:
            self._compute(node)
        inputs = [self._name[node] for node in step.inputs]
        inputs.append(next(self._fresh))
        self._keep_block(op.constants, inputs[-1])
        outputs = [self._named(node) for node in step.outputs]
        self._nodes.append(
            helper.make_node(op.name, inputs, outputs, domain=DOMAIN, name=f"{DOMAIN}/{op.name}")
        )

    def _named(self, node: Node) -> str:
        """A name for a node that is about to be computed."""
        name = self._wanted.get(node, "")
        self._name[node] = next(self._fresh) if not name or name in self._written else name
        self._written.add(self._name[node])
        return self._name[node]

    def _compute(self, node: Node) -> None:
        """Add what computes a node, unless it is there."""
        todo = [node]
        while todo:
            node = todo[-1]
            if self._is_known(node):
                todo.pop()
                continue
            origin = self._origin(node)
            missing = [n for n in self._sources(node, origin) if not self._is_known(n)]
            if missing:
                todo += missing
            else:
                self._emit(node, origin)

    def _is_known(self, node: Node) -> bool:
        """Whether a node is computed, perhaps as the one that the model was read as.

        A rule may have changed what it reads: then the values of its name are two nodes.
        """
        if node not in self._name and (name := self._wanted.get(node)):
            before = self._program.values[name]
            if before in self._name:
                self._name[node] = self._name[before]
            elif name in self._written:
                self._name[node] = name
        return node in self._name

    def _sources(self, node: Node, origin: NodeProto | None) -> Sequence[Node]:
        if origin is None or isinstance(node.operator, Foreign):
            return node.inputs
        return [self._program.values[name] for name in origin.input if name]

    def _origin(self, node: Node) -> NodeProto | None:
        """The node of the model that computes this one, if all it reads is there, or constant."""
        if isinstance(node.operator, Foreign):
            return _model_node(node).proto
        if isinstance(node.operator, Constant):
            return None
        proto = self._origins.get(self._wanted.get(node, ""))
        read = [] if proto is None else [self._program.values[name] for name in proto.input if name]
        if node in read or any(map(self._is_far, read)):  # it is its own input in an Identity
            return None
        return proto

    def _is_far(self, node: Node) -> bool:
        while not self._is_known(node) and isinstance(node.operator, VIEWS):
            node = node.inputs[0]
        return not self._is_known(node) and not isinstance(node.operator, Constant | Input)

    def _emit(self, node: Node, origin: NodeProto | None) -> None:
        if isinstance(node.operator, Constant):
            array = np.ascontiguousarray(node.operator.array).reshape(node.shape)
            self._keep(array, self._named(node))
        elif isinstance(node.operator, Foreign):
            self._leave(node)
        elif origin is not None:
            values = self._program.values
            self._copy(
                origin,
                {name: values[name] for name in origin.input if name},
                {name: values[name] for name in origin.output if name},
            )
        else:
            writer = NodeWriter(self._version, lambda: next(self._fresh))
            written = writer.write(node, [self._name[source] for source in node.inputs])
            self._nodes += writer.nodes
            self._constants += writer.constants
            self._name[node] = written

    def _keep(self, array: Array, name: str) -> None:
        """Add a constant, without its contents if they are many: they are copied with the model."""
        if array.nbytes < LARGE or array.dtype.kind not in "biuf":
            self._constants.append(from_array(array, name))
            return
        code = helper.np_dtype_to_tensor_dtype(array.dtype)
        self._constants.append(TensorProto(name=name, data_type=code, dims=array.shape))
        content = array.reshape(-1).view(np.uint8).data
        self.contents[name] = Contents(array.nbytes, lambda: iter([content]))

    def _keep_block(self, block: ConstantBlock, name: str) -> None:
        """Add constants as one array of bytes, which is not made if they are many."""
        if block.size < LARGE:
            self._keep(np.frombuffer(b"".join(block.pieces()), np.uint8), name)
            return
        self._constants.append(
            TensorProto(name=name, data_type=TensorProto.UINT8, dims=(block.size,))
        )
        self.contents[name] = Contents(block.size, block.pieces)

    def _leave(self, node: Node) -> None:
        """Add the node of the model that a node is left to, with all its outputs."""
        origin = _model_node(node)
        given = [name for name in origin.proto.input if name]
        read = dict(zip((*given, *origin.captured), node.inputs, strict=True))
        for name in origin.captured:
            self._alias(read[name], name)
        outputs = {
            name: self._foreign[origin, n]
            for n, name in enumerate(origin.proto.output)
            if (origin, n) in self._foreign
        }
        self._copy(origin.proto, read, outputs)

    def _copy(
        self, origin: NodeProto, read: Mapping[str, Node], outputs: Mapping[str, Node]
    ) -> None:
        """Add a copy of a node of the model, given its inputs and needed outputs by their names."""
        proto = NodeProto()
        proto.CopyFrom(origin)
        for n, name in enumerate(origin.input):
            if name:
                proto.input[n] = self._name[read[name]]
        for n, name in enumerate(origin.output):
            if name:
                node = outputs.get(name)
                if node is None or self._is_known(node):
                    proto.output[n] = next(self._fresh)
                else:
                    proto.output[n] = self._named(node)
        self._nodes.append(proto)

    def _alias(self, node: Node, name: str) -> None:
        """Let a value have its name in the model, too, unless a node of the same value has it."""
        if name not in self._written:
            self._written.add(name)
            self._nodes.append(helper.make_node("Identity", [self._name[node]], [name]))

    def finish(self) -> ModelProto:
        """The model with the outputs, and with the rest of the program."""
        program, old = self._program, self._program.model
        for name, node in zip((*program.outputs, *program.carried), self._outputs, strict=True):
            self._compute(node)
            self._alias(node, name)
        self._nodes += program.rest
        known = {name: program.values[name] for name in (*program.inputs, *program.outputs)}
        constants = {tensor.name for tensor in old.graph.initializer}
        graph = helper.make_graph(
            self._nodes,
            old.graph.name or "graph",
            [_fixed(i, known) for i in old.graph.input if i.name not in constants],
            [_fixed(info, known) for info in old.graph.output],
            self._constants,
            doc_string=old.graph.doc_string,
            sparse_initializer=old.graph.sparse_initializer,
        )
        domains = [*old.opset_import, helper.make_opsetid(DOMAIN, 1)]
        model = helper.make_model(graph, opset_imports=domains, producer_name=DOMAIN)
        model.ir_version = max(old.ir_version, _IR_VERSION)
        model.metadata_props.extend(old.metadata_props)
        return model


def _model_node(node: Node) -> OnnxNode:
    """The node of the model that computes one that is left to ONNX Runtime."""
    assert isinstance(node.operator, Foreign) and isinstance(node.operator.key, OnnxNode)
    return node.operator.key


def _fixed(info: ValueInfoProto, known: Mapping[str, Node]) -> ValueInfoProto:
    """An input or output, of the type that it has in the program, if it is there."""
    node = known.get(info.name)
    if node is None:
        return info
    code = info.type.tensor_type.elem_type or helper.np_dtype_to_tensor_dtype(node.dtype)
    return helper.make_tensor_value_info(info.name, code, node.shape, info.doc_string)


def computed_with(program: OnnxProgram, unwritten: Node) -> set[str]:
    """The names of values whose nodes of the model are read as nodes of this kind, among others,
    for which ONNX has no operators.
    """
    writer = NodeWriter(_version(program.model), lambda: "")
    named = {*program.values.values()}
    composed = set()
    for name, value in program.values.items():
        inside, todo = {value}, [value]
        while todo:
            new = {*todo.pop().inputs} - named - inside
            inside |= new
            todo += new
        if any(
            type(node.operator) is type(unwritten.operator) and not writer.writes(node)
            for node in inside
        ):
            composed.add(name)
    return composed


def _version(model: ModelProto) -> int:
    """The version of ONNX's own operators."""
    return next((each.version for each in model.opset_import if each.domain in ("", "ai.onnx")), 1)


def _names(model: ModelProto) -> Iterator[str]:
    for node in model.graph.node:
        yield from (*node.input, *node.output)
    yield from (info.name for info in (*model.graph.input, *model.graph.output))
