"""Places of the largest elements of windows, and images with elements at such places."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from morello.graph.interpreter import evaluate

torch = pytest.importorskip("torch")

from tests.importers.aten_programs import compared, imported, module  # noqa: E402

functional = torch.nn.functional

POOLED: dict[str, tuple[Any, tuple[int, ...]]] = {
    "overlapping": (lambda x: functional.max_pool2d(x, 3, 2, 1, return_indices=True), (2, 3, 9, 8)),
    "dilated": (
        lambda x: functional.max_pool2d(x, (2, 3), 1, 0, (2, 1), return_indices=True),
        (1, 2, 7, 7),
    ),
    "rounded up": (
        lambda x: functional.max_pool2d(x, 2, 2, ceil_mode=True, return_indices=True),
        (2, 2, 5, 7),
    ),
    "one dimension": (lambda x: functional.max_pool1d(x, 3, return_indices=True), (2, 3, 10)),
    "three": (lambda x: functional.max_pool3d(x, 2, return_indices=True), (1, 2, 4, 4, 6)),
    "no batch": (lambda x: functional.max_pool2d(x, 2, return_indices=True), (3, 4, 6)),
    "adapted": (
        lambda x: functional.adaptive_max_pool2d(x, (2, 3), return_indices=True),
        (2, 3, 6, 9),
    ),
}


@pytest.mark.parametrize("name", POOLED)
@pytest.mark.parametrize("special", [False, True])
def test_places_are_those_of_torch(name: str, special: bool) -> None:
    """Also of equal elements, NaN, and windows in which all elements are -inf."""
    program, shape = POOLED[name]
    x = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    if special:
        x = x.round()
        x[x > 1] = torch.nan
        x[x < 0] = -torch.inf
    result = imported(program, x)
    assert not result.left
    for value, expected in zip(evaluate(result.graph, [x.numpy()]), program(x), strict=True):
        np.testing.assert_array_equal(value, expected.numpy())


def test_images_are_made_of_elements_at_places() -> None:
    def program(x: Any) -> Any:
        pooled, places = functional.max_pool2d(x, 2, return_indices=True)
        one, numbers = functional.max_pool1d(x[0], 2, return_indices=True)
        larger = functional.max_unpool2d(pooled[1], places[1], 2, output_size=(7, 9))
        return (
            functional.max_unpool2d(pooled, places, 2),
            functional.max_unpool1d(one, numbers, 2),
            larger,
        )

    compared(program, torch.randn(2, 3, 6, 8, generator=torch.Generator().manual_seed(0)))


def test_places_in_large_windows_are_left_to_torch() -> None:
    program = module(lambda x: functional.max_pool2d(x, 9, return_indices=True))
    result = imported(program, torch.randn(1, 1, 18, 18))
    assert "no kernel finds places" in "".join(result.left.values())
