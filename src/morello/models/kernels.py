"""The kernels that stages call: every different Spec is compiled once."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from math import floor, inf, log2

from morello.base.choices import STREAMED
from morello.base.errors import CompileAllError
from morello.graph.operators import Constant
from morello.ir.spec import Spec
from morello.kernel import Kernel
from morello.measure.bounds import least_cycles
from morello.models.schedule import StoredCall
from morello.options import Options
from morello.questions import question
from morello.recall import recall_all
from morello.request.constants import without_constants
from morello.request.goal import target_of
from morello.runtime.threads import thread_count
from morello.search.prepacking import weights_in_place, weights_of
from morello.several import compile_each

MUCH = 0.05
"""A kernel is worth a longer search if it may cost less by this share of the cost of all calls."""

MOSTLY = 0.75
"""The least share of weights in the bytes of a kernel that waits for these."""

FAIR = 0.005
"""The share of all arithmetic operations for which a search has its budget; with twice the share,
it has twice as long.
"""

_Wanted = tuple[Spec, tuple[str, ...], str]
"""A Spec, the names of its operands, and the option `weights`."""


class Kernels:
    """The kernels of calls that were compiled so far, with None for those that have none."""

    def __init__(
        self, options: Options, longer: float = 0.0, evicted: Callable[[], bool] = lambda: False
    ) -> None:
        """The options are those of `morello.compile`; `threads` are the most of a kernel.

        If constants are `evicted` from all caches between calls, kernels that read little else are
        searched for with the costs of streams. It is only asked where there are such kernels.

        With so many seconds `longer`, searches for kernels that have a large part of all arithmetic
        operations may take more than their budget, and up to that. A kernel that turns out to take
        much of the time is searched for again, if its search had been shorter, and had ended far
        from its bound, or without one: it may be several times as slow as the cheapest.
        """
        self.options = options
        self._longer, self._evicted = longer, cache(evicted)
        self.seconds = 0.0
        """How long compiling took so far."""
        self._known: dict[_Wanted, Kernel | None] = {}
        self._again: set[_Wanted] = set()
        """The kernels that were searched for again, for longer."""
        self._operations = 0
        """The arithmetic operations of all calls that were asked for."""
        self._asked: dict[Kernel, tuple[Spec, Options]] = {}
        """The Spec and the options that each kernel was compiled for."""
        self._recalled: list[Kernel] = []

    @property
    def longer(self) -> float:
        """The seconds of a longer search."""
        return self._longer

    @property
    def searches(self) -> float:
        """The seconds of the searches for all kernels, one after the other."""
        known = (kernel for kernel in self._known.values() if kernel)
        kernels = dict.fromkeys((*known, *self._recalled))
        return sum(each.statistics.seconds for each in kernels if each.statistics)

    def __contains__(self, call: StoredCall) -> bool:
        """Whether a call was compiled, or cannot be."""
        return self._wanted(call) in self._known

    def __getitem__(self, call: StoredCall) -> Kernel | None:
        """The kernel of a call that was compiled; None if there is none."""
        return self._known[self._wanted(call)]

    def different(self, calls: Iterable[StoredCall]) -> list[StoredCall]:
        """The calls that were not compiled, one for each kernel."""
        missing = {self._wanted(call): call for call in calls if call not in self}
        return [*missing.values()]

    def cost(self, calls: Iterable[StoredCall]) -> float:
        """The cost of the kernels of compiled calls in cycles; infinite if one has none."""
        kernels = [self[call] for call in calls]
        return sum(kernel.cost if kernel else inf for kernel in kernels)

    def question(self, call: StoredCall) -> str:
        """The question that the kernel of a call answers; raises `KeyError` if it is not kept."""
        kernel = self[call]
        asked = None if kernel is None else question(*self._asked[kernel])
        if asked is None:
            raise KeyError(call)
        return asked

    def recall(self, questions: Sequence[str]) -> list[Kernel] | None:
        """The kernels that were kept for questions; None unless there is one for each."""
        began = time.perf_counter()
        known = recall_all(questions, verify=True)
        if len(known) < len(questions):
            return None
        kernels = [known[each] for each in questions]
        self._recalled += kernels
        self.seconds += time.perf_counter() - began
        return kernels

    def compile(self, calls: Iterable[StoredCall], seconds: float | None = None) -> None:
        """Compile what was not compiled yet; searches have so many seconds, or their budget.

        Kernels that several threads may make faster by more than a parallel loop costs are compiled
        for these, too. Between such kernels, one on a single thread is slower than predicted: it
        reads half of its input from the cache of another core.
        """
        began = time.perf_counter()
        calls = [*calls]
        missing = [*map(self._wanted, self.different(calls))]
        if not self._longer or seconds is not None:
            budget = self.options["budget"] if seconds is None else seconds
            self._compile(dict.fromkeys(missing, budget))
        else:
            budgets = self._budgets(calls)
            self._again |= {each for each in missing if budgets[each] == self._longer}
            self._compile({each: budgets[each] for each in missing})
            promising = {each: self._known[each] for each in self._promising(calls)}
            self._again |= {*promising}
            self._compile(dict.fromkeys(promising, self._longer))
            for each, first in promising.items():
                self._known[each] = _cheaper(first, self._known[each])
        self.seconds += time.perf_counter() - began

    def _budgets(self, calls: Sequence[StoredCall]) -> dict[_Wanted, float]:
        """The seconds of the searches for calls: the budget, doubled as often as is `FAIR`.

        They are few numbers, so that another program's search for a kernel often has as long. Calls
        that differ in the constants of functions alone need one search for all.
        """
        operations: dict[Spec, int] = defaultdict(int)
        for call in calls:
            operations[without_constants(call.spec)] += call.spec.flops
        self._operations = max(self._operations, sum(operations.values()), 1)

        def seconds(call: StoredCall) -> float:
            share = operations[without_constants(call.spec)] / self._operations
            doubled = max(0, floor(log2(share / FAIR))) if share else 0
            return float(min(self.options["budget"] * 2**doubled, self._longer))

        return {self._wanted(call): seconds(call) for call in calls}

    def _promising(self, calls: Sequence[StoredCall]) -> list[_Wanted]:
        """Kernels that may save a share `MUCH` of all calls, and were not searched for again."""
        excess: dict[_Wanted, float] = defaultdict(float)
        for call in calls:
            wanted, kernel = self._wanted(call), self[call]
            search = kernel.statistics if kernel else None
            if kernel and search and search.gap > self.options.get("gap", 0.0):
                excess[wanted] += kernel.cost * (1 - search.of_bound)
        least = MUCH * self.cost(call for call in calls if self[call])
        return [
            each for each, cycles in excess.items() if cycles >= least and each not in self._again
        ]

    def _wanted(self, call: StoredCall) -> _Wanted:
        """The goal of a call's kernel, and how it is to be compiled."""
        weights = "constant" if prepacked(call) else "plain"
        if _reads_weights(call) and self._evicted():
            weights = STREAMED
        return call.spec, call.spec.names, weights

    def _compile(self, missing: Mapping[_Wanted, float]) -> None:
        """Compile these, or compile them again, with searches of so many seconds.

        What takes any program on one thread so long that several threads gain is only searched for
        on these: such a search has the programs on one thread, too.
        """
        alone: Options = {**self.options, "threads": 1}
        machine = target_of(self.options.get("target", "native"))
        threads = thread_count(self.options["threads"])
        gaining = machine.fork / (1 - 1 / threads) if threads > 1 else inf
        slow = [each for each in missing if least_cycles(each[0], machine) > gaining]
        parallel = self._compiled(slow, missing, self.options)
        serial = self._compiled([n for n in missing if not parallel.get(n)], missing, alone)
        slow = [n for n, kernel in serial.items() if kernel and kernel.cost > gaining]
        parallel |= self._compiled([n for n in slow if n not in parallel], missing, self.options)
        for each in missing:
            self._known[each] = _cheaper(serial.get(each), parallel.get(each))

    def _compiled(
        self, wanted: Sequence[_Wanted], seconds: Mapping[_Wanted, float], options: Options
    ) -> dict[_Wanted, Kernel | None]:
        """The kernels, with None for those that cannot be compiled.

        Their searches have so many `seconds`.
        """
        asked: Options = {"progress": True, **options}
        own: list[Options] = [{"weights": each[2], "budget": seconds[each]} for each in wanted]
        specs = [spec for spec, *_ in wanted]
        try:
            results: Sequence[object] = compile_each([*zip(specs, own, strict=True)], **asked)
        except CompileAllError as error:
            results = error.results
        kernels = [result if isinstance(result, Kernel) else None for result in results]
        for spec, given, kernel in zip(specs, own, kernels, strict=True):
            if kernel:
                self._asked[kernel] = spec, {**asked, **given}
        return dict(zip(wanted, kernels, strict=True))


def _cheaper(kernel: Kernel | None, other: Kernel | None) -> Kernel | None:
    """The second of two kernels if it is the cheaper one, or the only one."""
    return other if other and (not kernel or other.cost < kernel.cost) else kernel


def _reads_weights(call: StoredCall) -> bool:
    """Whether a call reads or writes little but constant weights: images are in a cache, as a rule.

    Weights that can be prepacked decide, if there are some.
    """
    spec = call.spec
    numbers = [*weights_of(spec.operation)] or weights_in_place(spec.operation)
    weights = sum(spec.tensor(number).bytes for number in numbers)
    return weights >= MOSTLY * spec.bytes and _are_constant(call, numbers)


def prepacked(call: StoredCall) -> bool:
    """Whether the weights of a call are prepacked: if all that may be are constants."""
    weights = weights_of(call.spec.operation)
    return bool(weights) and _are_constant(call, weights)


def _are_constant(call: StoredCall, numbers: Iterable[int]) -> bool:
    """Whether these inputs of a call are constants."""
    by_name = dict(zip(call.spec.arrays, call.inputs, strict=False))
    inputs = [by_name[call.spec.name(number)] for number in numbers]
    return all(isinstance(view.base.operator, Constant) for view in inputs)
