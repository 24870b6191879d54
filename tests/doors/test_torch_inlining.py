"""Functions that PyTorch keeps whole in its graphs are computed by kernels, or between these."""

from __future__ import annotations

from typing import Any

from tests.doors.torch_graphs import (
    F32_TOLERANCE,
    compiled,
    error,
    fresh,  # noqa: F401 (a fixture)
    last,
    nn,
    torch,
)


def test_the_body_of_a_checkpoint() -> None:
    from torch.utils.checkpoint import checkpoint

    layer = nn.Linear(16, 8)

    def body(x: Any, *, scale: float) -> Any:
        return torch.relu(layer(x)) * scale

    def model(x: Any) -> Any:
        return checkpoint(body, x, use_reentrant=False, scale=0.5) + 1

    x = torch.randn(4, 16)
    assert error(compiled(model)(x), model(x)) < F32_TOLERANCE
    assert not last().by_torch and not last().programs[()].left


def test_what_surrounds_a_choice() -> None:
    first, second = nn.Linear(16, 8), nn.Linear(8, 4)

    def model(x: Any) -> Any:
        h = torch.relu(first(x))
        a, b = torch.cond(x.sum() > 0, lambda h: (h + 1, h), lambda h: (h * 2, h - 1), (h,))
        return second(a * b)

    fast, x = compiled(model), torch.rand(4, 16)
    for each in (x, -x):
        assert error(fast(each), model(each)) < F32_TOLERANCE
    program = last().programs[()]
    assert not last().by_torch and program.kernel_count and len(program.left) == 2


def test_flex_attention() -> None:
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    slopes = torch.tensor([0.5, 0.25])
    mask = create_block_mask(
        lambda b, h, i, j: i >= j, None, None, 32, 32, device="cpu", BLOCK_SIZE=32
    )

    def model(q: Any, k: Any, v: Any) -> Any:
        def biased(score: Any, b: Any, h: Any, i: Any, j: Any) -> Any:
            return score + (j - i) * slopes[h]

        mixed = flex_attention(q, k, v, score_mod=biased, block_mask=mask)
        return mixed.transpose(1, 2).reshape(1, 32, 16)

    q, k, v = (torch.randn(1, 2, 32, 8) for _ in range(3))
    expected = attended(q, k, v, slopes)
    assert error(compiled(model)(q, k, v), expected) < F32_TOLERANCE
    assert not last().by_torch and last().programs[()].kernel_count


def attended(q: Any, k: Any, v: Any, slopes: Any) -> Any:
    """Causal attention with a bias that falls with the distance, in f64; heads side by side."""
    q, k, v = (each.double() for each in (q, k, v))
    places = torch.arange(32)
    distance = places[None, :] - places[:, None]
    scores = q @ k.mT * 8**-0.5 + distance * slopes[:, None, None].double()
    scores = scores.masked_fill(distance > 0, -torch.inf)
    return (scores.softmax(-1) @ v).transpose(1, 2).reshape(1, 32, 16)
