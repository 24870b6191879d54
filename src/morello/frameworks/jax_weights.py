"""Weights among the arguments of functions of JAX, packed once for the kernels that read them.

An array of JAX never changes, so one that is passed again has the elements that it had. Where
kernels would take such arrays packed, a program is compiled that has them as constants. It is
chosen by their identity, and ends with the first of them.
"""

from __future__ import annotations

import threading
import warnings
import weakref
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from math import inf
from typing import Any

import jax
import numpy as np

from morello.base.errors import FallbackWarning
from morello.base.memory import free_memory
from morello.frameworks.jax_checking import mistake
from morello.frameworks.jax_models import JaxModel, model_of, results_of, weights_in
from morello.frameworks.jax_programs import JaxProgram
from morello.graph.graph import Array
from morello.graph.operators import Constant
from morello.models.compiling import SECONDS
from morello.models.constants import with_constants, with_given_constants
from morello.options import GraphOptions
from morello.targets.calibration import hertz_of
from morello.targets.cpu import host_cpu

try:
    from jax import enable_x64
except ImportError:  # before JAX 0.8
    from jax.experimental import enable_x64

LEAST_BYTES = 1 << 16
"""The least bytes of weights that are worth another program."""

LEAST_GAIN = 0.02
"""The share of the cost of all kernels that packed weights have to save."""

MOST_MEMORY = 0.25
"""The fraction of the free memory that the weights of a program may take, packed."""

MOST_SETS = 8
"""How many sets of weights of a function are kept: those that were found last."""

ENOUGH_CALLS = 8
"""Weights that were packed for fewer calls were packed in vain."""

MOST_IN_VAIN = 3
"""After so many sets of these, no weights are packed any more."""

MOST_WITHOUT = 32
"""After so many calls in a row without weights to pack, none are looked for any more."""

THREAD = "morello weights"
"""The name of threads that pack weights."""

_TURN = threading.Lock()
"""Held while a thread packs weights of any function, as searches take all cores."""

CALLS_BEFORE = 4
"""In how many calls before an array is looked for: sets of weights may take turns."""


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
        """Whether a call has the traced form and values, and its `numbers` the traced types."""
        return bool(
            form == self.form
            and all(_kind(leaves[n]) == self.kinds[n] for n in numbers)
            and all(type(leaves[n]) is type(e) and leaves[n] == e for n, e in self.others.items())
        )

    def returns(self, results: Sequence[Any]) -> bool:
        """Whether results have the types of this call, and are computed."""
        kinds = [_type(kind) for kind in self.program.traced.out_avals]
        return kinds == [*map(_kind, results)]


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
    """The calls of one function: arrays that are passed again, and are weights, are packed.

    That is a compilation like that of the function. It is done `at_once`, in the second call with
    these arrays; or once calls with them have taken as long as it is expected to take, by another
    thread, so that no call waits for it.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        traced: list[TracedCall],
        *,
        at_once: bool,
        verify: bool,
    ) -> None:
        """The function adds the calls that it traces to the list.

        To `verify`, the first call with packed weights is compared with one without.
        """
        self._function, self._traced = function, traced
        self._at_once, self._verify = at_once, verify
        self._weights: tuple[_Weights, ...] = ()
        self._before: deque[tuple[Any, list[_Reference]]] = deque(maxlen=CALLS_BEFORE)
        self._in_vain = self._without = 0
        self._lock = threading.Lock()

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        if self._without >= MOST_WITHOUT:
            self._end()
            return self._function(*args, **keywords)
        leaves, form = jax.tree.flatten((args, keywords))
        weights = self._known(form, leaves)
        wanted = weights is None or weights.is_due
        if wanted and self._lock.acquire(blocking=False):  # or else another thread packs weights
            try:  # which may have found these meanwhile
                weights = weights or self._known(form, leaves) or self._found(form, leaves)
                if weights and weights.is_due:
                    (weights.pack if self._at_once else weights.pack_meanwhile)(leaves)
            finally:
                self._lock.release()
        if weights is None:
            return self._function(*args, **keywords)
        self._without = self._without + 1 if weights.is_refused else 0
        result = weights(leaves)
        if result is NotImplemented or (
            self._verify and weights.is_unverified and not self._verified(weights, leaves, result)
        ):
            return self._function(*args, **keywords)
        return result

    def _verified(self, weights: _Weights, leaves: Sequence[Any], result: Any) -> bool:
        """Whether the first call with packed weights does what one without does.

        Otherwise, no weights of this function are packed any more, with a warning.
        """

        def plain(*arrays: Any) -> list[Any]:
            every = [*leaves]
            for number, array in zip(traced.kinds, arrays, strict=True):
                every[number] = array
            args, keywords = jax.tree.unflatten(traced.form, every)
            results: list[Any] = jax.tree.leaves(self._function(*args, **keywords))
            return results

        weights.is_unverified, traced = False, weights.traced
        graphs = traced.program.graphs
        if not graphs:  # as another thread has left the function to JAX
            return False
        arrays = [leaves[number] for number in traced.kinds]
        why = mistake(graphs, plain, arrays, jax.tree.leaves(result))
        if why:
            self._without = MOST_WITHOUT
            what = f"kernels with packed weights do not do what those without do: {why}"
            warnings.warn(f"weights stay arguments, as {what}.", FallbackWarning, stacklevel=4)
        return not why

    def forget(self) -> None:
        """Free what is packed, and forget the calls that were traced."""
        with self._lock:
            self._traced.clear()
            self._before.clear()
            self._end()

    def _end(self) -> None:
        """Free what is packed."""
        for each in self._weights:
            each.end()
        self._weights = ()

    def _known(self, form: Any, leaves: Sequence[Any]) -> _Weights | None:
        """The weights of a call, if they were found in another one."""
        return next((each for each in self._weights if each.are_in(form, leaves)), None)

    def _found(self, form: Any, leaves: Sequence[Any]) -> _Weights | None:
        """The weights of a call, if they were passed before."""
        before = [_same(known, leaves) for earlier, known in self._before if earlier == form]
        same = max(before, key=len, default=())
        self._before.append((form, [*map(_reference, leaves)]))
        traced = next((t for t in reversed(self._traced) if t.takes(form, leaves, t.kinds)), None)
        if traced is None:
            return None
        self._without += 1
        numbers = _weights_of(traced, leaves, same)
        if not numbers:
            return None
        self._without = 0
        weights = _Weights(traced, leaves, numbers, self._at_once)
        every = weights, *self._weights
        kept = [each for each in every[:MOST_SETS] if not each.ended]
        for each in every:
            if each not in kept:
                self._in_vain += each.was_in_vain
                each.end()
        self._weights = (*kept,)
        if self._in_vain >= MOST_IN_VAIN:
            self._without = MOST_WITHOUT
            return None
        return weights


_Reference = Callable[[], Any]


def _reference(leaf: Any) -> _Reference:
    """A weak reference to an array of JAX; to None for what may change, or is traced."""
    known = isinstance(leaf, jax.Array) and not isinstance(leaf, jax.core.Tracer)
    return weakref.ref(leaf) if known else lambda: None


def _same(before: Sequence[_Reference], leaves: Sequence[Any]) -> tuple[int, ...]:
    """The numbers of the leaves that are the same arrays as before, each on one device."""
    return tuple(
        number
        for number, (reference, leaf) in enumerate(zip(before, leaves, strict=True))
        if reference() is leaf and not leaf.is_deleted() and len(leaf.devices()) == 1
    )


def _weights_of(traced: TracedCall, leaves: Sequence[Any], same: Collection[int]) -> list[int]:
    """The numbers of the leaves that are weights, of those that are the same in several calls.

    There are none if packing them would not be worth it.
    """
    model = traced.program.model if same else None
    if model is None:
        return []
    numbers = dict(zip(model.compiled.graph.inputs, traced.kinds, strict=True))
    inputs = [node for node, number in numbers.items() if number in same]
    among = weights_in(model, inputs)
    weights = [numbers[node] for node in inputs if node in among]
    count = sum(leaves[number].nbytes for number in weights)
    return weights if LEAST_BYTES <= count <= MOST_MEMORY * free_memory() else []


class _Weights:
    """Arguments that are the same arrays in several calls, and what is packed of them.

    They are referred to weakly; when the first of them is freed, so is what was packed.
    """

    def __init__(
        self, traced: TracedCall, leaves: Sequence[Any], numbers: Sequence[int], at_once: bool
    ) -> None:
        """The weights are the leaves with these numbers."""
        self.traced, self._numbers = traced, numbers
        self.is_unverified = traced.program.is_repeatable
        self._ids = [id(leaves[n]) for n in numbers]
        self._varying = [n for n in traced.kinds if n not in numbers]
        donated = {n for place, n in enumerate(traced.kinds) if place in traced.program.donated}
        self._donated = donated - {*numbers}
        self._wait = 0.0 if at_once else _calls_before(traced.program)
        self._calls = 0
        self._contents: _Contents | None = None
        self.ended = self.are_being_packed = False
        """Whether they are of no use any more, and whether another thread packs them."""
        own = weakref.ref(self)

        def end(_: object) -> None:
            weights = own()
            if weights is not None:
                weights.end()

        self._references = [weakref.ref(leaves[n], end) for n in numbers]

    def end(self) -> None:
        """Free what is packed, or let the thread that packs it end."""
        self.ended, self._contents = True, None

    @property
    def is_due(self) -> bool:
        """Whether they are to be packed now."""
        return self._calls >= self._wait

    @property
    def was_in_vain(self) -> bool:
        """Whether they were packed for few calls."""
        return self._is_decided and self._calls < ENOUGH_CALLS

    @property
    def is_refused(self) -> bool:
        """Whether a program with them packed is not worth it."""
        return self._is_decided and self._contents is None

    @property
    def _is_decided(self) -> bool:
        return self._wait == inf and not self.are_being_packed

    def are_in(self, form: Any, leaves: Sequence[Any]) -> bool:
        """Whether they are among the arguments of a call, whose others have the right types."""
        if len(leaves) <= self._numbers[-1] or self._ids != [id(leaves[n]) for n in self._numbers]:
            return False
        # Only now: other arrays may have the ids of those that were freed.
        return not self.ended and self.traced.takes(form, leaves, self._varying)

    def pack(self, leaves: Sequence[Any]) -> None:
        """Compile the program that has them packed, unless it is not worth it."""
        with suppress(Exception):  # which is no reason for the function to fail
            self._packing(leaves, self.traced.program.options)()
        self._decide()

    def pack_meanwhile(self, leaves: Sequence[Any]) -> None:
        """Let another thread pack them, if none packs others; until it has, calls have them plain.

        It ends with the weights, and with the program, so that no process waits for it. It has
        the options of JAX that this thread has, as some contexts set these for one thread alone.
        """
        if not _TURN.acquire(blocking=False):
            return
        x64, device = jax.config.jax_enable_x64, jax.config.jax_default_device

        def go_on(*_: int) -> None:
            if self.ended or _is_exiting():
                raise SystemExit

        def work(packing: Callable[[], None]) -> None:
            try:
                with suppress(Exception, SystemExit), enable_x64(x64), jax.default_device(device):
                    packing()
            finally:
                end()

        def end() -> None:
            self._decide()
            _TURN.release()

        self._wait, self.are_being_packed = inf, True
        with ExitStack() as stack, suppress(Exception):
            stack.callback(end)
            packing = self._packing(leaves, {**self.traced.program.options, "progress": go_on})
            threading.Thread(target=work, args=[packing], name=THREAD).start()
            stack.pop_all()  # the thread ends it

    def _decide(self) -> None:
        """Keep what is packed from now on, or nothing."""
        self._calls, self._wait, self.are_being_packed = 0, inf, False

    def _packing(self, leaves: Sequence[Any], options: GraphOptions) -> Callable[[], None]:
        """A function that packs them, which does not keep these arrays of JAX alive."""
        program = self.traced.program
        graph = program.graph
        nodes = dict(zip(self.traced.kinds, graph.inputs, strict=True))
        arrays = jax.device_get({n: leaves[n] for n in self._numbers})
        first = leaves[self._numbers[0]]
        place = first.sharding if first.committed else None

        def pack() -> None:
            constant = with_constants(graph, {nodes[n]: array for n, array in arrays.items()})
            model = model_of(constant, options)
            assert program.model is not None
            if model.cost > (1 - LEAST_GAIN) * program.model.cost:
                return
            weak = [kind.weak_type for kind in program.traced.out_avals]
            self._contents = _Contents(model, arrays, place, weak)
            if self.ended:  # meanwhile
                self._contents = None
            types = tuple(
                f"packed {kind}" if number in arrays else str(kind)
                for number, kind in zip(self.traced.kinds, program.traced.in_avals, strict=True)
            )
            program.reports.extend(model.reports(types))

        return pack

    def __call__(self, leaves: Sequence[Any]) -> Any:
        """The result of the function; `NotImplemented` if they are not packed."""
        self._calls += 1
        contents = self._contents
        if contents is None or any(leaves[n].is_deleted() for n in self._numbers):
            return NotImplemented
        arrays = contents.run(
            {n: leaves[n] for n in self._donated},
            {n: leaves[n] for n in self._varying if n not in self._donated},
            [leaves[n] for n in contents.unpacked],
            contents.packed,
        )
        return jax.tree.unflatten(self.traced.returned, arrays)


def _is_exiting() -> bool:
    """Whether Python waits for threads to end.

    It waits for those of executors first, while the main thread still counts as alive.
    """
    return getattr(threading, "_SHUTTING_DOWN", False) or not threading.main_thread().is_alive()


def _calls_before(program: JaxProgram) -> float:
    """How many calls of a program take as long as another compilation is expected to take."""
    model = program.model
    assert model is not None
    segments = (segment for compiled in model.every for segment in compiled.segments)
    kernels = {kernel for segment in segments for kernel in segment.kernels}
    searches = len(kernels) * program.options.get("budget", SECONDS)
    whole = sum(compiled.time.whole for compiled in model.every)
    return max(searches, whole) * hertz_of(host_cpu()) / model.cost


_Leaves = Mapping[int, Any]
"""Leaves of the arguments of a call, by their numbers."""


class _Contents:
    """The packed copies of weights, the compiled model, and its program, freed with the weights.

    The program is given the copies, and those weights that kernels take as they are.
    """

    def __init__(
        self, model: JaxModel, arrays: Mapping[int, Array], place: Any, weak: Sequence[bool]
    ) -> None:
        """The copies are bound to a place, unless that is None.

        `weak` says of each result whether its type is weak, as that of a Python number is.
        """
        segments = {
            segment: with_given_constants(segment)
            for compiled in model.every
            for segment in compiled.segments
        }
        every = [array for each in segments.values() for array in each.constants]
        for compiled in model.every:
            left = (source for node in compiled.left for source in node.inputs)
            for node in (*compiled.graph.outputs, *left):
                if isinstance(node.operator, Constant) and node.type.size > 1:
                    every.append(node.operator.array)
        constants = {id(array): array for array in every}
        owners = {id(array): number for number, array in arrays.items()}
        numbers = sorted(constants, key=lambda number: number not in owners)
        self.model = model
        self.unpacked = [owners[number] for number in numbers if number in owners]
        self.packed = [
            jax.device_put(constants[number], place) for number in numbers if number not in owners
        ]

        def run(donated: _Leaves, others: _Leaves, unpacked: list[Any], packed: list[Any]) -> Any:
            given = dict(zip(numbers, (*unpacked, *packed), strict=True))
            varying = [leaf for _, leaf in sorted({**donated, **others}.items())]
            results = results_of(model, varying, segments, given)
            return [_weak(x) if each else x for x, each in zip(results, weak, strict=True)]

        self.run = jax.jit(run, donate_argnums=0)


def _weak(array: Any) -> Any:
    """An array whose type is weak."""
    kinds = {"new_dtype": array.dtype, "weak_type": True, "sharding": None}
    return jax.lax.convert_element_type_p.bind(array, **kinds)
