"""From StableHLO, which JAX lowers functions to, to graphs.

Functions that are called become part of the graph, and so do the iterations of loops whose number
is known, and branches that constants choose, or that are of a few operations. What no rule
understands becomes a `Foreign` node, whose key is a `StableOperation`; its inputs are the operands,
then the values from outside that its regions read. Regions of other loops and branches are graphs
of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jax.interpreters.mlir import make_ir_context
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from morello.base.errors import GraphError
from morello.base.workers import CrashError, Worker
from morello.graph.graph import Graph, Node, TensorType, apply, in_order
from morello.graph.operators import Constant, Foreign, Input, Iota, Where
from morello.graph.patterns.matching import constant, mapped
from morello.graph.views import VIEWS
from morello.importers.eight_bits import any_in_8_bits
from morello.importers.mlir import captured, type_of
from morello.importers.recurrent import MOST_LOOP_STEPS
from morello.importers.stablehlo_rules import RULES, known
from morello.importers.stablehlo_taking import TAKING_RULES
from morello.importers.stablehlo_windows import WINDOW_RULES

MOST_NODES = 100_000
"""The most operations of a program; one whose functions call others many times has more."""

MOST_IN_BRANCHES = 64
"""The most operations in branches that are all computed, where which one is taken is not known."""

DEEPEST = 200
"""How deep functions may call others."""

SECONDS = 60.0
"""How long reading an artifact may take."""

_MAGIC = b"ML\xefR"
"""The first bytes of artifacts."""

NOTHING: Mapping[Any, Node] = {}

_RULES = {**RULES, **TAKING_RULES, **WINDOW_RULES}

_CALLS = {"func.call": "callee", "stablehlo.composite": "decomposition"}
"""Operations that call a function, and the attribute that names it."""

_LOOP = "stablehlo.while"

_CONTROL = (_LOOP, "stablehlo.case", "stablehlo.if")
"""Operations whose regions are parts of the program."""

_WRITING = ("stablehlo.dynamic_update_slice", "stablehlo.scatter")
"""Operations that change a part of their first operand."""


@dataclass(frozen=True, eq=False)
class StableOperation:
    """An operation of a module, which it keeps: MLIR's operations end with their modules.

    If it is a loop, or branches, and the `regions` are graphs, it has them. Their inputs are the
    arguments of the region, then the values from outside that the operation reads.
    """

    operation: Any
    module: Any
    regions: tuple[Graph, ...] = ()

    @property
    def name(self) -> str:
        """The name of the operation, without that of its dialect."""
        return str(self.operation.name.rpartition(".")[2])

    @property
    def reason(self) -> str:
        """Why it is no operator of a graph."""
        attributes = self.operation.attributes
        if "call_target_name" in attributes:  # as of what JAX takes from LAPACK
            return f"it calls {attributes['call_target_name'].value}"
        every = [*self.operation.operands, *self.operation.results]
        if any("complex<" in str(value.type) for value in every):
            return "it has complex numbers"
        return "no operator computes it"


def read(path: Path) -> Graph:
    """The graph of a file of StableHLO: text, or a portable artifact."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise GraphError(f"{path} cannot be read: {error.strerror}.") from None
    return from_module(parse(data))


def parse(data: bytes) -> Any:
    """The module that is written as text or as a portable artifact; raises `GraphError`.

    Artifacts are read in a process of their own: damaged ones may crash MLIR.
    """
    if data.startswith(_MAGIC):
        try:
            with Worker() as worker:
                data = worker.run(_as_text, data, seconds=SECONDS)
        except CrashError as error:
            raise GraphError(f"this is no valid StableHLO: what read it crashed: {error}") from None
    return _read(lambda context: ir.Module.parse(data.decode(), context))


def _as_text(artifact: bytes) -> bytes:
    module = _read(lambda context: stablehlo.deserialize_portable_artifact(context, artifact))
    return str(module).encode()


def _read(reader: Callable[[Any], Any]) -> Any:
    """The result of a reader in a new context; its errors are raised as `GraphError`."""
    try:
        return reader(make_ir_context())
    except (ir.MLIRError, MemoryError, UnicodeDecodeError, ValueError) as error:
        lines = str(error).splitlines()
        raise GraphError(f"this is no valid StableHLO: {' '.join(lines[:2])}") from None


def from_module(module: Any, donated: Collection[int] = ()) -> Graph:
    """The graph of the function `main` of a module; raises `GraphError` if there is none.

    The shapes must be fixed, and all values tensors; operations may have no side effects. What is
    written to a part of arguments whose numbers are `donated` is left, as XLA does so in place.
    """
    functions = {}
    for operation in module.body.operations:
        if operation.operation.name == "func.func":
            functions[operation.name.value] = operation
    main = functions.get("main") or (
        next(iter(functions.values())) if len(functions) == 1 else None
    )
    if main is None:
        raise GraphError(f"the module has no function main, only {', '.join(functions) or 'none'}.")
    block = _body("main", main)
    inputs = tuple(
        apply(Input(type_of(value), f"arg{number}")) for number, value in enumerate(block.arguments)
    )
    with module.context:
        reading = _Reading(module, functions, (inputs[number] for number in donated))
        return Graph(inputs, reading.call("main", block, inputs))


class _Reading:
    """The nodes of the values of a module; XLA may write to the arrays that it owns."""

    def __init__(self, module: Any, functions: dict[str, Any], owned: Iterable[Node]) -> None:
        self._module = module
        self._functions = functions
        self._active: list[str] = []
        self._owned = {*owned}
        self._nodes = 0

    def call(
        self, name: str, block: Any, inputs: Sequence[Node], outside: Mapping[Any, Node] = NOTHING
    ) -> tuple[Node, ...]:
        """The results of a function, or of any block that ends with a return.

        A block within an operation may read values from outside.
        """
        values = {**outside, **dict(zip(block.arguments, inputs, strict=True))}
        self._active.append(name)
        for view in block.operations:
            operation = view.operation
            if operation.name in ("func.return", "stablehlo.return"):
                self._active.pop()
                return tuple(values[value] for value in operation.operands)
            values.update(zip(operation.results, self._results(operation, values), strict=True))
        raise GraphError(f"the function {name} returns nothing.")

    def _results(self, operation: Any, values: dict[Any, Node]) -> tuple[Node, ...]:
        self._nodes += 1
        if self._nodes > MOST_NODES:
            raise GraphError(f"the program has more than {MOST_NODES:,} operations.")
        inputs = [values[value] for value in operation.operands]
        if operation.name in _CALLS:
            return self._called(operation.attributes[_CALLS[operation.name]].value, inputs)
        types = [type_of(result) for result in operation.results]
        results = self._inlined(operation, inputs, values)
        in_place = operation.name in _WRITING and inputs[0] in self._owned
        if results is None and not in_place:
            results = _understood(operation, inputs, types)
        if results is not None:
            return results
        key = StableOperation(operation, self._module, self._regions(operation))
        results = _foreign(key, [*inputs, *(values[v] for v in captured(operation))], types)
        if in_place:
            self._owned.update(results)
        return results

    def _inlined(
        self, operation: Any, inputs: Sequence[Node], values: Mapping[Any, Node]
    ) -> tuple[Node, ...] | None:
        """The results of a loop or of branches as nodes of this graph; None if there are none."""
        if operation.name not in _CONTROL:
            return None
        inline = self._steps if operation.name == _LOOP else self._branches
        before, active = self._nodes, [*self._active]
        with suppress(GraphError):  # what is inside is no graph, or it is too large a one
            results = inline(operation, inputs, values)
            if results is not None:
                return results
        self._nodes, self._active = before, active
        return None

    def _regions(self, operation: Any) -> tuple[Graph, ...]:
        """The regions of a loop or of branches; none if one of them is no graph."""
        if operation.name not in _CONTROL:
            return ()
        before, active = self._nodes, [*self._active]
        try:
            blocks = (region.blocks[0] for region in operation.regions)
            return tuple(self._region(operation, block) for block in blocks)
        except GraphError:
            self._nodes, self._active = before, active
            return ()

    def _region(self, operation: Any, block: Any) -> Graph:
        outside, count = captured(operation), len(block.arguments)
        inputs = tuple(apply(Input(type_of(value))) for value in (*block.arguments, *outside))
        self._owned.update(inputs[:count])
        values = dict(zip(outside, inputs[count:], strict=True))
        return Graph(inputs, self.call(operation.name, block, inputs[:count], values))

    def _steps(
        self, operation: Any, inputs: Sequence[Node], values: Mapping[Any, Node]
    ) -> tuple[Node, ...] | None:
        """The results of a loop, as its steps one after the other.

        None unless constants alone decide how many there are, they are few, and operators do all of
        them.
        """
        condition, body = (region.blocks[0] for region in operation.regions)
        state = (*inputs,)
        for number in range(MOST_LOOP_STEPS + 1):
            (goes_on,) = self.call(operation.name, condition, state, values)
            decided = known(goes_on)
            if decided is None:
                break
            if not decided:
                return None if _is_left(state, inputs) else state
            state = self.call(operation.name, body, state, values)
            state = (*map(_settled, state),)
            if number == 0 and _is_left(state, inputs):
                return None
        return None

    def _branches(
        self, operation: Any, inputs: Sequence[Node], values: Mapping[Any, Node]
    ) -> tuple[Node, ...] | None:
        """The results of the branch that a constant chooses, or a choice among those of all.

        None if the index is computed, and not all branches are a few operations of elements.
        """
        (index,), blocks = inputs, [region.blocks[0] for region in operation.regions]
        chosen = known(index)
        if chosen is not None:
            number = int(chosen) if operation.name == "stablehlo.case" else int(not chosen)
            block = blocks[number] if 0 <= number < len(blocks) else blocks[-1]
            return self.call(operation.name, block, (), values)
        every = [self.call(operation.name, block, (), values) for block in blocks]
        given = [values[value] for value in captured(operation)]
        between = _between([node for results in every for node in results], given)
        few = len(between) <= MOST_IN_BRANCHES
        return _chosen(index, every) if few and all(map(_is_of_elements, between)) else None

    def _called(self, name: str, inputs: Sequence[Node]) -> tuple[Node, ...]:
        if name in self._active:
            raise GraphError(f"the function {name} calls itself; no graph holds that.")
        if len(self._active) == DEEPEST:
            raise GraphError(f"the functions call others more than {DEEPEST} deep.")
        if name not in self._functions:
            raise GraphError(f"the module has no function {name}.")
        return self.call(name, _body(name, self._functions[name]), inputs)


def _between(results: Sequence[Node], inputs: Sequence[Node]) -> list[Node]:
    """The nodes that results need, without those that inputs need."""
    before = {*in_order(inputs)}
    return [node for node in in_order(results) if node not in before]


def _is_left(results: Sequence[Node], inputs: Sequence[Node]) -> bool:
    """Whether what results need beside inputs is in part unknown to operators."""
    return any(isinstance(node.operator, Foreign) for node in _between(results, inputs))


def _is_of_elements(node: Node) -> bool:
    """Whether a node computes or moves elements one by one, or is known."""
    operator = node.operator
    return operator.elementwise or isinstance(operator, (Constant, Iota, *VIEWS))


def _chosen(index: Node, every: Sequence[tuple[Node, ...]]) -> tuple[Node, ...]:
    """The results of one branch of several: the first if `index` is true, or that of its number."""
    *others, results = every
    for number, those in reversed([*enumerate(others)]):
        hit = (
            index if index.dtype == bool else mapped("equal", index, constant(number, index.dtype))
        )
        results = tuple(apply(Where(), hit, *pair) for pair in zip(those, results, strict=True))
    return results


def _settled(node: Node) -> Node:
    """A number that only constants decide, as such; other nodes are themselves."""
    counts = node.type.size == 1 and node.dtype.kind in "iu"
    value = known(node) if counts else None
    return node if value is None else apply(Constant(value.astype(node.dtype)))


def _body(name: str, function: Any) -> Any:
    blocks = [*function.regions[0].blocks]
    if len(blocks) != 1:
        raise GraphError(f"the function {name} has no body of one block.")
    return blocks[0]


def _understood(
    operation: Any, inputs: Sequence[Node], types: Sequence[TensorType]
) -> tuple[Node, ...] | None:
    """The results by the rule for an operation; None if there is none that fits."""
    rule = _RULES.get(operation.name)
    every = [*types, *(node.type for node in inputs)]
    if rule is None or any(each.dtype.kind == "c" for each in every) or any_in_8_bits(every):
        return None
    try:
        results = rule(operation, *inputs)
    except GraphError:
        return None
    if results is None or [node.type for node in results] != types:
        return None
    return results


def _foreign(
    key: StableOperation, inputs: Sequence[Node], types: Sequence[TensorType]
) -> tuple[Node, ...]:
    effects = key.operation.attributes
    if "has_side_effect" in effects and effects["has_side_effect"].value:
        raise GraphError(f"{key.operation.name} has side effects; no graph holds that.")
    name = key.operation.name.rpartition(".")[2]
    return tuple(
        apply(Foreign(kind, key, name, index), *inputs) for index, kind in enumerate(types)
    )
