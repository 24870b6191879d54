"""From an ONNX model to a graph.

Each node is translated, or is a `Foreign` that ONNX Runtime computes. What depends on a shape
that is only known when the model runs is no part of the graph: these nodes are its `rest`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property

import onnx
import onnx.inliner
from onnx import ModelProto, NodeProto, ValueInfoProto, helper

from morello.base.errors import GraphError, quoted
from morello.base.memory import uncollected
from morello.graph.graph import Array, Graph, Node, apply
from morello.graph.operators import Constant, Foreign, Input
from morello.importers.onnx import (  # noqa: F401 (they register translations)
    attention,
    choosing,
    contributed,
    contributed_attention,
    elementwise,
    experts,
    grouped_query,
    movement,
    pooling,
    products,
    quantized,
    quantized_layers,
    recurrent,
    reductions,
    resizing,
    rotary,
    signals,
    writing,
)
from morello.importers.onnx.call import (
    KNOWN,
    TRANSLATIONS,
    LeftError,
    OnnxCall,
    Results,
    UndefinedError,
    attributes_of,
    constant,
    constant_of,
    contents,
    domain_of,
)
from morello.importers.onnx.files import inner_graphs, names_in
from morello.importers.onnx.inferring import expansion, inferred, known, stated, type_of
from morello.importers.onnx.inner import LOOPS, InnerGraph, Run, captured, inner_graph
from morello.importers.onnx.sequences import SEQUENCES, Held, SequenceCall

MOST_INLINED = 20_000
"""The most nodes of branches and of unrolled loops that become part of a model."""

UNKNOWN = "what it reads has a shape that is only known when it runs"
"""Why nodes are of the rest that read what others of it make."""

_MALFORMED = (
    AttributeError, LookupError, MemoryError, OverflowError, TypeError, ValueError,
    ZeroDivisionError,
)  # fmt: skip
"""The exceptions of translations of malformed nodes that ONNX's checker accepts."""


def node_name(proto: NodeProto) -> str:
    """The name of a node in messages: the kind of operator, and its own name if it has one."""
    return f"{proto.op_type} {proto.name}".strip()


@dataclass(frozen=True, eq=False)
class OnnxNode:
    """A node as the model has it, which ONNX Runtime computes.

    The inputs of its `Foreign` are its inputs that are given, then the values that its inner
    graphs read, which are `captured`.
    """

    proto: NodeProto
    captured: tuple[str, ...]


@dataclass(frozen=True)
class OnnxProgram:
    """A model as a graph.

    The first outputs of the graph are those of the model that it computes, by `outputs`; then
    come the values that the `rest` reads, by `carried`. `values` has the values of the model by
    name, and `left` why nodes are `Foreign` or of the rest.
    """

    model: ModelProto
    graph: Graph
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    carried: tuple[str, ...]
    rest: tuple[NodeProto, ...]
    values: Mapping[str, Node]
    left: tuple[tuple[str, str], ...]


@uncollected()
def import_model(
    model: ModelProto,
    shapes: Mapping[str, Sequence[int]] | None = None,
    constants: Mapping[str, Array] | None = None,
    leaving: Collection[str] = (),
) -> OnnxProgram:
    """The graph of a valid model, in which inputs with free dimensions have the given shapes.

    Initializers are constants, also those that a caller could replace; so are `constants`, which
    the model need not have. Nodes with an output of a name in `leaving` are left. Raises
    `GraphError` for a free dimension without a size, and for a node that does not fit its inputs.
    """
    if model.functions:
        model = onnx.inliner.inline_local_functions(model)
    try:
        importing = _Importing(model, dict(shapes or {}), dict(constants or {}), {*leaving})
        for proto in model.graph.node:
            importing.add(proto)
        return importing.finish()
    except UnicodeError:
        raise GraphError("a name in the model is no text in UTF-8.") from None


@dataclass
class _Inlined:
    """How many graphs within nodes, and nodes of them, became part of the model."""

    runs: int = 0
    nodes: int = 0


@dataclass
class _Importing:
    """The values of a model so far: None is the value of a node of the rest."""

    model: ModelProto
    shapes: dict[str, Sequence[int]]
    constants: dict[str, Array]
    leaving: set[str]
    values: dict[str, Node | None] = field(default_factory=dict)
    inputs: dict[str, Node | None] = field(default_factory=dict)
    rest: list[NodeProto] = field(default_factory=list)
    left: list[tuple[str, str]] = field(default_factory=list)
    inlined: _Inlined = field(default_factory=_Inlined)
    sequences: dict[str, Held] = field(default_factory=dict)
    makers: dict[str, NodeProto] = field(default_factory=dict)
    """The nodes that make sequences, as far as they are not of the rest."""

    def __post_init__(self) -> None:
        graph = self.model.graph
        for tensor in graph.initializer:
            self.values[tensor.name] = constant(contents(tensor))
        for name, array in self.constants.items():
            self.values[name] = constant(array)
        for sparse in graph.sparse_initializer:
            self.values[sparse.values.name] = None
        free = [info for info in graph.input if info.name not in self.values]
        if unknown := {*self.shapes} - {info.name for info in free}:
            there = ", ".join(info.name for info in free)
            raise GraphError(f"there is no input {quoted(min(unknown))}", f"the inputs are {there}")
        sizes: dict[str, int] = {}
        for info in sorted(free, key=lambda info: info.name not in self.shapes):
            self.inputs[info.name] = self._input(info, sizes)
        for info in free:
            node = self.inputs.get(info.name)
            self.values[info.name] = node
        self.versions = {each.domain: each.version for each in self.model.opset_import}
        self.stated = {i.name: stated(i, sizes) for i in (*graph.value_info, *graph.output)}

    def _input(self, info: ValueInfoProto, sizes: dict[str, int]) -> Node | None:
        """An input; the sizes of named dimensions are those that other inputs gave them."""
        if not info.type.HasField("tensor_type"):
            return None
        given = self.shapes.get(info.name)
        dims = info.type.tensor_type.shape.dim
        ranked = info.type.tensor_type.HasField("shape")
        if given is not None and ranked and len(given) != len(dims):
            raise GraphError(f"{info.name} has {len(dims)} dimensions, and {len(given)} are given.")
        if given is None and not ranked:
            raise GraphError(f"the input {info.name} has no shape", "give one")
        shape = []
        for d, dim in enumerate(dims):
            known = dim.dim_value if dim.HasField("dim_value") else sizes.get(dim.dim_param)
            size = known if given is None else given[d]
            if size is None:
                what = f"dimension {d} of the input {info.name} ({dim.dim_param or 'free'})"
                raise GraphError(f"{what} may have any size", f"give the shape of {info.name}")
            if size < 0 or (known is not None and size != known):
                raise GraphError(f"dimension {d} of {info.name} is {known}, not {size}.")
            if dim.dim_param:
                sizes[dim.dim_param] = size
            shape.append(size)
        kind = type_of(info.type.tensor_type.elem_type, shape if ranked else given or ())
        return None if kind is None else apply(Input(kind, info.name))

    def add(self, proto: NodeProto) -> None:
        """Translate a node, or leave it."""
        name = node_name(proto)
        outer = tuple(dict.fromkeys(captured(inner_graphs([proto]))))
        read = [each for each in (*proto.input, *outer) if each]
        for each in read:
            if each not in self.values:
                raise GraphError(f"{name} reads {quoted(each)}, which no node before it computes.")
        try:
            if self._is_of_sequences(proto):
                return
            branch = self._branch(proto)
            if branch is not None:
                self._take(proto, branch)
                return
            if any(self.values[each] is None for each in read):
                self._leave(proto, name, UNKNOWN)
                return
            results = self._translated(proto)
        except LeftError as error:
            reason, defined = str(error), not isinstance(error, UndefinedError)
            computed = self._foreign(proto, outer, defined)
            if _is_left(computed) and defined:
                computed = self._expanded(proto) or computed
            if computed is None:
                self._leave(proto, name, f"{reason}, and its shape is only known when it runs")
                return
            if _is_left(computed):
                self.left.append((name, reason))
            results = computed
        except GraphError as error:
            raise GraphError(f"{name}: {error}") from None
        except _MALFORMED as error:
            raise GraphError(
                f"{name} has attributes or inputs that make no sense: {error}."
            ) from None
        for output, node in zip(proto.output, results, strict=False):
            if output:
                self.values[output] = node

    def _is_of_sequences(self, proto: NodeProto) -> bool:
        """Whether a node makes or reads sequences, all of which are known: it then is, too."""
        translation = SEQUENCES.get(proto.op_type)
        of_tensors = proto.op_type == "Identity" and proto.input[0] not in self.sequences
        if translation is None or domain_of(proto) or of_tensors:
            return False
        given = {name: self.sequences.get(name, self.values[name]) for name in proto.input if name}
        if None in given.values():
            return False
        try:
            call = SequenceCall(attributes_of(proto), tuple(map(given.get, proto.input)))
            result = translation(call)
        except LeftError:
            return False
        (name,) = proto.output
        self.values[name] = result if isinstance(result, Node) else None
        if not isinstance(result, Node):
            self.sequences[name], self.makers[name] = result, proto
        return True

    def _make(self, name: str) -> None:
        """Let ONNX Runtime make a sequence, if the value is one, for what it does with it."""
        maker = self.makers.pop(name, None)
        if maker is not None:
            for each in maker.input:
                self._make(each)
            self.rest.append(maker)
            self.left.append((node_name(maker), "ONNX Runtime needs the sequence that it makes"))

    def _leave(self, proto: NodeProto, name: str, reason: str) -> None:
        for each in (*proto.input, *captured(inner_graphs([proto]))):
            self._make(each)
        self.rest.append(proto)
        self.left.append((name, reason))
        self.values.update(dict.fromkeys(filter(None, proto.output)))

    def _translated(self, proto: NodeProto) -> Sequence[Node | None]:
        if not self.leaving.isdisjoint(proto.output):
            raise LeftError("kernels compute only a part of it")
        domain = domain_of(proto)
        translation = TRANSLATIONS.get((domain, proto.op_type))
        if proto.op_type == "Constant" and not domain:
            return [constant_of(attributes_of(proto))]
        if translation is None and (domain or proto.op_type not in LOOPS):
            raise LeftError("it is left to ONNX Runtime")
        inputs = tuple(self.values[each] if each else None for each in proto.input)
        if odd := [node.type for node in inputs if node and node.dtype not in KNOWN]:
            raise LeftError(f"it is of {odd[0]}")
        used = frozenset(n for n, output in enumerate(proto.output) if output)
        version = self.versions.get(domain, self.versions.get("ai.onnx", 1))
        attributes = attributes_of(proto)
        call = OnnxCall(proto.op_type, version, attributes, inputs, len(proto.output), used)
        if translation is None:
            results: Results = LOOPS[proto.op_type](
                call, self._whole(inner_graph(attributes["body"]))
            )
        else:
            results = translation(call)
        results = [results] if isinstance(results, Node) else results
        if max(used, default=-1) >= len(results):
            raise LeftError("it has more outputs")
        return results

    def _branch(self, proto: NodeProto) -> InnerGraph | None:
        """The branch that a node of type If takes, if a constant decides that."""
        if proto.op_type != "If" or domain_of(proto) or self.inlined.nodes > MOST_INLINED:
            return None
        decides = self.values.get(next(iter(proto.input), ""))
        if decides is None or not isinstance(decides.operator, Constant):
            return None
        taken = "then_branch" if decides.operator.array.item() else "else_branch"
        try:
            return inner_graph(attributes_of(proto)[taken])
        except LeftError:
            return None

    def _take(self, proto: NodeProto, branch: InnerGraph) -> None:
        """Add the nodes of a branch in place of the node that has it."""
        if len(branch.outputs) != len(proto.output):
            raise GraphError(f"a branch has other results than the {len(proto.output)} outputs.")
        wanted = {own: new for own, new in zip(branch.outputs, proto.output, strict=True) if new}
        results = self._run(branch, (), wanted)
        for name, result in zip(proto.output, results, strict=True):
            if name not in ("", result):
                self.values[name] = self.values[result]
                same = helper.make_node("Identity", [result], [name])
                if self.values[name] is None and not self._is_of_sequences(same):
                    self.rest.append(same)
                    self.left.append((node_name(same), UNKNOWN))

    def _expanded(self, proto: NodeProto) -> list[Node | None] | None:
        """The results of a node by the operators that define its own, if all of them are computed.

        ONNX defines some operators so, as losses.
        """
        named = {each: self.values[each] for each in proto.input if each}
        leaving = not self.leaving.isdisjoint(proto.output)
        graph = None if leaving or domain_of(proto) else expansion(proto, named, self.model)
        if graph is None:
            return None
        try:
            inner = inner_graph(graph)
            given = [node for name in inner.inputs if (node := named[name])]
            results = iter(self._whole(inner)(given))
        except (LeftError, GraphError):
            return None
        return [next(results) if name else None for name in proto.output]

    def _whole(self, inner: InnerGraph) -> Run:
        """A function that computes an inner graph, all of which operators have to do."""
        inside = copy(self)
        inside.values, inside.rest, inside.left = dict(self.values), [], []
        inside.sequences, inside.makers = dict(self.sequences), dict(self.makers)

        def step(given: Sequence[Node]) -> Sequence[Node]:
            results = [inside.values[name] for name in inside._run(inner, given, {})]
            known = [node for node in results if node is not None]
            if inside.rest or inside.left or len(known) < len(results):
                raise LeftError("no operators do all of its graph")
            if self.inlined.nodes > MOST_INLINED:
                raise LeftError(f"its graphs are more than {MOST_INLINED} nodes")
            return known

        return step

    def _run(
        self, inner: InnerGraph, given: Sequence[Node], wanted: Mapping[str, str]
    ) -> list[str]:
        """Add the nodes of an inner graph, given its inputs; the names of its results.

        Its values get names of their own, but for the results with names that are `wanted`.
        """
        if len(given) != len(inner.inputs):
            raise GraphError(f"a graph of {len(inner.inputs)} inputs is given {len(given)}.")
        names, nodes = inner.named(f"{self._mark}{self.inlined.runs}/", wanted)
        self.inlined.runs += 1
        self.inlined.nodes += len(nodes)
        own = {**inner.constants, **dict(zip(inner.inputs, given, strict=True))}
        self.values.update((names[name], node) for name, node in own.items())
        for node in nodes:
            self.add(node)
        return [names.get(name, name) for name in inner.outputs]

    @cached_property
    def _mark(self) -> str:
        """A text that no name in the model begins with."""
        names, mark = [*names_in(self.model.graph)], "step"
        while any(name.startswith(mark) for name in names):
            mark += "'"
        return mark

    def _foreign(
        self, proto: NodeProto, outer: tuple[str, ...], defined: bool
    ) -> list[Node | None] | None:
        """A node for each output; None if a shape is not known.

        It is a constant if it is known, which takes that ONNX has `defined` what the node means.
        """
        named = {each: self.values[each] for each in (*proto.input, *outer) if each}
        types = inferred(proto, named, self.model)
        if defined and (constants := known(proto, named, types, self.model)):
            return [*constants]
        kinds = [
            None if not name else kind or self.stated.get(name)
            for name, kind in zip(proto.output, types, strict=True)
        ]
        if any(name and kind is None for name, kind in zip(proto.output, kinds, strict=True)):
            return None
        key = OnnxNode(proto, outer)
        inputs = [self.values[each] for each in (*proto.input, *outer) if each]
        return [
            None if kind is None else apply(Foreign(kind, key, proto.op_type, n), *inputs)  # type: ignore[arg-type]
            for n, kind in enumerate(kinds)
        ]

    def finish(self) -> OnnxProgram:
        """The program of all nodes."""
        for info in self.model.graph.output:
            self._make(info.name)
        needed = [i for p in self.rest for i in (*p.input, *captured(inner_graphs([p]))) if i]
        wanted = [info.name for info in self.model.graph.output]
        if missing := [name for name in wanted if name not in self.values]:
            raise GraphError(f"no node computes the output {quoted(missing[0])}.")
        outputs = tuple(name for name in wanted if self.values[name] is not None)
        carried = tuple(
            dict.fromkeys(n for n in needed if self.values[n] is not None and n not in outputs)
        )
        results = [self.values[name] for name in (*outputs, *carried)]
        known = {name: node for name, node in self.inputs.items() if node is not None}
        graph = Graph(
            tuple(known[i.name] for i in self.model.graph.input if i.name in known),
            tuple(node for node in results if node is not None),
        )
        inputs = tuple(node.operator.name for node in graph.inputs)  # type: ignore[attr-defined]
        values = {name: node for name, node in self.values.items() if node is not None}
        rest, left = tuple(self.rest), tuple(self.left)
        return OnnxProgram(self.model, graph, inputs, outputs, carried, rest, values, left)


def _is_left(results: Sequence[Node | None] | None) -> bool:
    """Whether ONNX Runtime is to compute results, as it is if they are not known."""
    return results is None or any(node and isinstance(node.operator, Foreign) for node in results)
