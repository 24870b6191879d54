"""Images in ATen programs: their windows, norms, sizes and pixels compute what torch computes."""

from __future__ import annotations

from typing import Any

import pytest
from tests.importers.aten_programs import compared, random, traced

from morello.graph.operators import Dot

torch = pytest.importorskip("torch")
nn, functional = torch.nn, torch.nn.functional


@pytest.mark.parametrize("counts", [False, True])
def test_poolings_of_rounded_sizes(counts: bool) -> None:
    """A last window that begins in the padding is left out."""
    x = random(1, 2, 7, 8)
    compared(nn.MaxPool2d(3, 2, ceil_mode=True), x)
    compared(nn.AvgPool2d(3, 2, ceil_mode=True, count_include_pad=counts), x)
    compared(nn.MaxPool2d((2, 3), (3, 2), (1, 1), (1, 2), ceil_mode=True), x)
    compared(nn.AvgPool2d(2, 3, 1, ceil_mode=True, count_include_pad=False), x)


def test_images_need_no_batch() -> None:
    x = random(4, 6, 8)
    compared(nn.Conv2d(4, 6, 3, 2, 1), x)
    compared(nn.ConvTranspose2d(4, 2, 3, 2), x)
    compared(nn.ConvTranspose1d(6, 3, 2), x[0])
    compared(nn.Sequential(nn.MaxPool2d(3, 2), nn.AvgPool2d(2, divisor_override=3)), x)
    compared(nn.AdaptiveMaxPool1d(4), x[0])


def test_largest_of_windows_without_their_places() -> None:
    x = random(2, 4, 6, 8)
    layers = nn.AdaptiveMaxPool2d((3, 2)), nn.AdaptiveMaxPool2d(1)
    compared(lambda x: tuple(layer(x) for layer in layers), x)
    pool = nn.MaxPool2d(2, return_indices=True)
    assert not traced(lambda x: pool(x)[0], x).left
    assert not traced(lambda x: nn.MaxUnpool2d(2)(*pool(x)), x).left


@pytest.mark.parametrize("stride, form", [(2, {}), (1, {"padding": (1, 0), "dilation": (1, 2)})])
def test_columns_that_overlap_are_added(stride: int, form: dict[str, Any]) -> None:
    columns = functional.unfold(random(2, 3, 6, 7), 2, stride=stride, **form)
    compared(nn.Fold((6, 7), 2, stride=stride, **form), columns)


def test_windows_of_images_are_columns() -> None:
    compared(nn.Unfold((3, 2), dilation=(1, 2), padding=(1, 0), stride=2), random(2, 3, 6, 7))


@pytest.mark.parametrize("shape", [(2, 8), (2, 8, 3, 4), (2, 8, 40), (2, 8, 5, 6)])
@pytest.mark.parametrize("groups", [1, 2, 4])
def test_groups_of_channels_are_normalized(shape: tuple[int, ...], groups: int) -> None:
    scale, shift = random(8), random(8)
    for given in ((scale, shift), (scale, None), (None, None)):
        compared(lambda x, given=given: functional.group_norm(x, groups, *given), random(*shape))


def test_images_are_normalized() -> None:
    for affine, sizes in (True, (3, 4)), (True, (5, 6)), (False, (5, 6)):
        compared(nn.InstanceNorm2d(2, affine=affine), 3 + random(2, 2, *sizes))
    layer = nn.InstanceNorm2d(2, affine=True, track_running_stats=True)
    layer.running_mean.fill_(3)
    compared(layer, 3 + random(2, 2, 3, 4))
    compared(lambda x: functional.batch_norm(x, None, None, training=True), random(3, 2, 3, 4))


SIZES: dict[str, dict[str, Any]] = {
    "twice, nearest": {"scale_factor": 2, "mode": "nearest"},
    "nearest": {"size": (13, 9), "mode": "nearest"},
    "nearest centres": {"scale_factor": 1.7, "mode": "nearest-exact"},
    "linear": {"size": (20, 9), "mode": "bilinear"},
    "linear, corners": {"size": (1, 30), "mode": "bilinear", "align_corners": True},
    "linear, filtered": {"size": (4, 30), "mode": "bilinear", "antialias": True},
    "cubic": {"scale_factor": 1.7, "mode": "bicubic"},
    "cubic, filtered": {"size": (4, 5), "mode": "bicubic", "antialias": True},
    "means": {"size": (3, 5), "mode": "area"},
}


@pytest.mark.parametrize("given", SIZES.values(), ids=list(SIZES))
def test_images_of_other_sizes_are_weighted_sums(given: dict[str, Any]) -> None:
    compared(lambda x: functional.interpolate(x, **given), random(2, 3, 10, 14))


def test_long_rows_are_resampled_in_parts_of_one_size() -> None:
    graph = compared(nn.Upsample((4, 512), mode="bilinear"), random(1, 1, 4, 256))
    products = {node.inputs[1].shape for node in graph.nodes if isinstance(node.operator, Dot)}
    assert len(products) == 1


def grid(*shape: int) -> Any:
    """Places in images and beyond their edges."""
    return random(*shape) * 1.2


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("corners", [True, False])
def test_images_are_read_between_their_pixels(padding: str, corners: bool) -> None:
    def read(x: Any, places: Any) -> Any:
        modes = ("bilinear", "nearest", "bicubic")[: 7 - x.ndim]
        return tuple(functional.grid_sample(x, places, m, padding, corners) for m in modes)

    compared(read, random(2, 3, 5, 7), grid(2, 4, 6, 2))
    compared(read, random(1, 2, 3, 4, 5), grid(1, 2, 3, 2, 3))
