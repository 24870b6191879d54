"""Kernels that run one after the other in one call of C."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from morello.base.errors import CallError
from morello.base.large_pages import move_later
from morello.graph.graph import Array, Node
from morello.graph.operators import Constant
from morello.graph.views import View
from morello.kernel import Kernel
from morello.models.buffers import Arena, arena_of
from morello.models.packing import PackedMemory, packed, panels
from morello.models.schedule import PlacedCall, PlacedStage
from morello.native.toolchain import Compiler, find_compiler
from morello.runtime.argument import Argument, same_strides
from morello.runtime.kernel import new_arrays
from morello.runtime.load import SegmentAddress, make_segment_function, own_library
from morello.runtime.threads import CALLER, Threads, pool


class _Place(ctypes.Structure):
    """The struct `Place` of runner.c."""

    _fields_ = [("base", ctypes.c_int64), ("offset", ctypes.c_int64)]


class _Step(ctypes.Structure):
    """The struct `Step` of runner.c."""

    _fields_ = [
        ("kernel", ctypes.c_void_p),
        ("first", ctypes.c_int64),
        ("count", ctypes.c_int64),
        ("parallel", ctypes.c_int64),
    ]


class _Segment(ctypes.Structure):
    """The struct `Segment` of runner.c."""

    _fields_ = [
        ("steps", ctypes.POINTER(_Step)),
        ("places", ctypes.POINTER(_Place)),
        ("count", ctypes.c_int64),
    ]


@dataclass(frozen=True)
class Place:
    """Where an argument of a kernel lies: `offset` bytes into its base.

    The base is a constant, packed as the kernel takes it; or the number of what each call has:
    0 is the arena, and the arrays follow.
    """

    base: int | Array
    offset: int = 0


class Segment:
    """The kernels of a stage, with the memory between them and their constants, packed.

    Several threads may run it at once: each call has an arena of its own, and arenas are kept for
    later calls. Kernels with parallel loops run on Morello's own pool, or on the threads
    that a call gives.
    """

    inputs: tuple[Node, ...]
    outputs: tuple[Node, ...]
    kernels: tuple[Kernel, ...]
    """The kernels in the order in which they run; one may run several times."""
    calls: tuple[PlacedCall, ...]
    """The calls of the stage that the segment was made of."""
    places: tuple[tuple[Place, ...], ...]
    """Where the arguments of each call lie."""
    arena: Arena
    threads: Threads
    """A pool of the most threads that a kernel takes; `CALLER` if all take one."""

    def __init__(self, stage: PlacedStage, kernels: Sequence[Kernel]) -> None:
        """The kernels are those of the stage's calls, in order."""
        self.inputs, self.outputs, self.kernels = stage.inputs, stage.outputs, tuple(kernels)
        self.calls = stage.calls
        given = (*self.inputs, *self.outputs)
        self.arena = arena_of(stage)
        placing = _Placing(self.arena, given, PackedMemory(_repacked(self.calls, self.kernels)))
        self.places = tuple(
            tuple(
                placing.place(view, kernel, number)
                for number, view in enumerate((*call.inputs, call.output))
            )
            for call, kernel in zip(stage.calls, kernels, strict=True)
        )
        move_later(placing.unpacked)
        self._struct = _compiled(self.kernels, self.places)
        threads = max((kernel.threads for kernel in self.kernels), default=1)
        self.threads = pool(threads) if threads > 1 else CALLER
        self._runner = _runner(find_compiler())
        self._arenas: list[_Memory] = []
        self._count = len(given)

    def run(self, addresses: Sequence[int], threads: Threads | None = None) -> None:
        """Run on arrays at these addresses, the inputs, then the outputs; on its own threads,
        unless others are given.

        They are row-major, of the types of the nodes, aligned to their elements, and the outputs
        overlap no other. Nothing checks them.
        """
        threads, memory = threads or self.threads, self._memory()
        pointers = (ctypes.c_void_p * self._count)(*addresses)
        self._runner.segment_run(
            self._struct, memory.address, pointers, threads.address, threads.handle
        )
        self._arenas.append(memory)

    def timed_run(self, addresses: Sequence[int]) -> tuple[list[float], float]:
        """Run as `run` does, and return the seconds that each kernel took, and those of all."""
        threads, memory = self.threads, self._memory()
        pointers = (ctypes.c_void_p * self._count)(*addresses)
        times = (ctypes.c_int64 * self._struct.count)()
        whole = _profiler(find_compiler()).segment_times(
            self._struct, memory.address, pointers, threads.address, threads.handle, times
        )
        self._arenas.append(memory)
        return [nanoseconds * 1e-9 for nanoseconds in times], whole * 1e-9

    def _memory(self) -> _Memory:
        """An arena that no other call uses."""
        try:
            return self._arenas.pop()
        except IndexError:
            return _Memory(self._runner, self.arena.bytes)

    @property
    def entry(self) -> SegmentAddress:
        """The address for calls from C on its own threads; valid as long as this object lives."""
        runner = self._runner
        functions = (runner.segment_run, runner.segment_memory, runner.segment_free)
        return SegmentAddress(
            *(ctypes.cast(function, ctypes.c_void_p).value for function in functions),
            ctypes.addressof(self._struct),
            self.arena.bytes,
            self.threads.address,
            self.threads.handle,
        )

    def __call__(self, *arrays: Array) -> list[Array]:
        """The outputs for these inputs, as new arrays; raises `CallError` for other types."""
        if len(arrays) != len(self.inputs):
            raise CallError(f"{len(arrays)} arrays are given; it takes {len(self.inputs)}.")
        dense = []
        for number, (node, array) in enumerate(zip(self.inputs, arrays, strict=True)):
            if array.shape != node.shape or array.dtype != node.dtype:
                raise CallError(
                    f"array {number} is {array.dtype}{list(array.shape)}; it should be {node.type}."
                )
            dense.append(np.ascontiguousarray(array))
        results = [np.empty(node.shape, node.dtype) for node in self.outputs]
        self.run([array.ctypes.data for array in (*dense, *results)])
        return results

    def function(
        self, arguments: tuple[Argument, ...], otherwise: Callable[..., Any], *, number: bool
    ) -> Callable[..., Any]:
        """A builtin function of its inputs that checks them, and returns its only output.

        The arrays are `arguments`, the output last: as the inputs lie in memory, but perhaps of
        other shapes. Calls of any other kind are handed over to `otherwise`. With `number`, it
        returns the only element of the output.
        """
        return make_segment_function(
            self.entry,
            arguments,
            results=new_arrays(arguments[-1]),
            otherwise=otherwise,
            keep=self,
            compiler=find_compiler(),
            number=number,
            release_gil=any(kernel.releases_gil for kernel in self.kernels),
        )


class _Placing:
    """The places of views; a constant that kernels take in the same layout is packed once."""

    def __init__(self, arena: Arena, given: Sequence[Node], memory: PackedMemory) -> None:
        self._arena, self._memory = arena, memory
        self._numbers = {node: number for number, node in enumerate(given, start=1)}
        self._packed: dict[object, Array] = {}
        self.unpacked: set[tuple[int, int]] = set()
        """The addresses and sizes of constants that kernels take as they are."""

    def place(self, view: View, kernel: Kernel, number: int) -> Place:
        """Where the kernel's argument of this number lies."""
        if isinstance(view.base.operator, Constant):
            key = view, kernel.arguments[number], panels(kernel, number)
            if key not in self._packed:
                constant = self._packed[key] = packed(view, kernel, number, self._memory.empty)
                if np.may_share_memory(constant, view.base.operator.array):
                    self.unpacked.add((constant.ctypes.data, constant.nbytes))
            return Place(self._packed[key])
        offset = view.offset * view.base.dtype.itemsize
        assert offset + kernel.arguments[number].extent <= view.base.type.bytes, view
        if view.base in self._numbers:
            return Place(self._numbers[view.base], offset)
        return Place(0, self._arena.offsets[view.base] + offset)


def _repacked(calls: Sequence[PlacedCall], kernels: Sequence[Kernel]) -> Iterator[Argument]:
    """The constants that kernels take in other layouts than they have, each once."""
    different = {
        (view, argument)
        for call, kernel in zip(calls, kernels, strict=True)
        for view, argument in zip((*call.inputs, call.output), kernel.arguments, strict=True)
        if isinstance(view.base.operator, Constant)
    }
    for view, argument in different:
        strides = tuple(step * argument.dtype.bytes for step in view.strides)
        if len(strides) != len(argument.shape) or not same_strides(argument, strides):
            yield argument


def _compiled(kernels: Sequence[Kernel], places: Sequence[Sequence[Place]]) -> _Segment:
    """The steps as runner.c takes them; the arrays that it points to are kept with it."""
    every = [place for some in places for place in some]
    steps, first = [], 0
    for kernel, some in zip(kernels, places, strict=True):
        steps.append(_step(kernel, first, len(some)))
        first += len(some)
    return _Segment(
        (_Step * len(steps))(*steps), (_Place * first)(*map(_c_place, every)), len(steps)
    )


def _c_place(place: Place) -> _Place:
    if isinstance(place.base, int):
        return _Place(place.base + 1, place.offset)
    return _Place(0, place.base.ctypes.data + place.offset)


def _step(kernel: Kernel, first: int, count: int) -> _Step:
    """A call of a kernel with arguments from a number on; on the pool of the call if it is
    parallel.
    """
    if kernel.threads == 1:
        return _Step(kernel.address, first, count, 0)
    return _Step(kernel.library.address(f"{kernel.symbol}_on"), first, count, 1)


class _Memory:
    """An arena, freed with this object."""

    def __init__(self, runner: ctypes.CDLL, count: int) -> None:
        """Raises `MemoryError` if there are not so many bytes."""
        self.address: int = runner.segment_memory(count)
        if not self.address:
            raise MemoryError(f"there is no memory for {count} bytes between kernels.")
        weakref.finalize(self, runner.segment_free, self.address).atexit = False


@cache
def _runner(compiler: Compiler) -> ctypes.CDLL:
    """runner.c, whose functions let other Python threads run."""
    runner = own_library(Path(__file__).with_name("runner.c"), "runner", compiler)
    pointer = ctypes.c_void_p
    runner.segment_run.argtypes = [ctypes.POINTER(_Segment), pointer, pointer, pointer, pointer]
    runner.segment_run.restype = None
    runner.segment_memory.argtypes, runner.segment_memory.restype = [ctypes.c_size_t], pointer
    runner.segment_free.argtypes, runner.segment_free.restype = [pointer], None
    return runner


@cache
def _profiler(compiler: Compiler) -> ctypes.CDLL:
    """profiling.c, after runner.c, whose functions it calls."""
    folder = Path(__file__).parent
    runner = (folder / "runner.c").read_text(encoding="utf-8")
    profiler = own_library(folder / "profiling.c", "profiler", compiler, before=runner)
    pointer = ctypes.c_void_p
    profiler.segment_times.argtypes = [ctypes.POINTER(_Segment), *[pointer] * 5]
    profiler.segment_times.restype = ctypes.c_int64
    return profiler
