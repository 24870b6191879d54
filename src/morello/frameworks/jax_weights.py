"""Weights among the arguments of functions of JAX, packed once for the kernels that read them.

An array of JAX never changes, so one that is passed again has the elements that it had. Where
kernels would take such arrays packed, a program is compiled that has them as constants. It is
chosen by their identity, and ends with the first of them.
"""

from __future__ import annotations

import weakref
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import Any

import jax
import numpy as np

from morello.base.memory import free_memory
from morello.frameworks.jax_programs import JaxProgram, compiled, graph_of, results_of
from morello.graph.graph import Array
from morello.graph.operators import Constant
from morello.models import CompiledGraph
from morello.models.constants import weights_among, with_constants, with_given_constants
from morello.models.reporting import program_report

LEAST_BYTES = 1 << 16
"""The least bytes of weights that are worth another program."""

LEAST_GAIN = 0.03
"""The share of the cost of all kernels that packed weights have to save."""

MOST_MEMORY = 0.25
"""The part of the free memory that the weights of a program may take, packed."""

MOST_PROGRAMS = 8
"""How many programs with packed weights a function has: those that were made last."""

ENOUGH_CALLS = 8
"""A program with packed weights that was called less often was made in vain."""

MOST_IN_VAIN = 3
"""After so many of these, no weights are packed any more."""

MOST_WITHOUT = 32
"""After so many calls in a row without packed weights, none are looked for any more."""

CALLS_BEFORE = 4
"""In how many calls before an array is looked for, as sets of weights may take turns."""


@dataclass(frozen=True, eq=False)
class TracedCall:
    """A call of a function that was traced.

    The arrays of its `program` are the leaves of the arguments that have `kinds`, by number; the
    `others` have to be equal. The results are `returned` in this structure.
    """

    program: JaxProgram
    form: Any
    kinds: Mapping[int, object]
    others: Mapping[int, Any]
    returned: Any

    def takes(self, form: Any, leaves: Sequence[Any], numbers: Collection[int]) -> bool:
        """Whether it is a call with such arguments; all leaves but these have the right types."""
        return bool(
            form == self.form
            and all(_kind(leaves[n]) == self.kinds[n] for n in numbers)
            and all(type(leaves[n]) is type(e) and leaves[n] == e for n, e in self.others.items())
        )


def traced_call(program: JaxProgram, form: Any, leaves: Sequence[Any], returned: Any) -> TracedCall:
    """The call that is being traced, with these leaves."""
    every = dict(enumerate(leaves))
    kinds = {n: _type(leaf.aval) for n, leaf in every.items() if isinstance(leaf, jax.Array)}
    others = {n: leaf for n, leaf in every.items() if n not in kinds}
    return TracedCall(program, form, kinds, others, returned)


def _type(kind: Any) -> tuple[object, ...]:
    return kind.shape, kind.dtype, kind.weak_type


def _kind(leaf: Any) -> object:
    """The type that an argument is traced with; None for what is traced already."""
    if isinstance(leaf, jax.Array):
        return None if isinstance(leaf, jax.core.Tracer) else _type(leaf.aval)
    array = np.asarray(leaf)
    weak = type(leaf) in (int, float, complex)
    return array.shape, jax.dtypes.canonicalize_dtype(array.dtype), weak


class PackedCalls:
    """The calls of one function: arrays that are passed again, and are weights, are packed."""

    def __init__(self, function: Callable[..., Any], traced: Sequence[TracedCall]) -> None:
        """The function adds the calls that it traces to the list."""
        self._function, self._traced = function, traced
        self._programs: tuple[_PackedProgram, ...] = ()
        self._before: dict[TracedCall, deque[list[_Reference]]] = defaultdict(
            partial(deque, maxlen=CALLS_BEFORE)
        )
        self._unworthy: set[tuple[TracedCall, tuple[int, ...]]] = set()
        self._in_vain = self._without = 0
        self._lock = Lock()

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        if self._without >= MOST_WITHOUT:
            return self._function(*args, **keywords)
        leaves, form = jax.tree.flatten((args, keywords))
        result = self._by_program(form, leaves)
        if result is NotImplemented and self._lock.acquire(blocking=False):
            try:  # unless another thread packs weights
                self._pack_weights(form, leaves)
            finally:
                self._lock.release()
            result = self._by_program(form, leaves)
        return self._function(*args, **keywords) if result is NotImplemented else result

    def _by_program(self, form: Any, leaves: Sequence[Any]) -> Any:
        """The result by a program with packed weights; `NotImplemented` if there is none."""
        for program in self._programs:
            result = program(form, leaves)
            if result is not NotImplemented:
                self._without = 0
                return result
        return NotImplemented

    def _pack_weights(self, form: Any, leaves: Sequence[Any]) -> None:
        """Make a program if weights of this call were passed before."""
        traced = next((t for t in reversed(self._traced) if t.takes(form, leaves, t.kinds)), None)
        if traced is None:
            return
        self._without += 1
        before = self._before[traced]
        same = max((_same(call, leaves) for call in before), key=len, default=())
        before.append([*map(_reference, leaves)])
        if not same or (traced, same) in self._unworthy:
            return
        program = _packed_program(traced, leaves, same)
        if program is None:
            self._unworthy.add((traced, same))
            return
        every = [program, *self._programs]
        kept = [each for each in every[:MOST_PROGRAMS] if not each.ended]
        self._in_vain += sum(p.calls < ENOUGH_CALLS for p in every if p not in kept)
        self._programs = (*kept,)
        if self._in_vain >= MOST_IN_VAIN:
            self._programs, self._without = (), MOST_WITHOUT


_Reference = Callable[[], Any]


def _reference(leaf: Any) -> _Reference:
    """A weak reference to an array of JAX; to None for what may change."""
    return weakref.ref(leaf) if isinstance(leaf, jax.Array) else lambda: None


def _same(before: Sequence[_Reference], leaves: Sequence[Any]) -> tuple[int, ...]:
    """The numbers of the leaves that are the same arrays as before, each on one device."""
    return tuple(
        number
        for number, (reference, leaf) in enumerate(zip(before, leaves, strict=True))
        if reference() is leaf and not leaf.is_deleted() and len(leaf.devices()) == 1
    )


def _packed_program(
    traced: TracedCall, leaves: Sequence[Any], same: Collection[int]
) -> _PackedProgram | None:
    """A program for arrays that are the same in several calls; None if it is not worth it."""
    program = traced.program
    plain = program.model
    if plain is None:
        return None
    numbers = dict(zip(plain.graph.inputs, traced.kinds, strict=True))
    inputs = [node for node, number in numbers.items() if number in same]
    among = weights_among(plain, inputs)
    weights = [numbers[node] for node in inputs if node in among]
    count = sum(leaves[number].nbytes for number in weights)
    if not LEAST_BYTES <= count <= MOST_MEMORY * free_memory():
        return None
    try:
        graph = graph_of(program.traced)
        nodes = dict(zip(traced.kinds, graph.inputs, strict=True))
        arrays = {number: jax.device_get(leaves[number]) for number in weights}
        constant = with_constants(graph, {nodes[n]: array for n, array in arrays.items()})
        model = compiled(constant, program.options)
    except Exception:  # it is no reason for a function to fail that its weights are not packed
        return None
    if model.plan.cost > (1 - LEAST_GAIN) * plain.plan.cost:
        return None
    types = [
        f"packed {kind}" if number in arrays else str(kind)
        for number, kind in zip(traced.kinds, program.traced.in_avals, strict=True)
    ]
    program.reports.append(program_report(model, tuple(types)))
    return _PackedProgram(traced, leaves, model, arrays)


class _PackedProgram:
    """A program for calls some of whose arguments are always the same arrays.

    It refers to them weakly; when the first of them is freed, so is what was packed.
    """

    def __init__(
        self,
        traced: TracedCall,
        leaves: Sequence[Any],
        model: CompiledGraph,
        arrays: Mapping[int, Array],
    ) -> None:
        """The arrays are constants of the model: the leaves with these numbers."""
        self.calls = 0
        self._traced, self._weights = traced, [*arrays]
        self._ids = [id(leaves[n]) for n in arrays]
        self._varying = [n for n in traced.kinds if n not in arrays]
        own = weakref.ref(self)

        def end(_: object) -> None:
            program = own()
            if program is not None:
                program._contents = None

        self._references = [weakref.ref(leaves[n], end) for n in arrays]
        self._contents: _Contents | None = _Contents(model, leaves, arrays)

    @property
    def ended(self) -> bool:
        """Whether one of the arrays was freed."""
        return self._contents is None

    def __call__(self, form: Any, leaves: Sequence[Any]) -> Any:
        """The result of the function; `NotImplemented` for calls with other arguments."""
        if len(leaves) <= self._weights[-1] or self._ids != [id(leaves[n]) for n in self._weights]:
            return NotImplemented
        contents = self._contents  # none if one of the arrays was freed before, with this id
        if contents is None or not self._traced.takes(form, leaves, self._varying):
            return NotImplemented
        if any(leaves[n].is_deleted() for n in self._weights):
            return NotImplemented
        self.calls += 1
        arrays = contents.run(
            [leaves[n] for n in self._varying],
            [leaves[n] for n in contents.unpacked],
            contents.packed,
        )
        return jax.tree.unflatten(self._traced.returned, arrays)


class _Contents:
    """What is freed with the weights: their packed copies, the model, and its program.

    The program is given the copies, and those weights that kernels take as they are.
    """

    def __init__(
        self, model: CompiledGraph, leaves: Sequence[Any], arrays: Mapping[int, Array]
    ) -> None:
        segments = {segment: with_given_constants(segment) for segment in model.segments}
        every = [array for each in segments.values() for array in each.constants]
        for node in (*model.graph.outputs, *(n for left in model.left for n in left.inputs)):
            if isinstance(node.operator, Constant) and node.type.size > 1:
                every.append(node.operator.array)
        constants = {id(array): array for array in every}
        owners = {id(array): number for number, array in arrays.items()}
        numbers = sorted(constants, key=lambda number: number not in owners)
        self.model = model
        self.unpacked = [owners[number] for number in numbers if number in owners]
        like = leaves[next(iter(arrays))]
        self.packed = [
            _placed(constants[number], like) for number in numbers if number not in owners
        ]

        def run(varying: list[Any], unpacked: list[Any], packed: list[Any]) -> list[Any]:
            given = dict(zip(numbers, (*unpacked, *packed), strict=True))
            return results_of(model, varying, segments, given)

        self.run = jax.jit(run)


def _placed(array: Array, like: Any) -> Any:
    """An array on the device of another one, which it is bound to if that is."""
    return jax.device_put(array, like.sharding if like.committed else None)
