"""Which nodes of a graph an execution provider computes: parts of it, each of them a segment.

ONNX Runtime replaces the nodes of a part by one node, so a part has no other node on a path between
two of its own, and every result that others read has to be an output of the segment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar, Unpack

from onnx import TypeProto, ValueInfoProto, helper

from morello.base.errors import GraphError, SearchError, SpecError
from morello.graph.frameworks import ONNX_RUNTIME
from morello.graph.graph import Array, Node
from morello.graph.operators import Constant, Foreign, Input
from morello.graph.partition import GraphPartition
from morello.graph.views import VIEWS
from morello.importers.onnx import OnnxProgram, import_model
from morello.models import Segment, compile_partition
from morello.models.compiling import partitioned
from morello.models.schedule import Stage, schedule
from morello.onnx.library import MOST_ARRAYS
from morello.onnx.runtime_graph import RuntimeGraph
from morello.options import GraphOptions

_IR_VERSION = 8

_Given = TypeVar("_Given")
_Made = TypeVar("_Made")


@dataclass(frozen=True)
class Claim:
    """Nodes by their addresses, the segment that computes them, and the names of its tensors."""

    nodes: tuple[int, ...]
    segment: Segment
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


class _PartError(Exception):
    """Why nodes are no part: some of them have to be left, or it is to be cut before one."""

    def __init__(self, left: Iterable[int] = (), cut: int | None = None) -> None:
        super().__init__()
        self.left = frozenset(left)
        self.cuts = frozenset() if cut is None else {cut}


def _halved(part: Sequence[int]) -> _PartError:
    """An error for a part in which something is wrong, and what it is has to be found."""
    return _PartError(part) if len(part) == 1 else _PartError(cut=part[len(part) // 2])


@dataclass(frozen=True)
class _Draft:
    """A part, by the numbers of its nodes, as a program."""

    part: tuple[int, ...]
    program: OnnxProgram
    partition: GraphPartition


def claims(graph: RuntimeGraph, **options: Unpack[GraphOptions]) -> tuple[Claim, ...]:
    """The parts of a graph that kernels compute, as few as can be.

    The options are those of `compile_graph`. Raises `MorelloError`.
    """
    return _Claiming(graph, options).claims()


class _Claiming:
    """The nodes of a graph that are left to ONNX Runtime so far, and parts of the others."""

    def __init__(self, graph: RuntimeGraph, options: GraphOptions) -> None:
        self._graph, self._options = graph, options
        self._left = {n for n, node in enumerate(graph.nodes) if not node.plain}
        self._cuts: set[int] = set()
        self._writers = {
            name: n for n, node in enumerate(graph.nodes) for name in node.proto.output if name
        }
        self._readers: dict[str, set[int]] = {}
        for n, node in enumerate(graph.nodes):
            for name in (*node.proto.input, *node.captured):
                self._readers.setdefault(name, set()).add(n)
        self._copies: dict[str, Array] = {}
        self._drafts: dict[tuple[int, ...], _Draft] = {}
        self._claims: dict[tuple[int, ...], Claim] = {}

    def claims(self) -> tuple[Claim, ...]:
        """The claims of a graph: all parts are made again as long as one of them is refused."""
        while True:
            before = len(self._left), len(self._cuts)
            parts = [*self._parts()]
            drafts = [draft for part in parts if (draft := self._attempt(self._draft, part))]
            if (len(self._left), len(self._cuts)) != before:
                continue
            claims = [claim for each in drafts if (claim := self._attempt(self._compiled, each))]
            if (len(self._left), len(self._cuts)) == before:
                return tuple(claims)

    def _attempt(self, make: Callable[[_Given], _Made], given: _Given) -> _Made | None:
        """The result of `make`; None if it refuses nodes, which are left from then on."""
        try:
            return make(given)
        except _PartError as error:
            self._left |= error.left
            self._cuts = set() if error.left else self._cuts | error.cuts
            return None

    def _parts(self) -> Iterator[tuple[int, ...]]:
        """The nodes that are not left: each part has all that can run after the one before it,
        unless it is cut.
        """
        waiting = [*range(len(self._graph.nodes))]
        done: set[int] = set()
        while waiting:
            ready = self._ready(waiting, done, left=False)
            places = [k for k, n in enumerate(ready) if n in self._cuts]
            for first, end in pairwise([0, *places, len(ready)]):
                if first < end:
                    yield ready[first:end]
            self._ready(waiting, done, left=True)
            waiting = [n for n in waiting if n not in done]

    def _ready(self, waiting: Sequence[int], done: set[int], *, left: bool) -> tuple[int, ...]:
        """The nodes of a kind that can run, one after the other; they are then done."""
        ready = []
        for n in waiting:
            if (n in self._left) == left and done.issuperset(self._needs(n)):
                ready.append(n)
                done.add(n)
        return tuple(ready)

    def _needs(self, n: int) -> list[int]:
        node = self._graph.nodes[n]
        return [
            self._writers[name]
            for name in (*node.proto.input, *node.captured)
            if name in self._writers
        ]

    def _draft(self, part: tuple[int, ...]) -> _Draft:
        """The program of a part, all of which kernels may compute."""
        if part not in self._drafts:
            program = self._program(part)
            partition = partitioned(program.graph, **self._options)
            self._check(part, program, partition, schedule(partition))
            self._drafts[part] = _Draft(part, program, partition)
        return self._drafts[part]

    def _program(self, part: tuple[int, ...]) -> OnnxProgram:
        """The nodes of a part as a program, which has nothing that ONNX Runtime has to compute."""
        inside, graph = set(part), self._graph
        nodes = [graph.nodes[n].proto for n in part]
        own = dict.fromkeys(name for node in nodes for name in node.output if name)
        read = dict.fromkeys(name for node in nodes for name in node.input if name)
        outside = [name for name in read if name not in own and name not in graph.constants]
        if unknown := {name for name in outside if name not in graph.types}:
            raise _PartError(n for name in unknown for n in self._readers[name] & inside)
        infos = [
            helper.make_tensor_value_info(
                name, helper.np_dtype_to_tensor_dtype(kind.dtype), kind.shape
            )
            for name in outside
            for kind in [graph.types[name]]
        ]
        outputs = [
            ValueInfoProto(name=name, type=TypeProto())
            for name in own
            if self._is_read(name, inside)
        ]
        constants = {name: self._copy(name) for name in read if name in graph.constants}
        model = helper.make_model(
            helper.make_graph(nodes, "part", infos, outputs),
            opset_imports=graph.versions,
            ir_version=_IR_VERSION,
        )
        try:
            program = import_model(model, constants=constants)
        except GraphError:
            raise _halved(part) from None
        foreign = {
            self._writers[name]
            for name, node in program.values.items()
            if isinstance(node.operator, Foreign)
        }
        foreign |= {self._writers[name] for node in program.rest for name in node.output if name}
        if foreign:
            raise _PartError(foreign)
        return program

    def _is_read(self, name: str, inside: set[int]) -> bool:
        """Whether nodes outside of a part, or the caller, read a value of it."""
        return name in self._graph.outputs or bool(self._readers.get(name, set()) - inside)

    def _copy(self, name: str) -> Array:
        """A constant in memory of its own, as that of ONNX Runtime is released."""
        if name not in self._copies:
            self._copies[name] = self._graph.constants[name].copy()
        return self._copies[name]

    def _check(
        self,
        part: tuple[int, ...],
        program: OnnxProgram,
        partition: GraphPartition,
        steps: Sequence[Stage | Segment | Node],
    ) -> None:
        """Raise `_PartError` unless kernels compute all of a part, and each of its outputs once."""
        if not partition.groups:  # it only moves elements
            raise _PartError(part)
        left = {step for step in steps if isinstance(step, Node)}
        known: set[Node] = set()
        wrong = set()
        for name, node in zip(program.outputs, partition.graph.outputs, strict=True):
            if node in left or node in known or isinstance(node.operator, Constant | Input):
                wrong.add(self._writers[name])
            known.add(node)
        if left and not wrong:
            # what reads them may be a view of them, once they are stored
            first = {node for node in left if not left.intersection(node.inputs)}
            own = {name for name, node in program.values.items() if node in first}
            wrong = {self._writers[name] for name in own & self._writers.keys()}
        if left and not wrong:  # what is left is none of the model's nodes, but made of these
            wrong = {n for n in part if not self._is_computed(n)}
        if wrong:
            raise _PartError(wrong)
        if left:
            raise _halved(part)

    def _is_computed(self, n: int) -> bool:
        """Whether kernels compute a node by itself, or it may be a view of what they compute."""
        try:
            steps = schedule(partitioned(self._program((n,)).graph, **self._options))
        except _PartError:
            return False
        return all(isinstance(step, Stage) or isinstance(step.operator, VIEWS) for step in steps)

    def _compiled(self, draft: _Draft) -> Claim:
        """The claim of a part; the search may find no kernel for what should have one."""
        if draft.part not in self._claims:
            asked: GraphOptions = {"fuse_seconds": None, **self._options}
            try:
                compiled = compile_partition(draft.partition, ONNX_RUNTIME, **asked)
            except (SearchError, SpecError):
                raise _halved(draft.part) from None
            self._check(draft.part, draft.program, compiled.partition, compiled.steps)
            (segment,) = compiled.segments
            if len(segment.inputs) + len(segment.outputs) >= MOST_ARRAYS:
                raise _halved(draft.part)
            names = dict(zip(compiled.graph.inputs, draft.program.inputs, strict=True))
            outputs = dict(zip(compiled.graph.outputs, draft.program.outputs, strict=True))
            self._claims[draft.part] = Claim(
                tuple(self._graph.nodes[n].address for n in draft.part),
                segment,
                tuple(names[node] for node in segment.inputs),
                tuple(outputs[node] for node in segment.outputs),
            )
        return self._claims[draft.part]
