"""Random inputs of several styles: small, normal, large and special values."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fuzz.bounded import DTYPES, FLOATS, LARGEST

STYLES = ("small", "normal", "large", "extreme")

_SPECIAL = (np.inf, -np.inf, np.nan, -0.0, 0.0)
_SUBNORMAL = {"f16": 2.0**-24, "bf16": 2.0**-133, "f32": 2.0**-149}
_NORMAL = {"f16": 2.0**-14, "bf16": 2.0**-126, "f32": 2.0**-126}
_POWERS = {"f16": 7, "bf16": 50, "f32": 50}
"""Large numbers go up to 2 to this, relative to normal ones."""


def values(
    style: str, random: np.random.Generator, shape: tuple[int, ...], dtype: str
) -> NDArray[Any]:
    """A random array in one of `STYLES`."""
    kind = DTYPES[dtype]
    if dtype not in FLOATS:
        return _integers(style, random, shape, kind)
    if style == "small":
        return random.integers(-4, 5, shape).astype(np.float64).astype(kind)
    array = random.standard_normal(shape)
    if style == "large":
        array = array * np.exp2(random.uniform(-3, _POWERS[dtype], shape))
    if style == "extreme":
        mask = random.choice([0.0, 0.1, 0.5]) > random.random(shape)
        mask.flat[random.integers(mask.size)] = True
        with np.errstate(all="ignore"):
            array = np.where(mask, random.choice(_extremes(dtype), shape), array)
    with np.errstate(all="ignore"):
        return array.astype(kind)


def _extremes(dtype: str) -> NDArray[np.float64]:
    tiny, least, most = _SUBNORMAL[dtype], _NORMAL[dtype], LARGEST[dtype]
    finite = [tiny, 3 * tiny, least, most, most / 2, 1e4, 88.0, 104.0]
    return np.array([*_SPECIAL, *finite, *(-value for value in finite)])


def _integers(
    style: str, random: np.random.Generator, shape: tuple[int, ...], kind: np.dtype[Any]
) -> NDArray[Any]:
    info = np.iinfo(kind)
    if style == "small":
        return random.integers(max(-4, info.min), 5, shape).astype(kind)
    if style == "extreme":
        return random.choice(
            np.array([info.min, info.max, 0, 1, info.max - 1, info.min + 1]), shape
        ).astype(kind)
    return random.integers(info.min, info.max, shape, kind, endpoint=True)
