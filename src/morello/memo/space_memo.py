"""The part of a memo table for one search space: answers and bounds, read and added."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from morello.engine import INFINITE
from morello.engine.limits import Limits
from morello.ir.batch import Batch
from morello.ir.placements import Ints, Placements
from morello.memo import Key, Page, Table
from morello.memo.answers import ExactAnswers, MemoizedAnswers
from morello.memo.boxes import all_points, find, merged
from morello.memo.page import DECISION, compact, union
from morello.memo.points import (
    Floats,
    bits,
    coordinates,
    cost_of,
    furthest,
    kind_text,
    levels_of,
    names_of,
    parts_of,
    sizes_of,
    volume,
)
from morello.memo.space_name import space_name
from morello.space.kind import Kind
from morello.space.traits import PLAIN_TILING, TilingTraits
from morello.targets.target import Target


class SpaceMemo:
    """The part of a memo table that belongs to one search space."""

    def __init__(self, table: Table, target: Target, tiling: TilingTraits = PLAIN_TILING) -> None:
        self.table = table
        self.space = space_name(target, tiling)
        self.limits = Limits(target.limits)
        self.capacity = self.limits.pack(target.limits)
        self._added: dict[Key, list[Page]] = {}

    # ---- reading

    def answers(self, batch: Batch) -> MemoizedAnswers:
        """The answers that the table has for these Specs."""
        kind = Kind.of(batch)
        if kind.parallel:  # which parallel rewrites there are depends on the goal
            return MemoizedAnswers.nothing(len(batch))
        answers = []
        parts, number = parts_of(batch)
        for index, part in enumerate(parts):
            rows = np.flatnonzero(number == index)
            page = self.table.page(Key(self.space, kind_text(kind), part))
            if page is not None:
                memoized = self._look_up(page, batch[rows])
                answers.append(replace(memoized, count=0, spec=rows[memoized.spec]))
        return (
            replace(MemoizedAnswers.concatenate(answers), count=len(batch))
            if answers
            else MemoizedAnswers.nothing(len(batch))
        )

    def _look_up(self, page: Page, batch: Batch) -> MemoizedAnswers:
        """The answers that one page has for a batch."""
        names, texts = names_of(batch)
        name = np.array([page.numbers.get(text, -1) for text in texts], np.int64)[names]
        points = np.column_stack([name, coordinates(batch)])
        spec, row = find(page.rows, page.axes, points)
        boxes = page.rows[row]
        value = boxes[:, 2 * page.axes :]
        rules = np.array([rule_number(text) for text in page.texts], np.int64)
        low = boxes[:, page.axes - page.limits : page.axes]
        high = boxes[:, 2 * page.axes - page.limits : 2 * page.axes]
        cost = cost_of(value[:, 1], value[:, 2], volume(batch)[spec])
        rule = rules[value[:, 0]]
        return MemoizedAnswers(len(batch), spec, cost, self._packed(low), self._packed(high), rule)

    def decisions(self, batch: Batch) -> list[tuple[int, int, list[tuple[int, float]]]]:
        """Every answer for a single Spec: peak, limit, and its decisions as rules with costs."""
        answers = []
        (part,), _ = parts_of(batch)
        page = self.table.page(Key(self.space, kind_text(Kind.of(batch)), part))
        if page is None:
            return []
        _, (text,) = names_of(batch)
        point = np.array([[page.numbers.get(text, -1), *coordinates(batch)[0]]])
        for row in page.rows[find(page.rows, page.axes, point)[1]]:
            low, high = row[: page.axes], row[page.axes : 2 * page.axes]
            listed = row[2 * page.axes :].reshape(-1, DECISION)
            costs = cost_of(listed[:, 1], listed[:, 2], np.repeat(volume(batch), len(listed)))
            rules = [
                (rule_number(page.texts[number]), cost)
                for (number, *_), cost in zip(listed.tolist(), costs.tolist(), strict=True)
                if number >= 0
            ]
            peak, limit = (self._packed(corner[None, -page.limits :])[0] for corner in (low, high))
            answers.append((int(peak), int(limit), rules))
        return answers

    def bounds(self, kind: Kind, placements: Placements, most: int) -> tuple[Batch, Floats] | None:
        """The relaxed Specs of a kind that have lower bounds, and these; None if there are none.

        Boxes are clipped to the largest coordinates that sizes up to `most` have. None as well
        if a page is damaged.
        """
        sizes, levels, costs = [], [], []
        for key in self.table.keys(self.space, kind_text(kind, True)):
            page = self.table.page(key)
            if page is None:
                return None
            rows = page.rows[(page.rows[:, 1 : page.axes] <= furthest(page.axes - 1, most)).all(1)]
            rows[:, page.axes + 1 : 2 * page.axes] = np.minimum(
                rows[:, page.axes + 1 : 2 * page.axes], furthest(page.axes - 1, most)
            )
            points, row = all_points(rows, page.axes)
            columns = sizes_of(points[:, 1:])
            value = rows[row, 2 * page.axes :]
            total = np.prod([column.astype(np.float64) for column in columns], axis=0)
            sizes.append(columns)
            levels.append([np.full(len(points), level, np.int8) for level in levels_of(key.part)])
            costs.append(cost_of(value[:, 1], value[:, 2], total))
        if not costs:
            return None
        batch = Batch(
            kind.operation, kind.dtypes, placements,
            tuple(np.concatenate(c).astype(np.int32) for c in zip(*sizes, strict=True)),
            tuple(np.concatenate(c) for c in zip(*levels, strict=True)),
            tuple(np.zeros(sum(map(len, costs)), np.int16) for _ in kind.operation.operands),
        )  # fmt: skip
        return batch, np.concatenate(costs)

    # ---- writing

    def add(self, answers: ExactAnswers, rules: Sequence[object]) -> None:
        """Buffer answers for `write`. `rules` are all rules of the kind, in order."""
        peak, limit = self._columns(answers.peak), self._columns(answers.limit)
        self._note(
            answers, kind_text(Kind.of(answers.batch)), names_of(answers.batch), (peak, limit),
            tuple(f"{number}:{rule}" for number, rule in enumerate(rules)),
        )  # fmt: skip

    def add_bounds(self, batch: Batch, bounds: Floats) -> None:
        """Buffer lower bounds of relaxed Specs for `write`. The Specs must be distinct."""
        none = np.zeros((len(batch), 0), np.int64)
        names = np.zeros(len(batch), np.int64)
        decision = names.reshape(-1, 1) - 1
        answers = ExactAnswers(batch, names, names, decision, bounds.reshape(-1, 1))
        text = kind_text(Kind.of(batch), True)
        self._note(answers, text, (names, ("",)), (none, none), ())

    def _note(
        self,
        answers: ExactAnswers,
        kind: str,
        named: tuple[Ints, tuple[str, ...]],
        limits: tuple[Ints, Ints],
        rules: tuple[str, ...],
    ) -> None:
        """Buffer answers as pages of merged boxes."""
        batch, (names, texts) = answers.batch, named
        sizes, size = coordinates(batch), volume(batch)
        values = []
        for rule, cost in zip(answers.rule.T, answers.cost.T, strict=True):
            number, scaled = bits(np.where(cost == INFINITE, 0.0, cost), size)
            values += [rule, number, scaled]
        low, high = limits
        axes = 1 + sizes.shape[1] + low.shape[1]
        parts, part = parts_of(batch)
        rows = np.column_stack([names, sizes, low, names, sizes, high, *values, part])
        rows = merged(rows, axes, range(1, axes), range(axes - low.shape[1], axes))
        rows = rows[np.argsort(rows[:, -1], kind="stable")]
        bounds = np.searchsorted(rows[:, -1], np.arange(len(parts) + 1))
        for index, text in enumerate(parts):
            chosen = rows[bounds[index] : bounds[index + 1], :-1]
            page = compact(Page(axes, low.shape[1], texts, rules, chosen))
            self._added.setdefault(Key(self.space, kind, text), []).append(page)

    def write(self) -> None:
        """Write the buffered answers to the table."""
        self.table.add(self.taken())

    def taken(self) -> dict[Key, Page]:
        """Remove the buffered answers, and return them as one page per key."""
        added, self._added = self._added, {}
        return {
            key: union(pages) if len(pages) > 1 else pages[0]
            for key, pages in sorted(added.items(), key=lambda item: str(item[0]))
        }

    # ---- limits as columns

    def _columns(self, packed: Ints) -> Ints:
        """Packed limits as columns, one per level."""
        field, count = self.limits.field, len(self.limits.capacities)
        return np.stack([(packed >> (field * i)) & self.limits.largest for i in range(count)], 1)

    def _packed(self, columns: Ints) -> Ints:
        result = np.zeros(len(columns), np.int64)
        for i, column in enumerate(columns.T):
            result |= column << (self.limits.field * i)
        return result


def rule_number(text: str) -> int:
    """The number of a rule, read from its text on a page."""
    return int(text.partition(":")[0])
