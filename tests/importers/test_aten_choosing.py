"""Choices, orders and combinations of ATen programs compute what torch computes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.importers.aten_programs import BATCH, compared, imported, random

from morello.graph.interpreter import evaluate

torch = pytest.importorskip("torch")
nn, functional = torch.nn, torch.nn.functional


CHOSEN = {
    "largest": lambda x: x.topk(3, -1),
    "smallest of columns": lambda x: x.topk(2, 0, largest=False),
    "of equal elements": lambda x: torch.relu(x).topk(5, -1).values,
    "with infinities": lambda x: x.masked_fill(x < 0.5, -torch.inf).topk(4, -1).values.exp(),
    "many, and of integers": lambda x: (
        *torch.cat([x, -x], -1).topk(12, -1),
        *(3 * x).int().topk(1, 0, largest=False),
    ),
    "the third": lambda x: (*x.kthvalue(3, 0), x.kthvalue(8, -1, keepdim=True).values),
    "of halves": lambda x: (x * 0 + torch.tensor([3, 1, 4, 8, 5, 9, 2, 6])).bfloat16().topk(8, -1),
    "one hot": lambda x: functional.one_hot(x.argmax(-1), 8),
    "how often": lambda x: torch.histc(x.argmax(-1).float(), bins=8, min=0, max=7),
    "scattered": lambda x: torch.ones_like(x).scatter(1, x.topk(2, -1).indices, 7.0),
    "rows put": lambda x: x.index_put((x[:, 0].topk(3).indices,), x[:3] + 1),
    "a row put twice": lambda x: x.index_put((x.topk(2, -1).indices[:, 0] // 4,), x.flip(0)),
    "columns copied": lambda x: x.index_copy(1, x[0].topk(3).indices, x[:, :3] * 2),
    "an order reversed": lambda x: torch.empty_like(x[0].topk(8).indices).index_put(
        (x[0].topk(8).indices,), torch.arange(8)
    ),
    "at several places": lambda x: x[x[:, 0].topk(3).indices - 4, x[0].topk(3).indices],
    "at a known row and one that is not": lambda x: x[torch.arange(4), x.argmin(-1)],
    "windows": lambda x: x.unfold(1, 3, 2) * x.unfold(0, 4, 1)[0, :3, :3],
    "mirrored": lambda x: functional.pad(x[None], (2, 3), mode="reflect"),
    "repeated edges": lambda x: nn.ReplicationPad2d((1, 0, 2, 3))(x[None]),
    "around": lambda x: functional.pad(x[None, None], (1, 0, 2, 3), mode="circular"),
    "cosines": lambda x: functional.cosine_similarity(x[:, None], x[None], -1),
    "lengths": lambda x: (torch.linalg.norm(x, dim=-1), torch.linalg.norm(x)),
}


@pytest.mark.parametrize("program", CHOSEN.values(), ids=list(CHOSEN))
def test_elements_are_chosen_where_the_data_say(program: Any) -> None:
    compared(program, random(*BATCH))


def index(x: Any) -> Any:
    """A number of one of the four rows for each of the eight columns, some of them twice."""
    return (x[1] * 2).abs().long().clamp(max=3)


ORDERED = {
    "sorted": lambda x: torch.sort(x),
    "equal ones": lambda x: torch.sort(torch.round(x), stable=True),
    "the largest first": lambda x: torch.sort(torch.round(x), dim=0, descending=True, stable=True),
    "order of columns": lambda x: x.argsort(0),
    "with infinities": lambda x: torch.where(x > 0.5, -torch.inf, x).msort().exp(),
    "with NaN": lambda x: (
        torch.where(x > 0.5, torch.nan, 1 / (x + 1).round()).argsort(stable=True, dim=0),
        torch.where(x > 0.5, torch.nan, x).sort(stable=True, dim=-1, descending=True).indices,
    ),
    "integers": lambda x: torch.sort(index(x).clamp(0, 3), stable=True),
    "orders divided": lambda x: (x.argsort(-1) // 3, (x.argsort(-1) - 4) % 3, (x > 0).int() % 2),
    "every integer": lambda x: (
        (torch.arange(-500, 500) + index(x)[0] * 0).clamp(-500, 500) // 7,
        torch.div(torch.arange(-500, 500) + x.argmax() * 0, 9, rounding_mode="floor"),
    ),
    "orders compared": lambda x: (x.argsort(-1) > x.argmax(-1, keepdim=True)).int(),
}


@pytest.mark.parametrize("program", ORDERED.values(), ids=list(ORDERED))
def test_few_elements_are_ordered(program: Any) -> None:
    compared(program, random(*BATCH))


def test_integers_that_may_be_large_are_divided_by_torch() -> None:
    numbers = torch.randint(0, 2**40, (8,))
    assert [*imported(lambda i: i // 3, numbers).left] == ["floor_divide"]
    compared(lambda x: x.argmax(-1) % (x.argmin(-1) + 1), random(*BATCH))
    assert [*imported(lambda i: i.sort(), numbers).left] == ["sort"]


COMBINED = {
    "rows added": lambda x: x.index_add(0, index(x), x.t().repeat(1, 2), alpha=0.5),
    "rows of halves": lambda x: (
        (x * 0).bfloat16().index_add(0, index(x), torch.ones(8, 8).bfloat16())
    ),
    "sums of rows": lambda x: torch.zeros(8, 8).index_add(0, index(x), x.t().repeat(1, 2)),
    "columns added": lambda x: x.index_add(1, index(x)[:5], x[:, :5]),
    "elements added": lambda x: x.scatter_add(1, x.abs().long(), x + 1),
    "a smaller part": lambda x: x.scatter_add(0, (x[:2, :6] * 2).abs().long().clamp(max=3), x),
    "one number": lambda x: x.scatter_add(0, index(x)[None], x),
    "by a vector": lambda x: (x @ x.t()).scatter_add(0, index(x)[:, None].expand(8, 4), x.t()),
    "rows of the largest": lambda x: x.index_reduce(0, index(x), x.t().repeat(1, 2), "amax"),
    "means": lambda x: tuple(
        x.scatter_reduce(0, index(x)[None].expand(3, 8), x[1:], reduction, include_self=whole)
        for reduction in ("sum", "mean", "amax", "amin")
        for whole in (True, False)
    ),
    "put": lambda x: (
        x.index_put((index(x), torch.arange(8)), x[0]),
        x.index_put((index(x) - 4, index(x)), x[0], accumulate=True),
        torch.ops.aten.index_put(x, [None, index(x)], x[:, :1], True),
    ),
    "into many rows": lambda x: (x[:, :1] * torch.ones(1, 4000)).index_copy(
        1, (x[0, :5] * 100).abs().long() + 200 * torch.arange(5), x[:, :5]
    ),
    "where others are": lambda x: x.scatter(0, x.argmax(0)[None], x),
    "filled": lambda x: x.index_fill(1, index(x), 7.0),
    "truths": lambda x: (x > 0).scatter(1, x.topk(2, -1).indices, True).int(),
    "integers": lambda x: torch.zeros(4, dtype=torch.int32).index_add(0, index(x), index(x).int()),
}


@pytest.mark.parametrize("program", COMBINED.values(), ids=list(COMBINED))
def test_elements_are_combined_where_the_data_say(program: Any) -> None:
    compared(program, random(*BATCH))


@pytest.mark.parametrize(
    "program",
    [
        lambda x: x.repeat(1, 1000).topk(9),  # too many, one after the other or in order
        lambda x: torch.histc(x, bins=8, min=0, max=7),
        lambda x: x.scatter_reduce(0, x.argmax(0)[None], x, "prod"),
        lambda x: x.double().index_add(0, x.argmax(0), x.double()),
        lambda x: torch.linalg.norm(x, ord=2, dim=(0, 1)),
    ],
)
def test_other_choices_are_left(program: Any) -> None:
    assert imported(program, random(10, 10)).left


def test_the_last_extreme_up_to_each_element_may_be_the_least_there_is() -> None:
    """Its place is none of the elements after it."""
    for x in (
        torch.tensor([-torch.inf, -torch.inf, 1.0, -torch.inf]),
        torch.tensor([0, 0, 3, 0], dtype=torch.uint8),
    ):
        graph = imported(lambda x: x.cummax(0), x).graph
        for value, expected in zip(evaluate(graph, [x.numpy()]), x.cummax(0), strict=True):
            np.testing.assert_array_equal(value, expected.numpy())
    assert imported(lambda x: x.cummax(0), torch.tensor([True, False])).left
