"""Masks of attention hide and lower what they do in torch, and leave nothing to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.importers.aten_programs import compared, no_infinite, random

torch = pytest.importorskip("torch")
functional = torch.nn.functional


def hiding(hidden: Any, by: float = -torch.inf) -> Any:
    """A mask [batch, 1, 1, columns] that adds a number to what is hidden."""
    return torch.where(hidden, by, 0.0)[:, None, None]


FUTURE = torch.full((5, 5), -torch.inf).triu(1)
MIN = torch.finfo(torch.bfloat16).min
CHOICES: dict[str, Callable[[Any, Any], Any]] = {
    "views": lambda hidden, bias: hiding(hidden).expand(2, 4, 5, 5),
    "a cast": lambda hidden, bias: hiding(hidden).to(bias.dtype).transpose(0, 0),
    "a sum": lambda hidden, bias: FUTURE.to(bias.dtype) + hiding(hidden).to(bias.dtype),
    "sums that overflow": lambda hidden, bias: (
        hiding(hidden, MIN) + torch.full((5, 5), MIN).triu(1)
    ).to(bias.dtype),
    "filled": lambda hidden, bias: bias.masked_fill(hidden[:, None, None], -torch.inf),
    "seen": lambda hidden, bias: torch.where(
        hidden[:, None, None], bias * 0, bias + FUTURE.to(bias.dtype)
    ),
    "choices of choices": lambda hidden, bias: torch.where(bias > 0, MIN, hiding(hidden)).to(
        bias.dtype
    ),
    "all": lambda hidden, bias: torch.full((5, 5), -torch.inf, dtype=bias.dtype),
    "lowered": lambda hidden, bias: hiding(hidden, MIN).to(bias.dtype),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("choice", CHOICES)
def test_no_mask_of_attention_is_infinite(choice: str, dtype: Any) -> None:
    """Choices of -inf are conditions: no kernel computes with -inf."""

    def attended(q: Any, hidden: Any, bias: Any) -> Any:
        mask = CHOICES[choice](hidden, bias)
        return functional.scaled_dot_product_attention(q, q, q, attn_mask=mask)

    hidden = torch.tensor([[False, True, False, True, True], [True] * 5])
    q, bias = random(2, 4, 5, 8).to(dtype), random(2, 1, 5, 5).to(dtype)
    tolerance = 2e-6 if dtype is torch.float32 else 4e-3
    assert no_infinite(compared(attended, q, hidden, bias, tolerance=tolerance))
