"""Compiled graphs, run on torch's tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import fx

from morello.base.errors import GraphError
from morello.graph.frameworks import TORCH
from morello.graph.graph import Node
from morello.graph.operators import Constant, Foreign
from morello.graph.views import VIEWS, shown
from morello.importers.aten import ImportedAten, imported
from morello.importers.aten_calls import TORCH_DTYPES, tensor_of
from morello.importers.aten_trace import Lying, TorchChain, memory_of
from morello.models import CompiledGraph, Segment, compile_graph
from morello.models.checking import tolerance_of
from morello.models.reporting import ProgramReport, note_of, report_later
from morello.models.rounding import Change, changes_of
from morello.options import GraphOptions
from morello.torch.laying import Laid, Permuted, Within, laid
from morello.torch.threads import most_threads, torch_threads
from morello.torch.tracing import casts_later
from morello.torch.values import computing

_uncast = torch._C._DisableAutocast
"""A context of operations as they were traced, which have the casts of torch.autocast already."""

Values = list[Any]
"""The tensors of the nodes that are known, by number."""


class TorchProgram:
    """A graph for arguments of certain types, as steps on a list of tensors.

    Raises `GraphError` if the order of the steps is not that of what changes the inputs.
    """

    imported: ImportedAten
    """The program that it was made of."""
    tolerance: float
    """The largest error of the first results that is no mistake; 0 without floats."""

    def __init__(
        self, imported: ImportedAten, results: Sequence[Laid], compiled: CompiledGraph
    ) -> None:
        self.imported, self.tolerance = imported, tolerance_of(compiled.graph)
        self._compiled, self._laid = compiled, results
        self._numbers: dict[Node, int] = {}
        self._constants: dict[int, torch.Tensor] = {}
        self._stored = {node for segment in compiled.segments for node in segment.outputs}
        self._steps: list[Callable[[Values], None]] = []
        for node in imported.graph.inputs:
            self._number(node)
        for step in compiled.steps:
            if isinstance(step, Segment):
                self._steps.append(self._segment(step))
            else:
                self._need(step)
        _check_order(compiled)
        for output in compiled.graph.outputs:
            self._need(output)
        self._first: Values = [None] * len(self._numbers)
        for number, tensor in self._constants.items():
            self._first[number] = tensor
        outputs = iter(compiled.graph.outputs)
        memory = dict(imported.memory)
        self._results = [
            self._result(each, next(outputs), lies, memory)
            if isinstance(each, Node | Permuted)
            else _always(each)
            for each, lies in zip(results, imported.lies, strict=True)
        ]
        self._within = [(n, each) for n, each in enumerate(results) if isinstance(each, Within)]

    def __call__(self, inputs: Sequence[torch.Tensor]) -> tuple[Any, ...]:
        """The results for these inputs."""
        values = [*inputs, *self._first[len(inputs) :]]
        for step in self._steps:
            step(values)
        results = [result(values) for result in self._results]
        for number, within in self._within:
            results[number] = within.of(results[within.number])
        return tuple(results)

    def changes(self) -> list[Change]:
        """How rounding may change each result."""
        outputs = iter(changes_of(self._compiled.graph))
        return [
            next(outputs) if isinstance(each, Node | Permuted) else Change.CHOICE
            for each in self._laid
        ]

    def report_later(self) -> Callable[[], ProgramReport]:
        """A function that makes the report of this program, and holds no reference to it."""
        inputs = tuple(str(node.type) for node in self.imported.graph.inputs)
        left = self.imported.left
        return report_later(self._compiled, inputs, lambda operator: left[operator.name])

    def _result(
        self, laid: Node | Permuted, output: Node, lies: Lying | None, memory: dict[Node, int]
    ) -> Callable[[Values], torch.Tensor]:
        """A function that picks a result from the values of a call, given its output of the graph.

        `memory` has the storages of tensors that the caller holds, by node. The caller may change a
        result, so a constant is copied, and so is one that would lie in another storage in torch.
        It may view it in another shape, so what is without gaps there is so here.
        """
        own = lies.memory if lies is not None else 0
        dense = isinstance(laid, Permuted) or (lies is not None and lies.in_rows)
        number = self._numbers[output]
        base = output if output in self._stored else shown(output)
        known = isinstance(base.operator, Constant) and base not in self.imported.tensors
        key = base.operator.key if isinstance(base.operator, Foreign) else None
        if isinstance(key, TorchChain) and key.changed is not None:
            memory[base] = memory_of(key.changed)
        steps: list[Callable[[torch.Tensor], torch.Tensor]] = []
        if known or memory.setdefault(base, own) != own:
            form = torch.contiguous_format if dense else torch.preserve_format
            steps.append(partial(torch.clone, memory_format=form))
        elif dense and isinstance(output.operator, (Foreign, *VIEWS)):
            steps.append(torch.Tensor.contiguous)
        if isinstance(laid, Permuted):
            steps.append(laid.of)

        def result(values: Values) -> torch.Tensor:
            tensor: torch.Tensor = values[number]
            for step in steps:
                tensor = step(tensor)
            return tensor

        return result

    def _number(self, node: Node) -> int:
        return self._numbers.setdefault(node, len(self._numbers))

    def _need(self, node: Node) -> int:
        """The number of a node, after adding what computes it if nothing does yet."""
        if node in self._numbers:
            return self._numbers[node]
        if isinstance(node.operator, Constant):
            tensor = self.imported.tensors.get(node)
            number = self._number(node)
            self._constants[number] = tensor_of(node.operator.array) if tensor is None else tensor
            return number
        sources = [self._need(source) for source in node.inputs]
        if isinstance(node.operator, Foreign):
            return self._foreign(node, node.operator, sources)
        number, compute = self._number(node), computing(node)

        def step(values: Values) -> None:
            with _uncast():
                values[number] = compute(*[values[source] for source in sources])

        self._steps.append(step)
        return number

    def _foreign(self, node: Node, operator: Foreign, sources: Sequence[int]) -> int:
        """A step for all results of a call, which the key does."""
        key: Any = operator.key
        siblings = {
            other.operator.index: self._number(other)
            for other in (*self._compiled.graph.nodes, node)
            if isinstance(other.operator, Foreign)
            and (other.operator.key, other.inputs) == (key, node.inputs)
        }

        def step(values: Values) -> None:
            tensors = [values[source] for source in sources]
            with _uncast():
                results = key(*tensors)
            every = (results,) if isinstance(results, torch.Tensor) else results
            for index, number in siblings.items():
                values[number] = every[index]

        self._steps.append(step)
        return self._numbers[node]

    def _segment(self, segment: Segment) -> Callable[[Values], None]:
        sources = [self._need(node) for node in segment.inputs]
        outputs = [
            (self._number(node), node.shape, TORCH_DTYPES[node.dtype]) for node in segment.outputs
        ]

        parallel = any(kernel.threads > 1 for kernel in segment.kernels)
        threads = torch_threads() if parallel else None

        def step(values: Values) -> None:
            tensors = [values[source].contiguous().resolve_neg() for source in sources]
            for number, shape, dtype in outputs:
                values[number] = torch.empty(shape, dtype=dtype)
                tensors.append(values[number])
            segment.run([tensor.data_ptr() for tensor in tensors], threads)

        return step


def program_of(
    trace: fx.GraphModule, constants: Mapping[str, torch.Tensor], options: GraphOptions
) -> TorchProgram:
    """A traced program, compiled; some placeholders, by their names, are constants.

    Raises `GraphError` for what torch is to run, and `MorelloError` for wrong options.
    """
    aten = imported(trace, constants)
    if aten.left and casts_later(trace):
        raise GraphError(f"torch.autocast casts for {', '.join(aten.left)}")
    graph, results = laid(aten)
    asked: GraphOptions = {"threads": most_threads(), **options}
    compiled = compile_graph(graph, TORCH, **asked)
    if note := note_of(compiled):
        raise GraphError(note)
    return TorchProgram(aten, results, compiled)


def _always(value: Any) -> Callable[[Values], Any]:
    return lambda _: value


def _check_order(compiled: CompiledGraph) -> None:
    """Raise `GraphError` if a step reads an input as it was before a step that changed it.

    The importer keeps such steps in order, and what rewrites graphs does not know of it.
    """
    changed: set[Node] = set()
    for step in compiled.steps:
        if changed & {shown(node) for node in step.inputs}:
            raise GraphError("an input is read after it changed")
        if isinstance(step, Node) and isinstance(step.operator, Foreign):
            call = step.operator.key
            if isinstance(call, TorchChain) and call.changes is not None:
                changed.add(shown(step.inputs[call.changes]))
