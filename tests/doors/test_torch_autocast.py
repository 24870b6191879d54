"""Graphs under torch.autocast compute in the dtypes that it chooses."""

from __future__ import annotations

from typing import Any

import pytest
from tests.doors.torch_graphs import compiled, error, fresh, last  # noqa: F401

torch = pytest.importorskip("torch")
nn, functional = torch.nn, torch.nn.functional

BF16_TOLERANCE = 2e-2


class Network(nn.Module):  # type: ignore[misc, name-defined]
    """Whose first part is cast, if it is asked for."""

    def __init__(self, cast: bool) -> None:
        super().__init__()
        self.cast = cast
        self.image = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.GELU(), nn.Flatten(2))
        self.rows = nn.Sequential(nn.Linear(36, 16), nn.LayerNorm(16))

    def forward(self, x: Any) -> Any:
        with torch.autocast("cpu", torch.bfloat16, enabled=self.cast):
            rows = self.rows(self.image(x))
            y = functional.scaled_dot_product_attention(rows, rows, rows)
        return y.softmax(-1), x.sum()


@pytest.mark.parametrize("inside", [False, True])
def test_products_are_in_bf16(inside: bool) -> None:
    model, x = Network(inside).eval(), torch.randn(2, 3, 8, 8)
    fast = compiled(model)
    with torch.autocast("cpu", torch.bfloat16, enabled=not inside):
        results, expected = fast(x), model(x)
    for result, wanted in zip(results, expected, strict=True):
        assert result.dtype is wanted.dtype
        assert error(result, wanted) < BF16_TOLERANCE
    (program,) = last().programs.values()
    assert not [what for what, _ in program.left if "foreign" in what]


def test_what_is_left_to_torch_is_cast_as_traced() -> None:
    def program(x: Any, taps: Any, bias: Any) -> Any:
        y = x @ x
        with torch.autocast("cpu", enabled=False):
            return y, torch.conv_tbc(y.float().view(8, 2, 4), taps, bias)

    given = torch.randn(8, 8), torch.randn(3, 4, 5), torch.randn(5)
    with torch.autocast("cpu", torch.bfloat16):
        results, expected = compiled(program)(*given), program(*given)
    for result, wanted in zip(results, expected, strict=True):
        assert result.dtype is wanted.dtype
        assert error(result, wanted) < BF16_TOLERANCE
    (report,) = last().programs.values()
    assert [what for what, _ in report.left if "conv_tbc" in what]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_attention_to_nothing_is_zero(dtype: Any) -> None:
    def program(x: Any, mask: Any) -> Any:
        return torch.ops.aten._safe_softmax(x.masked_fill(~mask, -torch.inf), -1)

    x, mask = torch.randn(8, 8, dtype=dtype), torch.rand(8, 8) > 0.3
    mask[2] = False
    result = compiled(program)(x, mask)
    assert not result[2].any()
    assert error(result, program(x, mask)) < BF16_TOLERANCE


def test_statistics_of_batches_change() -> None:
    model, x = Network(cast=True).train(), torch.randn(2, 3, 8, 8)
    other = Network(cast=True).train()
    other.load_state_dict(model.state_dict())
    for result, wanted in zip(compiled(model)(x), other(x), strict=True):
        assert error(result, wanted) < BF16_TOLERANCE
    assert error(model.image[1].running_mean, other.image[1].running_mean) < BF16_TOLERANCE


def test_recurrent_layers_are_as_exact_as_by_torch() -> None:
    model, x = nn.LSTM(6, 8, bidirectional=True), torch.randn(5, 2, 6)
    (exact, _), fast = model(x), compiled(model)
    with torch.autocast("cpu", torch.bfloat16):
        (result, _), (wanted, _) = fast(x), model(x)
    assert result.dtype is wanted.dtype
    assert error(result, exact) < 2 * error(wanted, exact) + 1e-3
