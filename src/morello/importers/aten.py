"""From programs of ATen operations, as torch traces and exports them, to graphs.

An operation that graphs lack is a `Foreign` node, whose key does it.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import fx
from torch.export.graph_signature import InputKind, OutputKind

from morello.base.errors import GraphError
from morello.graph.graph import Graph, Node, TensorType, apply
from morello.graph.operators import Constant, Foreign, Input
from morello.importers.aten_calls import (
    AtenCall,
    Handler,
    array_of,
    places_within,
    tensor_of,
    type_of,
)
from morello.importers.aten_elementwise import ELEMENTWISE
from morello.importers.aten_fused import FUSED
from morello.importers.aten_layers import LAYERS
from morello.importers.aten_movement import MOVEMENT
from morello.importers.aten_networks import NETWORKS
from morello.importers.aten_resizing import RESIZING
from morello.importers.aten_writing import WRITING
from morello.importers.building import MOST_FOLDED, GraphBuilder
from morello.importers.writing import MOST_WRITTEN, after_writing

HANDLERS: dict[str, Handler] = {
    **ELEMENTWISE, **FUSED, **LAYERS, **MOVEMENT, **NETWORKS, **RESIZING, **WRITING
}  # fmt: skip
"""What makes nodes of each operation, by its name without its overload."""

_WITHOUT_RESULT = {
    "_assert_async", "_assert_scalar", "_assert_tensor_metadata", "_exit_autocast",
    "_set_grad_enabled", "sym_constrain_range", "sym_constrain_range_for_size",
}  # fmt: skip
"""Operations that compute nothing."""


@dataclass(frozen=True)
class ImportedAten:
    """A graph, and what it has of the program that it was.

    `results` are the program's results: a node, or what is no tensor, as None. `tensors` are the
    constants as tensors, which lie where the constants' arrays lie. `left` says of each Foreign
    operation by its name why it is one.
    """

    graph: Graph
    results: tuple[Node | bool | int | float | None, ...]
    tensors: Mapping[Node, torch.Tensor]
    left: Mapping[str, str]


def imported(module: fx.GraphModule, constants: Mapping[str, torch.Tensor]) -> ImportedAten:
    """The graph of a traced program; some placeholders, by their names, are constants.

    An operation that changes an input is a `Foreign` node, which is an output of the graph beside
    the results. Raises `GraphError` for other programs that change tensors which others see, that
    draw random numbers, or whose results are views of their inputs: torch is to run these.
    """
    return _Importer(module, constants).run()


def changed_inputs(module: fx.GraphModule) -> set[str]:
    """The placeholders, by their names, whose elements a traced program changes."""
    nodes = module.graph.nodes
    changed = [written for node in nodes if (written := _changed(node))]
    storages = {storage for node in changed for storage in _storages(node)}
    return {node.name for node in nodes if node.op == "placeholder" and _storages(node) & storages}


def exported(program: torch.export.ExportedProgram) -> ImportedAten:
    """The graph of an exported program: its parameters and buffers are constants."""
    constants: dict[str, torch.Tensor] = {}
    for spec in program.graph_signature.input_specs:
        if spec.kind is not InputKind.USER_INPUT:
            values = program.state_dict if spec.target in program.state_dict else program.constants
            constants[spec.arg.name] = values[spec.target]
    if any(s.kind is not OutputKind.USER_OUTPUT for s in program.graph_signature.output_specs):
        raise GraphError("the program changes its parameters, buffers or inputs.")
    return imported(program.graph_module, constants)


@dataclass(frozen=True)
class TorchCall:
    """A call of the trace that torch does; it takes the tensors of its input nodes, in order.

    Where it `copies`, what it changes is a copy of its first argument.
    """

    node: fx.Node
    copies: bool = False

    @property
    def changes(self) -> int | None:
        """The number of the tensor that it changes, if it changes one."""
        written = None if self.copies else _written(self.node)
        return None if written is None else self.node.all_input_nodes.index(written)

    def __call__(self, *tensors: torch.Tensor) -> Any:
        """Its results; tensors beyond those of its inputs are ignored."""
        return self.of(dict(zip(self.node.all_input_nodes, tensors, strict=False)))

    def of(self, given: dict[fx.Node, torch.Tensor]) -> Any:
        """Its results, for the tensors of its input nodes."""
        if self.copies:
            given[self.node.args[0]] = given[self.node.args[0]].clone()
        args = fx.node.map_arg(self.node.args, given.__getitem__)
        kwargs = fx.node.map_arg(self.node.kwargs, given.__getitem__)
        return self.node.target(*args, **kwargs)


@dataclass(frozen=True)
class TorchChain:
    """Calls that torch does one after the other, with results that graphs cannot hold, such as
    complex numbers; those of the last call are the results.

    It takes the tensors of its input nodes, in order; further ones are ignored.
    """

    inputs: tuple[fx.Node, ...]
    calls: tuple[TorchCall, ...]

    def __call__(self, *tensors: torch.Tensor) -> Any:
        given: dict[fx.Node, Any] = dict(zip(self.inputs, tensors, strict=False))
        for call in self.calls:
            given[call.node] = call.of(given)
        return given[self.calls[-1].node]


@dataclass(frozen=True)
class _Unheld:
    """A tensor that graphs cannot hold: the calls that compute it, and their inputs."""

    inputs: Mapping[fx.Node, Node]
    calls: tuple[TorchCall, ...]


class _Importer:
    """The nodes of a program so far, by the nodes of the trace."""

    def __init__(self, module: fx.GraphModule, constants: Mapping[str, torch.Tensor]) -> None:
        self._module = module
        self._constants = constants
        self._build = GraphBuilder()
        self._values: dict[fx.Node, Any] = {}
        self._tensors: dict[Node, torch.Tensor] = {}
        self._inputs: list[Node] = []
        self._left: dict[str, str] = {}
        self._effects: dict[fx.Node, Node] = {}
        self._originals: dict[Node, Node] = {}
        self._places = {node: place for place, node in enumerate(module.graph.nodes)}
        self._storages: dict[int, list[fx.Node]] = {}

    def run(self) -> ImportedAten:
        for node in self._module.graph.nodes:
            for storage in _storages(node):
                self._storages.setdefault(storage, []).append(node)
        results: tuple[Any, ...] = ()
        for node in self._module.graph.nodes:
            if node.op == "output":
                results = self._results(node)
            else:
                self._values[node] = self._value(node)
        outputs = tuple(each for each in results if isinstance(each, Node))
        graph = Graph(tuple(self._inputs), (*outputs, *self._effects.values()))
        return ImportedAten(graph, results, self._tensors, self._left)

    def _value(self, node: fx.Node) -> Any:
        """What a node of the trace is: a node of the graph, several, or nothing."""
        if node.op == "placeholder":
            if node.name in self._constants:
                return self._constant(self._constants[node.name])
            return self._input(node)
        if node.op == "get_attr":
            return self._attribute(node)
        if node.op != "call_function":
            if not node.users:
                return None
            raise GraphError(f"the program has {node.op} {node.target}.")
        if node.target is operator.getitem:
            whole = self._values[node.args[0]]
            if isinstance(whole, _Unheld):
                raise GraphError("there are no graphs of parts of complex results.")
            return whole[node.args[1]]
        return self._called(node)

    def _input(self, node: fx.Node) -> Any:
        value = node.meta.get("val")
        if not isinstance(value, torch.Tensor):
            return value
        given = apply(Input(type_of(value), node.name))
        self._inputs.append(given)
        if not self._read_before_change(node):
            return given
        self._left["copy"] = "it changes later"
        copied = apply(Foreign(given.type, partial(torch.clone), "copy"), given)
        self._originals[copied] = given
        return copied

    def _read_before_change(self, given: fx.Node) -> bool:
        """Whether an input is read, and later changed: then what reads it reads a copy."""
        shared = self._shared(given)
        users = {user for other in shared for user in other.users}
        places = {self._places[u] for u in users if _changed(u) in shared}
        readers = (u for u in users if u not in shared)
        return bool(places) and any(self._places[u] < min(places) for u in readers)

    def _constant(self, tensor: torch.Tensor) -> Node:
        type_of(tensor)
        is_weight = tensor.is_floating_point() and tensor.numel() > 1
        store = self._build.weight if is_weight else self._build.constant
        weight = store(array_of(tensor))
        self._tensors[weight] = tensor
        return weight

    def _attribute(self, node: fx.Node) -> Any:
        value: Any = self._module
        for name in str(node.target).split("."):
            value = getattr(value, name)
        return self._constant(value) if isinstance(value, torch.Tensor) else value

    def _called(self, node: fx.Node) -> Any:
        target = node.target
        name = getattr(target, "__name__", str(target))
        if isinstance(target, torch._ops.OpOverload):
            name = target.overloadpacket.__name__
        if name == "_enter_autocast" and not node.args[2]:
            return None
        if name in _WITHOUT_RESULT:
            return None
        if not isinstance(target, torch._ops.OpOverload):
            raise GraphError(f"the program calls {name}, which is no ATen operation.")
        if torch.Tag.nondeterministic_seeded in target.tags and not _draws_nothing(node):
            raise GraphError(f"{name} draws random numbers.")
        written = _written(node)
        if written is None and _complex(node):
            return self._unheld(node)
        types = _types(node)
        if any(isinstance(self._values[source], _Unheld) for source in node.all_input_nodes):
            if written is not None:
                raise GraphError(f"{name} writes complex numbers into a real tensor.")
            return self._after_unheld(node, AtenCall(self._build, name, {}, types))
        if written is None and not node.all_input_nodes:
            return self._known(node)
        if written is not None and self._outer(written):
            return self._effect(node, written, name)
        name = name.rstrip("_") if written else name
        call = AtenCall(self._build, name, self._bound(node), types)
        result = self._made(node, call)
        if written is not None:
            self._overwrite(node, written, result)
        return result

    def _known(self, node: fx.Node) -> Any:
        """The results of a call that reads no tensor but constants.

        Raises `GraphError` if they are neither small nor smaller than what they are made of.
        """
        types = _types(node)
        read = sum(self._values[source].type.size for source in node.all_input_nodes)
        if sum(each.size for each in types) > max(MOST_FOLDED, read):
            raise GraphError(f"{node.target} makes {types[0]}, too large to be known ahead.")
        arrays = (self._values[source].operator.array for source in node.all_input_nodes)
        result = TorchCall(node, _written(node) is not None)(*map(tensor_of, arrays))
        if isinstance(result, torch.Tensor):
            return self._build.constant(array_of(result))
        return tuple(self._build.constant(array_of(each)) for each in result)

    def _bound(self, node: fx.Node) -> dict[str, Any]:
        """The arguments by the names that the operation gives them."""
        bound: dict[str, Any] = {}
        for place, argument in enumerate(node.target._schema.arguments):
            given = node.kwargs.get(argument.name, argument.default_value)
            if place < len(node.args):
                given = node.args[place]
            bound[argument.name] = fx.node.map_arg(given, self._values.__getitem__)
        return bound

    def _made(self, node: fx.Node, call: AtenCall) -> Any:
        """The nodes of a call; Foreign ones if nothing else computes it."""
        handler = HANDLERS.get(call.name)
        try:
            if handler is None:
                raise GraphError("graphs have no such operation.")
            result = handler(call)
        except GraphError as error:
            return self._foreign(TorchCall(node, _written(node) is not None), call, str(error))
        nodes = (result,) if isinstance(result, Node) else result
        typed = []
        for value, kind in zip(nodes, call.types, strict=True):
            typed.append(self._build.cast(value, kind.dtype))
            if typed[-1].type != kind:
                raise GraphError(f"{call.name} became {typed[-1].type}; in torch it is {kind}.")
        return typed[0] if isinstance(result, Node) else tuple(typed)

    def _foreign(
        self, torch_call: TorchCall, call: AtenCall, why: str, after: Sequence[Node] = ()
    ) -> Any:
        """The nodes of a call that torch does, after some other nodes."""
        node = torch_call.node
        inputs = tuple(self._values[source] for source in node.all_input_nodes)
        if not all(isinstance(each, Node) for each in inputs):
            raise GraphError(f"{call.name} reads what is no tensor.")
        if all(isinstance(each.operator, Constant) for each in inputs):
            return self._known(node)
        return self._by_torch(torch_call, call, why, node, (*inputs, *after))

    def _by_torch(
        self,
        key: TorchCall | TorchChain,
        call: AtenCall,
        why: str,
        node: fx.Node,
        inputs: Sequence[Node],
    ) -> Any:
        """A node for each result of what torch does."""
        self._left[call.name] = why
        nodes = tuple(
            self._build.apply(Foreign(kind, key, call.name, index), *inputs)
            for index, kind in enumerate(call.types)
        )
        return nodes[0] if isinstance(node.meta["val"], torch.Tensor) else nodes

    def _unheld(self, node: fx.Node) -> _Unheld:
        """The complex result of a call, as the calls of torch that compute it."""
        inputs: dict[fx.Node, Node] = {}
        calls: dict[TorchCall, None] = {}
        for source in node.all_input_nodes:
            value = self._values[source]
            if isinstance(value, _Unheld):
                inputs |= value.inputs
                calls |= dict.fromkeys(value.calls)
            elif isinstance(value, Node):
                inputs[source] = value
            else:
                raise GraphError(f"{node.target} reads what is no tensor.")
        return _Unheld(inputs, (*calls, TorchCall(node)))

    def _after_unheld(self, node: fx.Node, call: AtenCall) -> Any:
        """The nodes of a call that reads complex tensors, which torch does with what made them."""
        chain = self._unheld(node)
        key = TorchChain((*chain.inputs,), chain.calls)
        why = "it reads complex numbers"
        return self._by_torch(key, call, why, node, (*chain.inputs.values(),))

    def _overwrite(self, node: fx.Node, written: fx.Node, result: Node) -> None:
        """Let later uses of a tensor that a call changes, and of others with it, see the change."""
        if not self._seen_later(node, written):
            self._rebind(self._shared(written), self._values[written], result)
            return
        root, *views = [n for n in self._shared(written) if self._places[n] < self._places[node]]
        whole = self._values[root]
        if not isinstance(whole, Node) or whole.type.size > MOST_WRITTEN:
            raise GraphError(f"{node.target} changes a tensor that others see.")
        places = places_within(root.meta["val"], written.meta["val"])
        self._values[root] = after_writing(self._build, whole, places, result)
        for view in views:
            changed = _changed(view)
            self._values[view] = self._values[changed] if changed else self._value(view)

    def _effect(self, node: fx.Node, written: fx.Node, name: str) -> Node:
        """The call of torch that changes an input; later uses of the input read its result.

        If the input was read before, a copy of it was, on which the call depends. Raises
        `GraphError` for changes of a part, and of constants.
        """
        place, shared, (outer,) = self._places[node], self._shared(written), self._outer(written)
        before = self._values[outer]
        whole = outer.op == "placeholder" and self._values[written] is before
        if not whole or isinstance(before.operator, Constant) or self._seen_later(node, written):
            raise GraphError(f"{node.target} changes a part of an input, or a constant.")
        copies = [before] if before in self._originals else []
        users = {user for other in shared for user in other.users}.difference(shared)
        if not copies and any(self._places[user] < place for user in users):
            raise GraphError(f"{node.target} changes an input again, which was read.")
        for copied in copies:
            self._rebind(shared, copied, self._originals[copied])
            before = self._originals[copied]
        call = AtenCall(self._build, name, {}, _types(node))
        result: Node = self._foreign(TorchCall(node), call, "it changes an input", copies)
        self._effects[node] = result
        self._rebind(shared, before, result)
        return result

    def _seen_later(self, node: fx.Node, written: fx.Node) -> bool:
        """Whether other views of what a call changes are used after it."""
        place, before = self._places[node], self._values[written]
        views = [n for n in self._shared(written) if self._places[n] < place]
        return any(
            self._values[view] is not before and any(self._places[u] > place for u in view.users)
            for view in views
        )

    def _shared(self, node: fx.Node) -> list[fx.Node]:
        """The nodes of the trace whose tensors have elements in common with one, and itself."""
        return [other for storage in _storages(node) for other in self._storages[storage]]

    def _outer(self, node: fx.Node) -> list[fx.Node]:
        """Those among them that are inputs or constants."""
        return [other for other in self._shared(node) if other.op != "call_function"]

    def _rebind(self, shared: Sequence[fx.Node], before: Node, result: Node) -> None:
        for other in shared:
            if self._values.get(other) is before:
                self._values[other] = result

    def _results(self, node: fx.Node) -> tuple[Any, ...]:
        """The program's results, which may be neither nested nor views of its inputs."""
        given = node.args[0]
        every = given if isinstance(given, Sequence) else (given,)
        results = []
        for each in every:
            value = self._values[each] if isinstance(each, fx.Node) else each
            if isinstance(value, _Unheld):
                raise GraphError("a result is complex.")
            if not isinstance(value, Node | bool | int | float | None):
                raise GraphError("the results are nested.")
            if isinstance(value, Node) and self._is_view(each, value):
                raise GraphError("a result is a view of an input, which the caller may change.")
            results.append(value)
        return tuple(results)

    def _is_view(self, result: fx.Node, value: Node) -> bool:
        """Whether a result shares elements with an input or a constant, and is none itself."""
        same = value in self._inputs or value in self._effects.values()
        return not same and result.op == "call_function" and bool(self._outer(result))


def _types(node: fx.Node) -> tuple[TensorType, ...]:
    """The types of a call's results; raises `GraphError` unless all are tensors."""
    value = node.meta.get("val")
    values = value if isinstance(value, Sequence) else (value,)
    if not values or not all(isinstance(each, torch.Tensor) for each in values):
        raise GraphError(f"{node.target} computes what is no tensor.")
    return tuple(map(type_of, values))


def _complex(node: fx.Node) -> bool:
    """Whether a call computes complex numbers."""
    value = node.meta.get("val")
    return isinstance(value, torch.Tensor) and value.dtype.is_complex


def _storages(node: fx.Node) -> set[int]:
    """What tells the memory of a traced tensor from that of others."""
    value = node.meta.get("val")
    values = value if isinstance(value, Sequence) else (value,)
    return {each.untyped_storage()._cdata for each in values if isinstance(each, torch.Tensor)}


def _changed(node: fx.Node) -> fx.Node | None:
    """The tensor that a node of any kind changes, if it changes one."""
    return _written(node) if isinstance(node.target, torch._ops.OpOverload) else None


def _written(node: fx.Node) -> fx.Node | None:
    """The tensor that a call changes, if it changes one."""
    schema = node.target._schema
    if not schema.is_mutable or schema.name == "aten::detach_":
        return None
    first = node.args[0] if node.args else None
    changed = [a for a in schema.arguments if a.alias_info and a.alias_info.is_write]
    if len(changed) != 1 or changed[0] is not schema.arguments[0] or not isinstance(first, fx.Node):
        raise GraphError(f"{node.target} changes tensors in place.")
    return first


def _draws_nothing(node: fx.Node) -> bool:
    """Whether an operation that may draw random numbers draws none."""
    arguments = node.target._schema.arguments
    given = {a.name: a.default_value for a in arguments}
    given |= {a.name: value for a, value in zip(arguments, node.args, strict=False)}
    given |= node.kwargs
    return given.get("train") is False or given.get("dropout_p") == 0
