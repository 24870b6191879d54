"""ATen operations that make images of other sizes."""

from __future__ import annotations

from functools import partial

import numpy as np

from morello.graph.graph import Array, Node
from morello.importers.aten_calls import AtenCall, Handler
from morello.importers.resampling import (
    chosen,
    cubic,
    interpolation,
    linear,
    resampled,
)
from morello.importers.sampling import sampled

_SCALES = {1: ("scales",), 2: ("scales_h", "scales_w"), 3: ("scales_d", "scales_h", "scales_w")}
"""The names of the factors, by the number of dimensions."""


def _steps(call: AtenCall) -> list[tuple[int, int, float]]:
    """The size before and after, and the distance of results, for each spatial dimension."""
    rank = call.x.type.rank - 2
    sizes, wanted = call.x.shape[2:], call.type.shape[2:]
    factors = call["scale_factors"] or [call[name] for name in _SCALES[rank]]
    steps = []
    for size, count, factor in zip(sizes, wanted, factors, strict=True):
        if call["align_corners"]:
            step = (size - 1) / (count - 1) if count > 1 else 0.0
        else:
            step = 1 / factor if factor else size / count
        steps.append((size, count, step))
    return steps


def nearest(call: AtenCall, shift: float) -> Node:
    """The places are computed in f32, as torch does: another rounding is another element."""
    weights = []
    for size, count, step in _steps(call):
        places = (np.arange(count, dtype=np.float32) + np.float32(shift)) * np.float32(step)
        weights.append(chosen(np.floor(places), size))
    return resampled(call.x, weights)


def _places(call: AtenCall, count: int, step: float) -> Array:
    """Where results lie among elements, the first of which lies at 0."""
    numbers = np.arange(count)
    return numbers * step if call["align_corners"] else (numbers + 0.5) * step - 0.5


def interpolated(call: AtenCall) -> Node:
    if call.type.dtype.kind in "iub":
        raise call.refuse("of integers")
    wide = call.name.endswith("_aa")
    # torch has another slope where it filters
    kernel = cubic(-0.5 if wide else -0.75) if "cubic" in call.name else linear
    weights = []
    for size, count, step in _steps(call):
        places = _places(call, count, step)
        weights.append(interpolation(places, size, kernel, wide, step if wide else 1.0))
    return resampled(call.x, weights)


def grid_sample(call: AtenCall) -> Node:
    if call.type.dtype == np.float64:
        raise call.refuse("of f64")
    mode = ("linear", "nearest", "cubic")[call["interpolation_mode"]]
    padding = ("zeros", "border", "reflection")[call["padding_mode"]]
    return sampled(call.x, call["grid"], mode, padding, bool(call["align_corners"]))


RESIZING: dict[str, Handler] = {
    **dict.fromkeys(("grid_sampler", "grid_sampler_2d", "grid_sampler_3d"), grid_sample),
    **{f"upsample_nearest{d}d": partial(nearest, shift=0.0) for d in (1, 2, 3)},
    **{f"_upsample_nearest_exact{d}d": partial(nearest, shift=0.5) for d in (1, 2, 3)},
    **dict.fromkeys(
        ("upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d", "upsample_bicubic2d",
         "_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa"),
        interpolated,
    ),
}  # fmt: skip
