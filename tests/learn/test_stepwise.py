"""Work in steps: when it goes on, what it gives, and how it ends."""

from __future__ import annotations

import pytest

from morello.learn.stepwise import stepwise
from morello.search.budget import BudgetError, Progress


def test_it_goes_on_only_while_it_is_asked_to() -> None:
    went: list[int] = []

    def work(step: Progress) -> str:
        for number in range(3):
            went.append(number)
            step(0, 0)
        return "result"

    steps = stepwise(work)
    assert went == []
    for number in range(3):
        next(steps)
        assert went == [*range(number + 1)]
    with pytest.raises(StopIteration, match="result"):
        next(steps)


def test_errors_are_raised_where_the_result_is_wanted() -> None:
    def work(step: Progress) -> None:
        raise MemoryError

    with pytest.raises(MemoryError):
        next(stepwise(work))


def test_work_whose_result_nobody_wants_ends() -> None:
    ended: list[BudgetError] = []

    def work(step: Progress) -> None:
        try:
            step(0, 0)
        except BudgetError as error:
            ended.append(error)
            raise

    steps = stepwise(work)
    next(steps)
    assert not ended
    steps.close()
    assert len(ended) == 1
