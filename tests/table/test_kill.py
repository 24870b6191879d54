"""Processes that write at the same time, or are killed while they do: nothing is lost."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest
from tests.table import writer
from tests.table.writer import batch, batches
from tests.waiting import PATIENCE_S

from morello.memo import Table

KILLS = 20
ROOT = Path(__file__).parents[2]


@contextmanager
def serving(path: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that forks writers; see `writer`."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.table.writer", str(path)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.communicate(timeout=PATIENCE_S)


def lines(stream: IO[str] | None) -> Iterator[str]:
    assert stream is not None
    for line in stream:
        yield line.strip()


class Writing:
    """Writers, one at a time, each killed at some moment."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process, self._lines = process, lines(process.stdout)
        assert next(self._lines) == "ready"

    def killed(self, start: int, count: int, after: float) -> set[int]:
        """The batches that a writer says it has added.

        It is killed some seconds `after` it has added a `count` of them.
        """
        assert self._process.stdin is not None
        self._process.stdin.write(f"{start}\n")
        self._process.stdin.flush()
        found: set[int] = set()
        pid, alive = 0, True
        for line in self._lines:
            if line == "end":
                return found
            if line.startswith("pid "):
                pid = int(line.split()[1])
            elif line:
                found.add(int(line))
            if alive and pid and len(found) >= count:
                time.sleep(after)
                os.kill(pid, signal.SIGKILL)
                alive = False
        raise AssertionError("the process that forks writers has ended")


class Reader(threading.Thread):
    """Reads all there is again and again, at least twice, and keeps what is wrong."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path, self._stop_now = path, threading.Event()
        self.rounds = 0
        self.seen: set[int] = set()
        self.wrong: BaseException | None = None

    def run(self) -> None:
        try:
            with Table(self._path, cache_bytes=0) as table:
                while self.rounds < 2 or not self._stop_now.is_set():
                    found = batches(table)
                    assert self.seen <= found, "what was there before is there no more"
                    self.seen = found
                    self.rounds += 1
                assert table.damaged == []
        except BaseException as error:
            self.wrong = error

    def stop(self) -> None:
        self._stop_now.set()
        self.join()
        if self.wrong is not None:
            raise self.wrong


@contextmanager
def reading(path: Path, count: int) -> Iterator[list[Reader]]:
    readers = [Reader(path) for _ in range(count)]
    for reader in readers:
        reader.start()
    try:
        yield readers
    finally:
        for reader in readers:
            reader.stop()


def test_killed_writers_lose_nothing(tmp_path: Path) -> None:
    """Every batch is there whole, or not at all; those that were said to be there are."""
    path, choose = tmp_path / "t.db", random.Random(0)
    said: set[int] = set()
    start = unsaid = kills = 0
    with serving(path) as process, reading(path, 1) as (reader,):
        writing = Writing(process)
        while kills < KILLS or (reader.is_alive() and reader.rounds < KILLS / 4):
            said |= writing.killed(start, choose.randrange(4), choose.uniform(0.0, 0.03))
            kills += 1
            with Table(path, cache_bytes=0) as table:
                there = batches(table)
                assert table.check() == []
            assert said <= there
            assert len(there - said) <= 1 + unsaid, "only the last can be there and not be said"
            unsaid = len(there - said)
            start = max(there, default=-1) + 1
    assert start > KILLS


def test_writers_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    path, most = tmp_path / "t.db", 40
    code = (
        "import sys; from pathlib import Path; from tests.table.writer import write; "
        f"write(Path(sys.argv[1]), iter(range(int(sys.argv[2]), {most}, 2)))"
    )
    with reading(path, 2):
        writers = [
            subprocess.Popen(
                [sys.executable, "-c", code, str(path), str(number)],
                cwd=ROOT,
                stdout=subprocess.PIPE,
                text=True,
            )
            for number in range(2)
        ]
        for number, process in enumerate(writers):
            out, _ = process.communicate(timeout=PATIENCE_S)
            assert process.returncode == 0
            assert [int(line) for line in out.split()] == list(range(number, most, 2))
    with Table(path) as table:
        assert batches(table) == set(range(most))
        assert table.check() == []


def test_a_table_made_by_several_at_once(tmp_path: Path) -> None:
    """The first thread makes the table; the others use it."""
    for attempt in range(15):
        path, barrier = tmp_path / f"{attempt}.db", threading.Barrier(4)

        def add(number: int, path: Path = path, barrier: threading.Barrier = barrier) -> None:
            barrier.wait()
            with Table(path) as table:
                table.add(batch(number))

        with ThreadPoolExecutor(4) as threads:
            list(threads.map(add, range(4)))
        with Table(path) as table:
            assert batches(table) == {0, 1, 2, 3}


def test_a_part_of_a_batch_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests above would not see a lost part otherwise."""
    with Table(":memory:", cache_bytes=0) as table:
        monkeypatch.setattr(writer, "BOXES", 4)
        table.add(batch(1))
        assert batches(table) == {1}
        monkeypatch.setattr(writer, "BOXES", 3)
        with pytest.raises(AssertionError):
            batches(table)
    with Table(":memory:", cache_bytes=0) as table:
        first, _ = writer.keys(2)
        table.add({first: batch(2)[first]})
        with pytest.raises(AssertionError, match="read later"):
            batches(table)
