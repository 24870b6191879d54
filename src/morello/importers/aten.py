"""From programs of ATen operations, as torch traces and exports them, to graphs.

An operation that graphs lack is a `Foreign` node, whose key does it.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensor
from torch.export.graph_signature import InputKind, OutputKind

from morello.base.errors import GraphError
from morello.graph.graph import Graph, Node, TensorType, apply
from morello.graph.operators import Constant, Foreign, Input
from morello.graph.patterns.matching import is_float
from morello.importers import eight_bits
from morello.importers.aten_branching import TorchChoice, choice
from morello.importers.aten_calls import (
    AtenCall,
    Handler,
    Result,
    array_of,
    places_within,
    tensor_of,
    type_of,
)
from morello.importers.aten_choosing import CHOOSING
from morello.importers.aten_elementwise import ELEMENTWISE, IN_SEVERAL_MAPS
from morello.importers.aten_fused import FUSED
from morello.importers.aten_grouped import GROUPED
from morello.importers.aten_layers import LAYERS
from morello.importers.aten_movement import MOVEMENT
from morello.importers.aten_networks import NETWORKS
from morello.importers.aten_numbers import gives_number, number_type, takes_numbers
from morello.importers.aten_recurrent import RECURRENT
from morello.importers.aten_resizing import RESIZING
from morello.importers.aten_trace import (
    Lying,
    TorchCall,
    TorchChain,
    TorchCheck,
    chain,
    changed_by,
    draws_nothing,
    is_complex,
    layout_of,
    lying,
    memory_of,
    read_of,
    storages,
    types_of,
    views_between,
    written_by,
)
from morello.importers.aten_writing import WRITING
from morello.importers.building import MOST_FOLDED, GraphBuilder
from morello.importers.writing import MOST_WRITTEN, after_writing

HANDLERS: dict[str, Handler] = {
    **CHOOSING, **ELEMENTWISE, **FUSED, **GROUPED, **LAYERS, **MOVEMENT, **NETWORKS, **RECURRENT,
    **RESIZING, **WRITING,
}  # fmt: skip
"""The translation of each operation, by its name without its overload."""

_WITHOUT_RESULT = {
    "_assert_scalar", "_assert_tensor_metadata", "_exit_autocast", "_set_grad_enabled",
    "sym_constrain_range", "sym_constrain_range_for_size",
}  # fmt: skip
"""Operations that compute nothing. Those on numbers concern sizes, which are known."""


@dataclass(frozen=True)
class ImportedAten:
    """A program of torch as a graph, with the names of its inputs.

    `results` are the program's results: a node, or what is no tensor, as None. `tensors` are the
    constants as tensors, which lie where the constants' arrays lie. `left` says of each Foreign
    operation by its name why it is one. `memory` tells apart where the inputs and constants lie,
    and `lies` where each result lies in torch: in memory of its own, or in that of others.
    """

    graph: Graph
    inputs: tuple[str, ...]
    results: tuple[Node | bool | int | float | None, ...]
    tensors: Mapping[Node, torch.Tensor]
    left: Mapping[str, str]
    memory: Mapping[Node, int]
    lies: tuple[Lying | None, ...]


def imported(module: fx.GraphModule, constants: Mapping[str, torch.Tensor]) -> ImportedAten:
    """The graph of a traced program; some placeholders, by their names, are constants.

    An operation that changes an input, or a part of one, is a `Foreign` node whose result is the
    input, and which is an output of the graph beside the results; so is an assertion. Raises
    `GraphError` for programs that change constants, or draw random numbers into inputs: torch is to
    run these.
    """
    return _Importer(module, constants).run()


def changed_inputs(module: fx.GraphModule) -> set[str]:
    """The placeholders, by their names, whose elements a traced program changes."""
    nodes = module.graph.nodes
    changed = [written for node in nodes if (written := changed_by(node))]
    memory = {storage for node in changed for storage in storages(node)}
    return {node.name for node in nodes if node.op == "placeholder" and storages(node) & memory}


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
        self._names: list[str] = []
        self._left: dict[str, str] = {}
        self._memory: dict[Node, int] = {}
        self._lies: tuple[Lying | None, ...] = ()
        self._effects: dict[fx.Node, Node] = {}
        self._checks: list[Node] = []
        self._last_draw: tuple[Node, ...] = ()
        self._originals: dict[Node, Node] = {}
        self._places = {node: place for place, node in enumerate(module.graph.nodes)}
        self._storages: dict[int, list[fx.Node]] = {}

    def run(self) -> ImportedAten:
        for node in self._module.graph.nodes:
            for storage in storages(node):
                self._storages.setdefault(storage, []).append(node)
        results: tuple[Any, ...] = ()
        for node in self._module.graph.nodes:
            if node.op == "output":
                results = self._results(node)
            else:
                self._values[node] = self._value(node)
        outputs = tuple(each for each in results if isinstance(each, Node))
        graph = Graph(tuple(self._inputs), (*outputs, *self._effects.values(), *self._checks))
        return ImportedAten(
            graph, (*self._names,), results, self._tensors, self._left, self._memory, self._lies
        )

    def _value(self, node: fx.Node) -> Any:
        """The value of a node of the trace: a node of the graph, several, or nothing."""
        if node.op == "placeholder":
            if node.name in self._constants:
                constant = self._constant(self._constants[node.name])
                self._memory[constant] = memory_of(node)
                return constant
            return self._input(node)
        if node.op == "get_attr":
            return self._attribute(node)
        if node.op != "call_function":
            if not node.users:
                return None
            raise GraphError(f"the program has {node.op} {node.target}.")
        if node.target is operator.getitem:
            if not node.users:
                return None
            whole = self._values[node.args[0]]
            if isinstance(whole, _Unheld):
                raise GraphError("there are no graphs of parts of complex results.")
            return whole[node.args[1]]
        return self._called(node)

    def _input(self, node: fx.Node) -> Any:
        if gives_number(node):
            return self._number(node)
        value = node.meta.get("val")
        if not isinstance(value, torch.Tensor):
            return value
        given = self._new_input(node, type_of(value))
        self._memory[given] = memory_of(node)
        return self._readable(node, given)

    def _number(self, node: fx.Node) -> Node | None:
        """A number that is not known, as an input if operations on tensors take it."""
        if not any(isinstance(user.target, torch._ops.OpOverload) for user in node.users):
            return None
        return self._new_input(node, number_type(node.meta["val"]))

    def _new_input(self, node: fx.Node, kind: TensorType) -> Node:
        given = apply(Input(kind, node.name))
        self._inputs.append(given)
        self._names.append(node.name)
        return given

    def _readable(self, outer: fx.Node, current: Node) -> Node:
        """The node that later calls read for an input: a copy if they read it before a change."""
        start, shared = self._places[outer], self._shared(outer)
        if current in self._effects.values():
            start = max(self._places[node] for node in self._effects if node in shared)
        users = {user for other in shared for user in other.users}
        changes = [self._places[u] for u in users if changed_by(u) in shared]
        later = [place for place in changes if place > start]
        readers = (self._places[u] for u in users if u not in shared)
        if not later or not any(start < place < min(later) for place in readers):
            return current
        self._left["copy"] = "it changes later"
        copied = apply(Foreign(current.type, partial(torch.clone), "copy"), current)
        self._originals[copied] = current
        return copied

    def _constant(self, tensor: torch.Tensor) -> Node:
        if isinstance(tensor, FakeTensor):
            raise GraphError("a tensor in it is the data of a parameter, apart from it.")
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
            if gives_number(node):
                return self._number(node)
            if target is torch.ops.higher_order.cond:
                return self._chosen(node)
            raise GraphError(f"the program calls {name}, which is no ATen operation.")
        if name in ("_local_scalar_dense", "item"):
            return self._item(node)
        if name == "_assert_async":
            return self._check(node, name)
        written = written_by(node)
        if torch.Tag.nondeterministic_seeded in target.tags and not draws_nothing(node):
            return self._drawn(node, written, name)
        if written is None and is_complex(node):
            return self._unheld(node)
        types = types_of(node)
        if any(isinstance(self._values[source], _Unheld) for source in node.all_input_nodes):
            if written is not None:
                raise GraphError(f"{name} writes complex numbers into a real tensor.")
            return self._after_unheld(node, AtenCall(self._build, name, {}, types))
        if written is None and not node.all_input_nodes:
            return self._known(node)
        if written is not None and self._outer(written):
            return self._effect(node, written, name)
        name = name.rstrip("_") if written else name
        call = AtenCall(self._build, name, self._bound(node), types, read_of(node))
        result = self._made(node, call)
        if written is not None:
            self._overwrite(node, written, result)
        return result

    def _item(self, node: fx.Node) -> Node:
        """The element of a tensor as a number; raises `GraphError` if not all read it as such."""
        numbers = {node}
        if not gives_number(node) or not all(takes_numbers(user, numbers) for user in node.users):
            raise GraphError("the number of an element is more than an operand.")
        element = self._build.reshape(self._values[node.args[0]], ())
        return self._build.cast(element, number_type(node.meta["val"]).dtype)

    def _check(self, node: fx.Node, name: str) -> None:
        """Let torch raise the error of an assertion, in each call."""
        condition = self._values[node.args[0]]
        call = AtenCall(self._build, name, {}, (condition.type,))
        why = "it raises an error if it does not hold"
        self._checks += self._by_torch(TorchCheck(TorchCall(node)), call, why, (condition,))

    def _chosen(self, node: fx.Node) -> tuple[Node, ...]:
        """The results of the graph that a condition chooses, which torch runs."""
        key, given = choice(self._module, node)
        inputs = [self._values[each] if isinstance(each, fx.Node) else each for each in given]
        call = AtenCall(self._build, "cond", {}, types_of(node))
        return self._by_torch(key, call, "a condition chooses what is computed", inputs)

    def _drawn(self, node: fx.Node, written: fx.Node | None, name: str) -> Any:
        """The results of a call that draws random numbers, after all calls before that do."""
        if written is not None and self._outer(written):
            raise GraphError(f"{name} draws random numbers into an input.")
        inputs = (*(self._values[source] for source in node.all_input_nodes), *self._last_draw)
        call = AtenCall(self._build, name, {}, types_of(node))
        key = TorchCall(node, written is not None)
        nodes = self._by_torch(key, call, "it draws random numbers", inputs)
        self._last_draw = nodes[-1:]
        result = _as_result(node, nodes)
        if written is not None:
            self._overwrite(node, written, result)
        return result

    def _known(self, node: fx.Node) -> Any:
        """The results of a call that reads no tensor but constants.

        Raises `GraphError` if they are neither small nor smaller than what they are made of.
        """
        types = types_of(node)
        read = sum(self._values[source].type.size for source in node.all_input_nodes)
        if sum(each.size for each in types) > max(MOST_FOLDED, read):
            raise GraphError(f"{node.target} makes {types[0]}, too large to be known ahead.")
        arrays = (self._values[source].operator.array for source in node.all_input_nodes)
        result = TorchCall(node, written_by(node) is not None)(*map(tensor_of, arrays))
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
        given = (self._values[source] for source in node.all_input_nodes)
        read = [each.type for each in given if isinstance(each, Node)]
        try:
            if eight_bits.any_in_8_bits([*call.types, *read]):
                raise GraphError(f"{eight_bits.WHY}.")
            if handler is None:
                raise GraphError("graphs have no such operation.")
            of_numbers = any(map(gives_number, node.all_input_nodes))
            result = _computed(handler, call, of_numbers or call.name in IN_SEVERAL_MAPS)
            nodes = (result,) if isinstance(result, Node) else result
            typed = [*map(self._typed, nodes, call.types)]
        except GraphError as error:
            return self._foreign(TorchCall(node, written_by(node) is not None), call, str(error))
        return typed[0] if isinstance(result, Node) else tuple(typed)

    def _typed(self, result: Node, kind: TensorType) -> Node:
        """A result in its dtype in torch; raises `GraphError` if its shape is another one there."""
        typed = self._build.cast(result, kind.dtype)
        if typed.type != kind:
            raise GraphError(f"it became {typed.type}; in torch it is {kind}.")
        return typed

    def _foreign(self, torch_call: TorchCall, call: AtenCall, why: str) -> Any:
        """The nodes of a call that torch does."""
        node = torch_call.node
        inputs = tuple(self._values[source] for source in node.all_input_nodes)
        if all(isinstance(each, Node) and isinstance(each.operator, Constant) for each in inputs):
            return self._known(node)
        return _as_result(node, self._by_torch(torch_call, call, why, inputs))

    def _by_torch(
        self,
        key: TorchCall | TorchCheck | TorchChain | TorchChoice,
        call: AtenCall,
        why: str,
        inputs: Sequence[Any],
    ) -> tuple[Node, ...]:
        """A node for each result of what torch does."""
        if not all(isinstance(each, Node) for each in inputs):
            raise GraphError(f"{call.name} reads what is no tensor.")
        self._left[call.name] = why
        return tuple(
            self._build.apply(Foreign(kind, key, call.name, index), *inputs)
            for index, kind in enumerate(call.types)
        )

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
        """The nodes of a call on complex tensors; torch does it, and what made these."""
        unheld = self._unheld(node)
        key = TorchChain((*unheld.inputs,), unheld.calls)
        inputs = (*unheld.inputs.values(),)
        return _as_result(node, self._by_torch(key, call, "it reads complex numbers", inputs))

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
            changed = changed_by(view)
            self._values[view] = self._values[changed] if changed else self._value(view)

    def _effect(self, node: fx.Node, written: fx.Node, name: str) -> Any:
        """The tensor that a call of torch changes, after it: an input, or a view of one.

        What reads the input later reads the result of the call. If the input was read before, a
        copy of it was, on which the call depends. Raises `GraphError` for changes of constants.
        """
        outer, current = self._current(written)
        if outer.op != "placeholder" or isinstance(current.operator, Constant):
            raise GraphError(f"{node.target} changes a constant.")
        if layout_of(node) != layout_of(written):
            raise GraphError(f"{node.target} changes the shape of an input.")
        copies = [self._values[outer]] if self._values[outer] is not current else []
        key = chain([*views_between(outer, written), TorchCall(node)], outer)
        call = AtenCall(self._build, name, {}, (current.type,))
        inputs = [current if source is outer else self._values[source] for source in key.inputs]
        (result,) = self._by_torch(key, call, "it changes an input", (*inputs, *copies))
        self._effects[node] = result
        self._values[outer] = self._readable(outer, result)
        for view in self._shared(written):
            if view is not outer and self._places[view] < self._places[node]:
                changed = changed_by(view)
                self._values[view] = self._values[changed] if changed else self._value(view)
        return self._values[written]

    def _current(self, view: fx.Node) -> tuple[fx.Node, Node]:
        """The input or constant that a tensor is a view of, and its node: no copy of it."""
        outers = self._outer(view)
        if len(outers) > 1:
            raise GraphError(f"{view.target} is a view of several inputs.")
        value = self._values[outers[0]]
        return outers[0], self._originals.get(value, value)

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
        return [other for storage in storages(node) for other in self._storages[storage]]

    def _outer(self, node: fx.Node) -> list[fx.Node]:
        """The nodes among the `_shared` ones that are inputs or constants."""
        return [other for other in self._shared(node) if other.op != "call_function"]

    def _rebind(self, shared: Sequence[fx.Node], before: Node, result: Node) -> None:
        for other in shared:
            if self._values.get(other) is before:
                self._values[other] = result

    def _results(self, node: fx.Node) -> tuple[Any, ...]:
        """The program's results, which may not be nested."""
        given = node.args[0]
        every = given if isinstance(given, Sequence) else (given,)
        self._lies = tuple(lying(each) if isinstance(each, fx.Node) else None for each in every)
        results = []
        for each in every:
            value = self._values[each] if isinstance(each, fx.Node) else each
            if isinstance(value, _Unheld):
                raise GraphError("a result is complex.")
            if not isinstance(value, Node | bool | int | float | None):
                raise GraphError("the results are nested.")
            shared = isinstance(value, Node) and self._is_view(each, value)
            results.append(self._shown(each) if shared else value)
        return tuple(results)

    def _shown(self, view: fx.Node) -> Node:
        """A result that is a view of an input, which torch makes, as the caller may change both."""
        outer, current = self._current(view)
        key = chain(views_between(outer, view))
        call = AtenCall(self._build, "view_of_input", {}, types_of(view))
        inputs = [current if source is outer else self._values[source] for source in key.inputs]
        (result,) = self._by_torch(key, call, "the caller sees changes of either", inputs)
        return result

    def _is_view(self, result: fx.Node, value: Node) -> bool:
        """Whether a result shares elements with an input or a constant, and is none itself."""
        same = value in self._inputs or value in self._effects.values()
        return not same and result.op == "call_function" and bool(self._outer(result))


def _as_result(node: fx.Node, results: tuple[Node, ...]) -> Any:
    """The results of a call as torch gives them: one tensor, or several."""
    return results[0] if isinstance(node.meta["val"], torch.Tensor) else results


def _computed(handler: Handler, call: AtenCall, once: bool) -> Result:
    """The nodes of a call, in f32 and rounded once if that is asked for.

    Numbers, which have 32 bits, are computed with so, and functions that are several maps.

    An element along a dimension is a vector of one, and so is what is taken or put there.
    """
    first, x = next(iter(call.arguments.items()), ("", None))
    along = call["dims"] if call["dim"] is None else call["dim"]
    if isinstance(x, Node) and not x.type.rank and along not in (None, []):
        names = (first, "index", "source", "src")
        vectors = {
            name: call.reshape(each, (1,))
            for name, each in call.arguments.items()
            if name in names and isinstance(each, Node) and not each.type.rank
        }
        vector = replace(call, arguments={**call.arguments, **vectors})
        result = _computed(handler, vector, once)
        nodes = (result,) if isinstance(result, Node) else result
        shaped = [*map(call.reshape, nodes, (kind.shape for kind in call.types))]
        return shaped[0] if isinstance(result, Node) else (*shaped,)
    if not once or not is_float(call.type.dtype) or call.type.dtype.itemsize == 4:
        return handler(call)
    f32 = np.dtype(np.float32)
    wide = {
        name: call.build.cast(each, f32)
        if isinstance(each, Node) and each.dtype == call.type.dtype
        else each
        for name, each in call.arguments.items()
    }
    types = tuple(replace(each, dtype=f32) for each in call.types)
    return handler(replace(call, arguments=wide, types=types))
