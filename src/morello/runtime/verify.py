"""Whether a kernel computes what it should, and touches only what it may."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from morello.errors import VerificationError
from morello.runtime.argument import Argument, Array, aligned_bytes

Reference = Callable[..., Any]

# Every byte that no element occupies, and every output element before the call, is this: in
# floating point it spells NaN, so what should not have been read spoils what is written.
_GUARD = 0xFF
_GUARD_BYTES = 4096

# A sum of k rounded terms is off by about sqrt(k) roundings; the rest is for what each term
# costs before it is added. Small enough that one product too few shows up at k = 4096.
_ROUNDINGS = 8.0

_EXPONENTS = np.arange(-6, 7, dtype=np.int8)
_INTEGERS = 4


def verify(
    kernel: Callable[..., object],
    arguments: Sequence[Argument],
    reference: Reference,
    *,
    reduction_length: int,
    seeds: Sequence[int] = (0,),
    magnitude: Reference | None = None,
) -> float:
    """Runs `kernel(*inputs, out=out)` on random data and checks it against `reference`.

    `reference(*inputs)` takes float64 arrays of the inputs' shapes and gives the exact output.
    `magnitude`, by default `reference`, takes the inputs' absolute values and gives the size
    of what was summed, which rounding errors are proportional to. `reduction_length` is how
    many terms an output element sums.

    Each seed makes two trials: small integers, whose sums are exact and must come out so, with
    the arrays on cache lines; and numbers of many magnitudes, the arrays merely aligned to
    their elements. No input is ever zero. Returns the greatest error found, as a multiple of
    the magnitude; raises `VerificationError` at the first fault.
    """
    worst = 0.0
    for seed in seeds:
        for integers in (True, False):
            trial = _Trial(kernel, tuple(arguments), reference, magnitude or reference)
            worst = max(worst, trial.run(seed, integers, reduction_length))
    return worst


@dataclass(frozen=True)
class _Trial:
    kernel: Callable[..., object]
    arguments: tuple[Argument, ...]
    reference: Reference
    magnitude: Reference

    def run(self, seed: int, integers: bool, reduction_length: int) -> float:
        """The greatest error as a multiple of the magnitude; raises `VerificationError`."""
        label = f"(seed {seed}, {'integers' if integers else 'mixed magnitudes'})"
        random = np.random.default_rng(seed)
        *inputs, output = self.arguments
        values = [_random(random, argument, integers) for argument in inputs]
        arrays = [_Guarded(argument, on_cache_line=integers) for argument in self.arguments]
        for array, value in zip(arrays, values, strict=False):
            array.view[...] = value

        self.kernel(*(array.view for array in arrays[:-1]), out=arrays[-1].view)

        for array, value in zip(arrays, values, strict=False):
            if not np.array_equal(array.view, value):
                raise VerificationError(
                    f"the kernel wrote to its input {array.argument.name} {label}."
                )
        got = arrays[-1].view.astype(np.float64)
        for array in arrays:
            array.check(label)
        return self._compare(got, values, output, reduction_length, label)

    def _compare(
        self,
        got: NDArray[np.float64],
        values: list[Array],
        output: Argument,
        reduction_length: int,
        label: str,
    ) -> float:
        exact = [value.astype(np.float64) for value in values]
        expected = np.asarray(self.reference(*exact), np.float64)
        scale = np.abs(np.asarray(self.magnitude(*map(np.abs, exact)), np.float64))
        if expected.shape != got.shape:
            raise VerificationError(
                f"the reference gives shape {expected.shape}, the output has {got.shape}."
            )
        error = np.abs(got - expected)
        tolerance = _epsilon(output) * (reduction_length**0.5 + _ROUNDINGS)
        if _is_exact(output, expected, scale):
            tolerance = 0.0
        # Written so that NaN, where the output was never set, is a fault.
        faults = ~(error <= tolerance * scale)
        if faults.any():
            where = np.unravel_index(int(faults.argmax()), got.shape)
            index = ", ".join(str(int(i)) for i in where)
            raise VerificationError(
                f"{output.name}[{index}] is {got[where]:.9g}, expected {expected[where]:.9g} "
                f"within {tolerance * scale[where]:.3g}; {int(faults.sum())} of {got.size} "
                f"elements are wrong {label}."
            )
        return float(np.max(error / np.maximum(scale, np.finfo(np.float64).tiny), initial=0.0))


class _Guarded:
    """An array in the middle of memory that shows whether anything else there was written."""

    def __init__(self, argument: Argument, *, on_cache_line: bool) -> None:
        self.argument = argument
        slack = 0 if on_cache_line else argument.dtype.bytes
        self._memory, offset = aligned_bytes(_GUARD_BYTES, argument.extent + slack + _GUARD_BYTES)
        self._memory[:] = _GUARD
        self.view = argument.view(self._memory, offset + slack)

    def check(self, label: str) -> None:
        """Raises `VerificationError` if a guard was overwritten; forgets the elements."""
        start = self.view.ctypes.data - self._memory.ctypes.data
        flat = self.argument.dtype.bytes
        self.view.view(f"V{flat}")[...] = np.void(bytes([_GUARD]) * flat)
        broken = np.flatnonzero(self._memory != _GUARD)
        if broken.size:
            distance = int(broken[0]) - start
            raise VerificationError(
                f"the kernel wrote outside {self.argument.name}: {broken.size} bytes, the first "
                f"at byte {distance} of an array that spans {self.argument.extent} {label}."
            )


def _random(random: np.random.Generator, argument: Argument, integers: bool) -> Array:
    """Values of the argument's dtype and shape, none of them zero."""
    shape, dtype = argument.shape, argument.dtype.np
    if integers or dtype.kind in "biu":
        values: Array = random.integers(1, _INTEGERS, shape, np.int8, endpoint=True)
    else:
        values = 1.0 - random.random(shape, np.float32) / 2
        values = np.ldexp(values, random.choice(_EXPONENTS, shape))
    if dtype.kind not in "bu":
        values = values * random.choice(np.array([-1, 1], np.int8), shape)
    return values.astype(dtype)


def _epsilon(argument: Argument) -> float:
    """The spacing of the dtype's numbers at 1; 0 for integers."""
    dtype: Any = argument.dtype.np
    return 0.0 if dtype.kind in "biu" else float(np.finfo(dtype).eps)


def _is_exact(output: Argument, expected: Array, scale: Array) -> bool:
    """Whether all the sums are of integers that the output's dtype holds exactly."""
    epsilon = _epsilon(output)
    if epsilon == 0.0 or expected.size == 0:
        return True
    if not float(scale.max()) < 1.0 / epsilon:
        return False
    return bool((expected == np.rint(expected)).all() and (scale == np.rint(scale)).all())
