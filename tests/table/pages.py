"""Pages at random, and what they say without boxes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import product

import numpy as np
from hypothesis import strategies as st

from morello.memo.page import DECISION, Page

Decision = tuple[str | None, int, int]
Answer = tuple[Decision, ...]
Content = dict[tuple[str, tuple[int, ...]], set[Answer]]
"""By the name and the coordinates of a Spec, and its limits: all that is known of it."""

AXES, LIMITS, MOST = 4, 2, 3
NAMES = ("", "a", "b c", "µ\n")
TEXTS = ("0:Tile(m, 4)", "1:Move", '2:"quoted"', "3:Σ")
COSTS = (0.0, -0.0, 1.5, -1e300, 1e30, np.inf)

rowless = np.zeros((0, 2 * AXES + DECISION), np.int64)


def page_of(
    boxes: Iterable[tuple[str, Sequence[int], Sequence[int], Answer]], keeps: int = 1
) -> Page:
    """The page of these boxes, whose corners are coordinates without the name."""
    names: list[str] = []
    texts: list[str] = []
    rows = []
    for name, low, high, decisions in boxes:
        names += [name] * (name not in names)
        row = [names.index(name), *low, names.index(name), *high]
        for text, cost, scaled in decisions:
            if text is not None and text not in texts:
                texts.append(text)
            row += [-1 if text is None else texts.index(text), cost, scaled]
        rows.append(row)
    columns = 2 * AXES + DECISION * keeps
    table = np.array(rows, np.int64).reshape(len(rows), columns)
    table = table[np.argsort(table[:, 0], kind="stable")]
    return Page(AXES, LIMITS, tuple(names), tuple(texts), table)


def content(page: Page) -> Content:
    """All that a page says, point by point."""
    found: Content = defaultdict(set)
    axes = page.axes
    for row in page.rows.tolist():
        assert row[0] == row[axes]
        decisions = [row[at : at + DECISION] for at in range(2 * axes, len(row), DECISION)]
        answer = tuple(
            (None if number < 0 else page.texts[number], cost, scaled)
            for number, cost, scaled in decisions
        )
        sides = zip(row[1:axes], row[axes + 1 : 2 * axes], strict=True)
        for point in product(*(range(low, high + 1) for low, high in sides)):
            found[page.names[row[0]], point].add(answer)
    return dict(found)


def together(*contents: Mapping[tuple[str, tuple[int, ...]], set[Answer]]) -> Content:
    found: Content = defaultdict(set)
    for one in contents:
        for point, answers in one.items():
            found[point] |= answers
    return dict(found)


def bits(cost: float) -> int:
    return int(np.float64(cost).view(np.int64))


@st.composite
def pages(draw: st.DrawFn, keeps: int = 1, most: int = 6) -> Page:
    """Pages with few names, texts and coordinates, so that they have much in common."""
    decision = st.tuples(
        st.sampled_from([None, *TEXTS]),
        st.sampled_from(COSTS).map(bits) | st.integers(-(1 << 63), (1 << 63) - 1),
        st.integers(0, 1),
    )
    common = draw(st.lists(st.tuples(*[decision] * keeps), min_size=1, max_size=2))
    side = st.tuples(*[st.integers(0, MOST)] * 2).map(sorted)
    boxes = []
    for _ in range(draw(st.integers(0, most))):
        low, high = zip(*(draw(side) for _ in range(AXES - 1)), strict=True)
        boxes.append((draw(st.sampled_from(NAMES)), low, high, draw(st.sampled_from(common))))
    return page_of(boxes, keeps)
