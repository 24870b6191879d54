"""Operators of ONNX that make images of other sizes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from morello.base.errors import GraphError
from morello.graph.graph import Array, Node
from morello.importers.onnx.call import (
    FLOATS,
    MOST_FOLDED,
    LeftError,
    OnnxCall,
    UndefinedError,
    position,
    translates,
)
from morello.importers.resampling import chosen, cubic, interpolation, linear, resampled
from morello.importers.sampling import MODES, PADDINGS, sampled


@dataclass(frozen=True)
class _Axis:
    """An axis: its size before and after, and the factor between, which may be rounded."""

    size: int
    count: int
    scale: float

    @property
    def unchanged(self) -> bool:
        return self.size == self.count and self.scale == 1

    def places(self, mode: str) -> Array:
        """Where results lie among the elements, the first of which is at 0.

        In f32, as ONNX Runtime has them: another rounding may choose another element.
        """
        numbers, scale = np.arange(self.count, dtype=np.float32), np.float32(self.scale)
        if mode == "align_corners":
            if abs(self.scale * self.size - self.count) > 1e-3:
                raise LeftError("its size is rounded, and runtimes differ in where corners are")
            return numbers * np.float32(self.size - 1) / np.float32(max(self.count - 1, 1))
        if mode == "asymmetric":
            return numbers / scale
        if mode == "pytorch_half_pixel" and self.count == 1:
            return np.zeros(1)
        half = (numbers + np.float32(0.5)) / scale - np.float32(0.5)
        if mode == "half_pixel_symmetric":
            return half + self.size / 2 * (1 - self.count / (scale * self.size))
        if mode in ("half_pixel", "pytorch_half_pixel"):
            return half
        raise LeftError(f"its coordinate_transformation_mode is {mode}")


@translates("Resize", "Upsample")
def resize(call: OnnxCall) -> Node:
    before = call.type == "Upsample" or call.version < 11
    if before:
        places, rounding = "asymmetric", "floor"
    else:
        places = call.text("coordinate_transformation_mode", "half_pixel")
        rounding = call.text("nearest_mode", "round_prefer_floor")
    mode = call.text("mode", "nearest")
    if mode != "nearest":
        call.floating()
    axes = _axes(call)
    while axes and axes[0].unchanged:
        del axes[0]
    if any(axis.size * axis.count > MOST_FOLDED for axis in axes):
        raise LeftError("it makes too large an image")
    weights = []
    for axis in axes:
        # before version 11, as ONNX Runtime has it: an axis that becomes shorter rounds up
        way = "ceil" if before and axis.scale < 1 else rounding
        weights.append(_weights(call, axis, mode, axis.places(places), way))
    return resampled(call[0], weights)


def _weights(call: OnnxCall, axis: _Axis, mode: str, places: Array, rounding: str) -> Array:
    if axis.unchanged:
        return np.eye(axis.size)
    if mode == "nearest":
        return chosen(_rounded(places, rounding), axis.size)
    if mode not in ("cubic", "linear"):
        raise LeftError(f"its mode is {mode}")
    kernel = linear if mode == "linear" else cubic(call.attribute("cubic_coeff_a", -0.75))
    inside = call.flag("exclude_outside")
    width = 1 / axis.scale if call.flag("antialias") else 1.0
    return interpolation(places, axis.size, kernel, inside, width)


def _rounded(places: Array, rounding: str) -> Array:
    """Places as integers; a half goes the way that its name says."""
    rounded: dict[str, Array] = {
        "ceil": np.ceil(places),
        "floor": np.floor(places),
        "round_prefer_ceil": np.floor(places + 0.5),
        "round_prefer_floor": np.ceil(places - 0.5),
    }
    if rounding not in rounded:
        raise LeftError(f"its nearest_mode is {rounding}")
    return rounded[rounding]


def _axes(call: OnnxCall) -> list[_Axis]:
    """Each axis, by the scales or by the sizes that are given."""
    x = call[0]
    rank = x.type.rank
    axes = [position(axis, rank) for axis in call.attribute("axes", [*range(rank)])]
    if call.type == "Upsample" and call.version < 9:
        given = tuple(map(float, call.attribute("scales")))
    else:
        number = 1 if call.type == "Upsample" or call.version < 11 else 2
        factors = call.static(number).reshape(-1) if call.get(number) is not None else ()
        given = tuple(map(float, factors))
    sizes = None if given or call.get(3) is None else call.integers(3)
    wanted = given if sizes is None else sizes
    if len(wanted) != len(axes) or min(wanted, default=1) <= 0 or 0 in x.shape:
        raise GraphError(f"{x.type} is resized by {wanted} along {axes}.")
    scales = dict(zip(axes, given, strict=False))
    if sizes is not None:
        scales = {d: n / x.shape[d] for d, n in zip(axes, sizes, strict=True)}
        scales = _keeping(call.text("keep_aspect_ratio_policy", "stretch"), scales)
    # sizes are rounded, and what scales make of them is not
    round_by = 0.0 if sizes is None else 0.5
    return [
        _Axis(n, int(n * scales.get(d, 1.0) + round_by), scales.get(d, 1.0))
        for d, n in enumerate(x.shape)
    ]


def _keeping(policy: str, scales: dict[int, float]) -> dict[int, float]:
    """The scales by axes, all of them the same if a policy keeps the aspect ratio."""
    choices = {"not_larger": min, "not_smaller": max}
    if policy == "stretch":
        return scales
    if policy not in choices:
        raise LeftError(f"its keep_aspect_ratio_policy is {policy}")
    return dict.fromkeys(scales, choices[policy](scales.values()))


@translates("AffineGrid")
def affine_grid(call: OnnxCall) -> Node:
    """A node that ONNX's own operators compute, unless they divide by 0."""
    if call.flag("align_corners") and 1 in call.integers(1)[2:]:
        raise UndefinedError("an axis of one pixel has no two corners to align")
    raise LeftError("it is left to ONNX Runtime")


@translates("GridSample")
def grid_sample(call: OnnxCall) -> Node:
    x, grid = call[0], call[1]
    mode = call.text("mode", "linear").removeprefix("bi")
    padding = call.text("padding_mode", "zeros")
    if mode not in MODES or padding not in PADDINGS:
        raise GraphError(f"its mode is {mode}, and {padding} are outside.")
    call.floating()
    if x.dtype == np.float64 or grid.dtype not in FLOATS or 0 in (*x.shape, *grid.shape):
        raise LeftError(f"it is of {x.type} at {grid.type}")
    d = x.type.rank - 2
    if d < 1 or grid.type.rank != d + 2 or (grid.shape[0], grid.shape[-1]) != (x.shape[0], d):
        raise GraphError(f"{grid.type} are no places in {x.type}.")
    return sampled(x, grid, mode, padding, call.flag("align_corners"))
