"""Checks that a kernel computes the right values and writes only to its output."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from morello.base.errors import SpecError, VerificationError
from morello.base.memory import allocatable, gib
from morello.ir.dtype import F16, DType
from morello.ir.operation import Operation
from morello.ir.rounding import Bounded, Bounds, integers
from morello.ir.spec import Spec
from morello.runtime.argument import (
    CACHE_LINE,
    Argument,
    Array,
    aligned_bytes,
    arguments,
    blocks,
)
from morello.runtime.packing import packing_bytes, plain
from morello.runtime.parts import OutputPart, keepable, parts
from morello.runtime.tolerance import expected_outputs, only_integers

_GUARD_BYTES = 4096

_PERIOD = 1_000_003
"""After so many random numbers, they are repeated. A prime: rows of arrays begin at others."""

_WIDEST = 1000
"""The largest random 32-bit integer, so that float64 can sum the products exactly."""


@dataclass(frozen=True)
class _Style:
    """How the arrays of one trial are filled and placed in memory.

    Floating-point values are `scale` times a number from 1/2 to 1, times a power of two with an
    exponent from -`exponents` to `exponents`; or, if `integers` is not 0, integers from 1 to
    `integers`. Integer operands have values up to `integers` (4 if it is 0); with `full_range`, of
    the range of their dtype, or up to `_WIDEST` in 32 bits. With `signed`, signs are random.
    `descending` puts the maximum of a Max first.

    Every byte outside the elements, and every output element before the call, is `guard`:
    0xFF bytes are NaN or -1, 0x7F bytes a very large number, so that a kernel that reads them
    computes a wrong output.
    """

    name: str
    guard: int
    on_cache_line: bool
    integers: int = 0
    exponents: int = 0
    scale: float = 1.0
    full_range: bool = False
    signed: bool = True
    descending: bool = False


def verify(
    kernel: Callable[..., object],
    spec: Spec,
    *,
    seeds: Sequence[int] = (0,),
    room: int | None = None,
) -> float:
    """Runs `kernel(*inputs, out=out)` on random data and checks it against a Spec.

    Of a Spec with several outputs, `out` is a tuple. Outputs that it updates hold random numbers.

    Each seed gives two trials. In the first, arrays are aligned to cache lines and hold small
    integers, whose sums are exact, so the output must be exact, too. In the second, arrays are
    aligned to their elements only and hold numbers of many magnitudes. If the Spec does not map
    integers to integers, both trials use moderate magnitudes. No input is ever zero.

    Beside the arrays, the reference takes at most `room` bytes, by default half of what is free,
    as it is computed in parts. Returns the largest error relative to the largest output. Raises
    `VerificationError` at the first fault, and `SpecError` if there is too little memory.
    """
    try:
        return max(
            (_try(kernel, spec, style, seed, room) for seed in seeds for style in _styles(spec)),
            default=0.0,
        )
    except MemoryError:
        raise SpecError(
            f"{spec.expression}: there is too little memory to verify it; make the sizes smaller, "
            "or leave out the verification (verify=False, or --no-verify)."
        ) from None


def check_verifiable(spec: Spec) -> None:
    """Raise `SpecError` if verifying a kernel would take more memory than is free."""
    needed = sum(map(_memory, arguments(plain(spec)))) + packing_bytes(spec)
    free = allocatable()
    if needed > free:
        raise SpecError(
            f"{spec.expression}: verifying it takes {gib(needed)} of memory for the operands "
            f"alone, and {gib(free)} are free; make the sizes smaller, or leave out the "
            "verification (verify=False, or --no-verify)."
        )
    parts(spec, (free - needed) // 2)  # raises if none is small enough


def _try(
    kernel: Callable[..., object], spec: Spec, style: _Style, seed: int, room: int | None
) -> float:
    """The largest error relative to the largest output; raises `VerificationError`."""
    arrays = [_Guarded(argument, style) for argument in arguments(spec)]
    inputs = [array for array in arrays if not array.argument.output]
    outputs = [array for array in arrays if array.argument.output]
    updated = [array for array in outputs if array.argument.updated]
    room = allocatable() // 2 if room is None else room
    pieces = parts(spec, room)
    values = [array.view for array in inputs]
    held: list[Array] = []

    # each is looked at twice: before the call, and after it
    @lru_cache(maxsize=None if keepable(spec, pieces, room) else 1)
    def wanted(number: int) -> Bounds:
        return expected_outputs(spec, values, held, pieces[number])

    for attempt in _attempts(style):
        _fill(spec, (*inputs, *updated), pieces, attempt, seed)
        held[:] = [array.view.copy() for array in updated]
        wanted.cache_clear()
        if all(_suits(spec, attempt, wanted(number)) for number in range(len(pieces))):
            break
    label = f"(seed {seed}, {attempt.name})"
    checksums = [array.checksum() for array in inputs]

    kernel(*values, out=outputs[0].view if len(outputs) == 1 else tuple(x.view for x in outputs))

    for array, before in zip(inputs, checksums, strict=True):
        if array.checksum() != before:
            array.check(label)
            raise VerificationError(f"the kernel wrote to its input {array.argument.name} {label}.")
    errors = []
    for number, (written, output) in enumerate(zip(spec.operation.outputs, outputs, strict=True)):
        worst = largest = 0.0
        for place, piece in enumerate(pieces):
            got = piece.of(spec, written, output.view).astype(np.float64)
            start = piece.start(spec, written)
            error, size = compare(got, wanted(place)[number], output.argument, label, start)
            worst, largest = max(worst, error), max(largest, size)
        output.check(label)
        errors.append(worst / max(largest, float(np.finfo(np.float64).tiny)))
    return max(errors)


def compare(
    got: NDArray[np.float64],
    wanted: Bounded,
    output: Argument,
    label: str,
    start: Sequence[int] = (),
) -> tuple[float, float]:
    """The largest error, and the largest output, where they are finite.

    `got` is the part of the output that begins at the index `start`. Raises `VerificationError`
    if an error is larger than its bound.
    """
    value, tolerance = wanted.value.astype(np.float64), wanted.bound
    with np.errstate(invalid="ignore"):
        error = np.where(got == value, 0.0, np.abs(got - value))
        # Negated, so that a NaN in an output element that was never set counts as a fault.
        faults = ~((error <= tolerance) | np.isnan(value))
    if faults.any():
        where = np.unravel_index(int(faults.argmax()), got.shape)
        places = zip(where, start or (0,) * got.ndim, strict=True)
        index = ", ".join(str(int(i) + begin) for i, begin in places)
        raise VerificationError(
            f"{output.name}[{index}] is {got[where]:.9g}, expected {value[where]:.9g} "
            f"within {tolerance[where]:.3g}; {int(faults.sum())} of {got.size} "
            f"elements are wrong {label}."
        )
    finite = np.isfinite(value) & np.isfinite(error)
    largest = np.abs(value).max(initial=0.0, where=finite)
    return float(error.max(initial=0.0, where=finite)), float(largest)


class CheckedOutputs:
    """Outputs for kernels of a Spec that are called on the same inputs, and checked each time.

    Their references are computed in parts, so that little memory is taken at once, and kept.
    """

    def __init__(self, spec: Spec, inputs: Sequence[Array]) -> None:
        self._arguments = [argument for argument in arguments(spec) if argument.output]
        self._arrays = [argument.empty() for argument in self._arguments]
        self.taken = [x.view(a.raw) for x, a in zip(self._arrays, self._arguments, strict=True)]
        """The arrays as `CompiledKernel.fast` takes them."""
        held = [np.zeros(a.shape, a.dtype.np) for a in self._arguments if a.updated]
        self._spec = spec
        self._wanted = [
            (piece, expected_outputs(spec, inputs, held, piece))
            for piece in parts(spec, allocatable() // 2)
        ]

    def clear(self) -> None:
        """Have all outputs hold zeros, before a call that is to be checked."""
        for array in self.taken:
            array[...] = 0

    def check(self, label: str) -> None:
        """Raise `VerificationError` if a call since `clear` computed a wrong output."""
        spec = self._spec
        outputs = zip(spec.operation.outputs, self._arrays, self._arguments, strict=True)
        for number, (written, array, argument) in enumerate(outputs):
            for piece, wanted in self._wanted:
                got = piece.of(spec, written, array).astype(np.float64)
                compare(got, wanted[number], argument, label, piece.start(spec, written))


class _Guarded:
    """An array surrounded by guard bytes, which show whether a kernel wrote outside of it."""

    def __init__(self, argument: Argument, style: _Style) -> None:
        self.argument, self.guard = argument, style.guard
        on_cache_line = style.on_cache_line
        slack = 0 if on_cache_line else argument.dtype.bytes
        self._memory, offset = aligned_bytes(_GUARD_BYTES, argument.extent + slack + _GUARD_BYTES)
        self._memory[:] = self.guard
        self.view = argument.view(self._memory, offset + slack)

    def checksum(self) -> int:
        """A checksum of the elements and of the guard bytes."""
        return crc32(self._memory.data)

    def check(self, label: str) -> None:
        """Raises `VerificationError` if a guard byte was overwritten; overwrites the elements."""
        start = self.view.ctypes.data - self._memory.ctypes.data
        flat = self.argument.dtype.bytes
        self.view.view(f"V{flat}")[...] = np.void(bytes([self.guard]) * flat)
        begin, broken, first = 0, 0, 0
        for block in blocks(self._memory):
            places = np.flatnonzero(block != self.guard)
            if places.size and not broken:
                first = begin + int(places[0])
            begin, broken = begin + block.size, broken + places.size
        if broken:
            raise VerificationError(
                f"the kernel wrote outside {self.argument.name}: {broken} bytes, the first at byte "
                f"{first - start} of an array that spans {self.argument.extent} {label}."
            )


def _memory(argument: Argument) -> int:
    """The bytes of a guarded array."""
    return argument.extent + 2 * _GUARD_BYTES + CACHE_LINE


# ---- what to try


def _styles(spec: Spec) -> tuple[_Style, _Style]:
    first = _Style("integers", 0xFF, on_cache_line=True, integers=4)
    second = _Style("mixed magnitudes", 0x7F, on_cache_line=False, exponents=6, full_range=True)
    # products of numbers of this size sum up to about 1
    scale = _terms(spec) ** -0.25
    if not only_integers(spec.operation):
        first = replace(first, name="moderate magnitudes", integers=0, scale=scale)
        second = replace(second, exponents=2, scale=scale, full_range=False)
    elif F16 in (*spec.dtypes, *(c.dtype for c in spec.operation.components)):
        second = replace(second, exponents=2, scale=scale)
    return first, replace(second, descending=True)


def _terms(spec: Spec) -> int:
    """The number of terms in the longest sum of products of a Spec."""
    products = (part for part in spec.parts if part.operation.is_product)
    terms = (prod(part.sizes[d] for d in part.operation.reduced) for part in products)
    return max(terms, default=1)


def _fill(
    spec: Spec, inputs: Sequence[_Guarded], pieces: Sequence[OutputPart], style: _Style, seed: int
) -> None:
    """Fill the inputs, and the outputs that are updated, with random numbers."""
    random = np.random.default_rng(seed)
    for array in inputs:
        dtype, size = array.argument.dtype, array.view.size
        numbers = _random(random, dtype, (min(size, _PERIOD),), style)
        begin = 0
        for block in blocks(array.view):
            block[...] = np.resize(np.roll(numbers, -begin), block.shape)
            begin = (begin + block.size) % numbers.size
    primitive = spec.operation.primitive
    if primitive is not None and primitive.selects:
        for piece in pieces:
            values = piece.of(spec, 0, inputs[0].view)
            values[...] = _sorted(spec.operation, values, style)
    if primitive is not None and primitive.chosen:
        (index,) = primitive.indices
        ids = inputs[index].view
        ids[...] = ids % (spec.size(primitive.chosen) + 1)  # one is the number of no matrix
        if not style.descending:
            ids.sort()


def _suits(spec: Spec, style: _Style, wanted: Bounds) -> bool:
    """Whether inputs give outputs that tell something: exact where they should be, and finite.

    Integers may be too large for their sums to be exact, and the root of a negative number is not
    finite. Other styles are attempted then: smaller integers, or positive numbers.
    """
    if style.integers and any(output.error is not None for output in wanted):
        return False
    dtypes = [spec.dtypes[output] for output in spec.operation.outputs]
    with np.errstate(over="ignore"):
        stored = [x.value.astype(dtype.np) for x, dtype in zip(wanted, dtypes, strict=True)]
    return spec.operation.fills or all(np.isfinite(x.astype(np.float64)).all() for x in stored)


def _attempts(style: _Style) -> Iterator[_Style]:
    yield style
    if style.integers:
        yield replace(style, integers=2)
        yield replace(style, integers=1)
    yield replace(style, signed=False)
    yield style


def _sorted(operation: Operation, values: Array, style: _Style) -> Array:
    """The values sorted along the reduced dimension, with a unique maximum at the end.

    With `style.descending`, the maximum is at the start, and all values are negative if any
    was, so that a kernel whose maximum wrongly starts at 0 fails. For minima, all is reversed.
    """
    least = operation.operands[-1].start == "highest"
    if style.descending and values.min(initial=0) < 0:
        values = np.abs(values) if least else -np.abs(values)
    axis = operation.operands[0].dims.index(operation.reduced[0])
    ordered = np.moveaxis(np.sort(values, axis=axis), axis, -1)
    if least:
        ordered = ordered[..., ::-1]
        ordered[..., :-1] += ordered[..., :-1] == ordered[..., -1:]
    else:
        ordered[..., :-1] -= ordered[..., :-1] == ordered[..., -1:]
    if style.descending:
        ordered = ordered[..., ::-1]
    return np.moveaxis(ordered, -1, axis)


def _random(
    random: np.random.Generator, dtype: DType, shape: tuple[int, ...], style: _Style
) -> Array:
    """Values of a dtype and shape, none of them zero."""
    values: Array
    if not dtype.is_float:
        values = random.integers(1, _largest(dtype, style), shape, np.int64, endpoint=True)
    elif style.integers:
        values = random.integers(1, style.integers, shape, np.int8, endpoint=True)
    else:
        values = style.scale * (1.0 - random.random(shape, np.float32) / 2)
        exponents = np.arange(-style.exponents, style.exponents + 1, dtype=np.int8)
        values = np.ldexp(values, random.choice(exponents, shape))
    if style.signed and (dtype.is_float or integers(dtype).min < 0):
        values = values * random.choice(np.array([-1, 1], np.int8), shape)
    return values.astype(dtype.np)


def _largest(dtype: DType, style: _Style) -> int:
    """The largest random integer of a dtype."""
    if style.full_range:
        return int(integers(dtype).max) if dtype.bytes < 4 else _WIDEST
    return style.integers or 4
