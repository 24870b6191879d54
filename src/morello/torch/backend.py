"""The backend of torch.compile: graphs that are compiled for each shape that comes."""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, cast

import torch
import torch._dynamo.config
from torch import fx

from morello.base.errors import FallbackWarning, GraphError, MorelloError, SearchError
from morello.importers.aten import changed_inputs
from morello.importers.aten_calls import type_of
from morello.importers.aten_trace import changed_by
from morello.models.reporting import ProgramReport
from morello.options import OPTION_ERRORS, GraphOptions, check_known
from morello.torch.checking import Expected
from morello.torch.gradients import needs_gradients, results_without
from morello.torch.numbers import (
    Numbers,
    as_number,
    number_results,
    numbers_of,
    plain_numbers,
    sizes_of_tensors,
    unfit,
)
from morello.torch.parts import cut
from morello.torch.program import TorchProgram, program_of
from morello.torch.tracing import traced
from morello.torch.weights import ConstantWeights, extent, is_weight

MOST_SHAPES = 8
"""For how many shapes one graph is compiled; torch runs it for others."""

MOST_CHANGES = 3
"""How often a graph is compiled again for other weights; then they are inputs, not constants."""

_KEPT = 100
"""The graphs that a report is about: the last ones."""


def _allow_recurrent_layers() -> None:
    """Let torch give backends functions that call nn.LSTM, which by default it does not.

    Settings may be those of one thread, so the default changes as well, where torch has one.
    """
    settings = torch._dynamo.config
    settings.allow_rnn = True
    entry: Any = getattr(settings, "_config", {}).get("allow_rnn")
    if hasattr(entry, "default"):
        entry.default = True


_allow_recurrent_layers()

Key = tuple[int | float, ...]
"""The numbers among the arguments that a program is for."""


@dataclass
class GraphReport:
    """How one graph of torch.compile was compiled, for each shape."""

    parts: tuple[GraphReport, ...] = ()
    """The reports of its compiled parts, which run for all shapes but those of the programs."""
    by_torch: str = ""
    """Why torch runs it, or the rest of it beside the parts; empty if it does not."""
    _programs: dict[Key, ProgramReport | Callable[[], ProgramReport]] = field(default_factory=dict)

    @property
    def programs(self) -> dict[Key, ProgramReport]:
        """The reports, by sizes that change from call to call and numbers that are constants."""
        reports = {key: each() if callable(each) else each for key, each in self._programs.items()}
        self._programs |= reports
        return reports

    def add(self, key: Key, make: Callable[[], ProgramReport]) -> None:
        """Add a program, whose report is made when it is asked for."""
        self._programs[key] = make

    def __str__(self) -> str:
        lines = [str(each) for each in (*self.programs.values(), *self.parts)]
        if self.by_torch:
            lines.append(
                f"  run by torch{' for other shapes' if self.programs else ''}: {self.by_torch}"
            )
        return "\n".join(lines or ["  not called yet"])


@dataclass(frozen=True)
class TorchReport:
    """How the last graphs were compiled, the oldest first."""

    graphs: tuple[GraphReport, ...]

    def __str__(self) -> str:
        return "\n".join(f"graph {n}:\n{graph}" for n, graph in enumerate(self.graphs, start=1))


_reports: deque[GraphReport] = deque(maxlen=_KEPT)


def report() -> TorchReport:
    """A report of the graphs that torch.compile gave to the backend: their kernels, and the
    nodes that were left to torch, with reasons.
    """
    return TorchReport(tuple(_reports))


def backend(
    module: fx.GraphModule,
    inputs: Sequence[Any],
    *,
    options: Mapping[str, Any] | None = None,
    mode: str | None = None,
) -> Callable[..., Any]:
    """torch.compile(model, backend="morello", options=...), with the options of `compile`, and
    `fuse_seconds` and `winograd` (see `compile_graph`).

    A graph is compiled when it is first called, for the shapes it is called with; parameters and
    buffers are then constants, packed once. Kernels run on torch's threads. What kernels cannot do
    is left to torch; so is a graph that needs gradients. Raises `SearchError` for unknown options.
    """
    check_known(options or {}, GraphOptions.__annotations__)
    if mode is not None:
        raise SearchError(f"there is no mode {mode}", "leave it out; there are options")
    graph = _Graph(module, cast(GraphOptions, dict(options or {})), torch.is_grad_enabled())
    if needs_gradients(module, inputs):
        graph.report.by_torch = "it needs gradients; call it under torch.no_grad()"
    _reports.append(graph.report)
    return graph


@dataclass(frozen=True)
class _Compiled:
    """A program, which of the arguments it takes, and the weights it was made with."""

    program: TorchProgram
    inputs: tuple[int, ...]
    numbers: Numbers
    """Its scalar operands, which follow these arguments."""
    changed: tuple[int, ...]
    """The numbers of those arguments that it changes."""
    weights: ConstantWeights

    def takes(self, arguments: Sequence[Any]) -> bool:
        """Whether no argument has elements in common with one that is changed.

        Steps are ordered by which argument they read, not by where it lies.
        """
        return not any(
            other != number and _overlap(arguments[other], arguments[number])
            for number in self.changed
            for other in self.inputs
        )

    def __call__(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        inputs = [arguments[number] for number in self.inputs]
        return self.program(inputs + self.numbers(arguments) if self.numbers.given else inputs)


class _Graph:
    """A graph, called as torch calls it, with its programs by the sizes that change."""

    def __init__(self, module: fx.GraphModule, options: GraphOptions, tracked: bool) -> None:
        """Where it is called, operations are `tracked` for gradients, though no result has one."""
        self.report = GraphReport()
        self._module, self._options, self._tracked = module, options, tracked
        self._plain, self._numbers = plain_numbers(module)
        self._plain, self._counted = number_results(self._plain)
        self._without = results_without(module)
        self._free: frozenset[int] = frozenset()
        """The numbers among the arguments that are inputs of programs."""
        self._keyed: tuple[int, ...] | None = None
        """The others, once it was called."""
        self._programs: dict[Key, _Compiled] = {}
        self._uncompared: set[Key] = set()
        """The keys of programs that were not compared with torch yet."""
        self._changes = 0
        self._rest: Callable[..., Any] = module
        """Runs calls for which there is no program: torch's module, or one with compiled parts."""
        self._lock = Lock()

    def __call__(self, *arguments: Any) -> Any:
        key = self._key(arguments)
        compiled = self._current(key, arguments)
        if compiled is None and (key in self._programs or not self.report.by_torch):
            with self._lock:
                key = self._key(arguments)
                compiled = self._current(key, arguments) or self._compile(arguments)
        if compiled is None or not compiled.takes(arguments):
            return self._rest(*arguments)
        if key in self._uncompared:
            return self._first(key, compiled, arguments)
        return self._results(compiled, arguments)

    def _results(self, compiled: _Compiled, arguments: Sequence[Any]) -> tuple[Any, ...]:
        if self._tracked:
            with torch.no_grad():
                results = compiled(arguments)
        else:
            results = compiled(arguments)
        if self._counted:
            results = self._counted.among(results, arguments)
        inputs = {n for n in self._without if results[n].requires_grad}
        if inputs:  # of which these are detached
            results = tuple(r.detach() if n in inputs else r for n, r in enumerate(results))
        return results

    @torch.compiler.disable  # type: ignore[untyped-decorator]  # torch is untyped here
    def _first(self, key: Key, compiled: _Compiled, arguments: Sequence[Any]) -> Any:
        """The results of the first call of a program; torch's if they are others, from then on."""
        expected = Expected(self._module, arguments, compiled.changed)
        try:
            results = self._results(compiled, arguments)
            why = expected.mistake(compiled.program, results, arguments)
        except Exception as problem:  # a mistake of this package is no reason for a model to fail
            why = repr(problem)
        self._uncompared.discard(key)
        if not why:
            return results
        expected.restore(arguments)
        self._programs.pop(key, None)
        self.report.by_torch = f"its program does not do what PyTorch does: {why}"
        _warn(f"as {self.report.by_torch}")
        return expected.results

    def _key(self, arguments: Sequence[Any]) -> Key:
        if self._keyed is None:
            self._keyed = self._every_number(arguments)
        return tuple([as_number(arguments[n]) for n in self._keyed])

    def _every_number(self, arguments: Sequence[Any]) -> tuple[int, ...]:
        return tuple(
            n
            for n, each in enumerate(arguments)
            if isinstance(each, int | float) or n in self._numbers
        )

    def _current(self, key: Key, arguments: Sequence[Any]) -> _Compiled | None:
        """The program for these numbers, if there is one and its weights are as they were."""
        compiled = self._programs.get(key)
        if compiled and compiled.weights.unchanged(arguments):
            return compiled
        return None

    @torch.compiler.disable  # type: ignore[untyped-decorator]  # torch is untyped here
    def _compile(self, arguments: Sequence[Any]) -> _Compiled | None:
        """A program for these arguments; None, with the reason in the report, if torch runs it."""
        if not self._programs and not self.report.by_torch:
            every = self._every_number(arguments)
            self._free = self._independent(every, arguments) if every else frozenset()
            self._keyed = tuple(n for n in every if n not in self._free)
        key = self._key(arguments)
        if key in self._programs:
            self._changes += 1
        elif self.report.by_torch or (_has_sizes(key) and self._divided(arguments)):
            return None
        elif len(self._programs) == MOST_SHAPES:
            self.report.by_torch = f"it is compiled for {MOST_SHAPES} shapes already"
            _warn(f"for other shapes, as {self.report.by_torch}")
            return None
        try:
            compiled = self._new(arguments, stable=self._changes <= MOST_CHANGES)
        except MorelloError as error:
            self.report.by_torch = str(error).rstrip(".")
            if isinstance(error, OPTION_ERRORS):
                _warn(f"as {error}")
            return None
        except Exception as error:  # a mistake of this package is no reason for a model to fail
            self.report.by_torch = f"the compiler failed with {error!r}"
            return None
        self._uncompared.add(key)
        self._programs[key] = compiled
        self.report.add(key, compiled.program.report_later())
        return compiled

    def _independent(self, every: Sequence[int], arguments: Sequence[Any]) -> frozenset[int]:
        """The numbers among `every` that only take part in arithmetic."""
        free = {*every} - sizes_of_tensors(self._module)
        while free:
            try:
                trace = self._trace(arguments, free)
            except MorelloError:  # as what is traced depends on one of them
                return frozenset()
            places = [node for node in trace.graph.nodes if node.op == "placeholder"]
            names = dict(zip(places[-len(free) :], sorted(free), strict=True))
            bad = unfit(trace)
            if not bad:
                break
            free -= {names[node] for node in bad}
        return frozenset(free)

    def _divided(self, arguments: Sequence[Any]) -> bool:
        """Whether its parts are compiled instead from now on, as far as they read weights.

        They are if other sizes than those of what reads weights change; or, those of fixed sizes,
        once there are programs for enough sizes.
        """
        enough = len(self._programs) == MOST_SHAPES
        if self._programs and not enough:
            return False
        given = zip(self._module.graph.find_nodes(op="placeholder"), arguments, strict=True)
        weights = {place.name for place, a in given if isinstance(a, torch.nn.Parameter)}
        try:
            parts = cut(self._module, weights, enough)
            if parts is None or any(map(changed_by, self._trace(arguments).graph.nodes)):
                return False
            graphs = [_Graph(part, self._options, tracked=False) for part in parts.compiled]
            run = parts.with_runs(graphs)
            self._rest = torch.no_grad()(run) if self._tracked else run
        except Exception:  # a mistake of this package is no reason for a model to fail
            return False
        self.report.parts = tuple(graph.report for graph in graphs)
        self.report.by_torch = f"what depends on sizes that change: {', '.join(parts.by_torch)}"
        return True

    def _trace(
        self, arguments: Sequence[Any], free: Collection[int] = frozenset()
    ) -> fx.GraphModule:
        """The operations for these arguments; its last placeholders are numbers that are free."""
        numbers = {n: as_number(arguments[n]) for n in self._numbers}
        plain = [numbers.get(n, each) for n, each in enumerate(arguments)]
        return traced(self._plain, plain, free)

    def _new(self, arguments: Sequence[Any], stable: bool) -> _Compiled:
        tensors = [
            n
            for n, each in enumerate(arguments)
            if isinstance(each, torch.Tensor) and n not in self._numbers
        ]
        for number in tensors:
            type_of(arguments[number])
        trace = self._trace(arguments, self._free)
        places = [node.name for node in trace.graph.nodes if node.op == "placeholder"]
        names = dict(zip((*tensors, *sorted(self._free)), places, strict=True))
        changed = changed_inputs(trace)
        written = [arguments[n] for n in tensors if names[n] in changed]
        if self._tracked and any(each.requires_grad for each in written):
            raise GraphError("it changes a tensor that needs a gradient")
        fixed = {
            n
            for n in tensors
            if stable
            and is_weight(arguments[n])
            and not any(_overlap(arguments[n], each) for each in written)
        }
        program = program_of(trace, {names[n]: arguments[n] for n in fixed}, self._options)
        aten = program.imported
        numbers = numbers_of(trace, {names[n]: n for n in self._free}, aten.inputs)
        given = {n: arguments[n] for n in fixed}
        others = [t for t in aten.tensors.values() if all(t is not each for each in given.values())]
        inputs = tuple(n for n in tensors if n not in fixed)
        written_inputs = tuple(n for n in inputs if names[n] in changed)
        return _Compiled(program, inputs, numbers, written_inputs, ConstantWeights(given, others))


def _warn(why: str) -> None:
    warnings.warn(f"a graph is left to PyTorch {why.rstrip('.')}.", FallbackWarning, stacklevel=3)


def _has_sizes(key: Key) -> bool:
    return any(isinstance(each, int) for each in key)


def _overlap(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether the memory between the first and the last element of each has a part in common."""
    if a.untyped_storage()._cdata != b.untyped_storage()._cdata:
        return False
    (first, end), (other_first, other_end) = extent(a), extent(b)
    return first < other_end and other_first < end
