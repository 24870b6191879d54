"""Writes numbered batches to a table, in processes of its own, and tells which of them are there.

As a command, `writer.py PATH` reads a number from each line, and forks a process that writes
the batches from it on, until it is killed; each number is printed once its batch was added, and
"end" once the process is gone.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import numpy as np

from morello.memo import Key, Page, Table

BOXES = 3
PARTS = 5


def keys(number: int) -> tuple[Key, Key]:
    """The pages that a batch goes to."""
    part = str(number % PARTS)
    return Key("space", "Matmul", part), Key("space", "Move", part)


def batch(number: int) -> dict[Key, Page]:
    """Boxes that are unlike those of all other batches."""
    rows = [[0, number, i, 0, 0, number, i, 9, 0, number * BOXES + i, 0] for i in range(BOXES)]
    page = Page(4, 2, ("name",), (f"{number}:text",), np.array(rows, np.int64))
    return dict.fromkeys(keys(number), page)


def whole_batches(page: Page | None) -> set[int]:
    """The batches that a page has; fails if it has a part of one."""
    if page is None:
        return set()
    numbers = page.rows[:, 1]
    assert (page.rows[:, 9] == numbers * BOXES + page.rows[:, 2]).all()
    texts = [int(page.texts[text].partition(":")[0]) for text in page.rows[:, 8]]
    assert texts == numbers.tolist()
    found, counts = np.unique(numbers, return_counts=True)
    assert (counts == BOXES).all()
    return set(found.tolist())


def batches(table: Table) -> set[int]:
    """The batches that a table has on both of their pages, a page written before its fellow."""
    found = set()
    for part in range(PARTS):
        first, second = (whole_batches(table.page(key)) for key in keys(part))
        assert first <= second, "what was added with it is read later, and must be there too"
        found |= first
    return found


def write(path: Path, numbers: Iterator[int]) -> None:
    with Table(path) as table:
        for number in numbers:
            table.add(batch(number))
            _say(number)


def _say(*words: object) -> None:
    """Print a line, whole or not at all."""
    os.write(sys.stdout.fileno(), (" ".join(map(str, words)) + "\n").encode())


def _serve(path: Path) -> None:
    with Table(":memory:") as table:
        for number in range(2 * PARTS):
            table.add(batch(number))  # loads all that is compiled, so that processes start quickly
    _say("ready")
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            write(path, count(int(line)))
        _say("pid", child)
        os.waitpid(child, 0)
        _say("end")


if __name__ == "__main__":
    _serve(Path(sys.argv[1]))
