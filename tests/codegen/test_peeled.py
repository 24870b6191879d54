"""Windows that are peeled compute the same: kernels are compared with NumPy in higher precision."""

from __future__ import annotations

import pytest
from tests.sampling import some

import morello

PEELED = [
    ("conv(f32[2,3,7,9], f32[8,3,3,3], padding=1)", "y"),
    ("conv(f32[1,3,7,9], f32[8,3,3,3], padding=1)", "+q"),
    ("conv(f32[1,3,10,11], f32[4,3,5,5], padding=2, stride=2)", "+p"),
    ("conv(f32[1,3,10,11], f32[4,3,5,5], padding=2, stride=2)", "yx"),
    ("conv(f32[1,2,12,11], f32[8,2,3,3], padding=3, dilation=3)", "xy"),
    ("conv(f32[1,2,12,11], f32[8,2,3,3], padding=8, dilation=8)", "+q"),
    ("conv(f32[1,2,10,10], f32[4,2,4,4], padding=[1,2,2,1])", "yx"),
    ("conv(f32[1,8,9,9], f32[8,1,5,5], padding=2, groups=8)", "y+q"),
    ("conv(f32[1,9,9,8], f32[3,3,8,8], padding=1, layout=NHWC)", "+p"),
    ("conv(f32[1,8,9], f32[8,8,5], padding=2)", "x"),
    ("sum_pool(f32[1,3,9,9], window=3, padding=1)", "+q"),
    ("max_pool(f32[1,3,9,9], window=3, stride=2, padding=1)", "yx"),
]


@pytest.mark.parametrize(("text", "dims"), some(PEELED, 2))
def test_peeled_windows_compute_the_same(text: str, dims: str) -> None:
    schedule = morello.schedule(text)
    for dim in dims:
        schedule = schedule.to_accumulate() if dim == "+" else schedule.peel(dim)
    error = morello.compile(schedule.solve()).max_error
    assert error is not None
    assert error < 1e-5
