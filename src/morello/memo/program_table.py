"""The programs of goals that a table's file has, without its boxes."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from morello.base.errors import MorelloError, TableError
from morello.memo.store import PATIENCE_S, VERSION, Store
from morello.native.cache import check_private, default_cache, open_cache

MOST_PROGRAMS = 10_000
"""The most programs that are remembered, some 20 MB."""


class ProgramTable:
    """The programs of goals in a table's file. Several processes may share it.

    Raises `TableError` if the file is not a table, or cannot be written. Damaged programs are
    listed in `damaged`; their goals count as unsolved.
    """

    patience_s = PATIENCE_S
    """How long to wait for another process that writes, in seconds."""

    def __init__(self, path: str | Path, keeps: int = 1, *, create: bool = True) -> None:
        self.path = Path(path)
        self._store = Store(self.path, keeps, create=create, patience_s=self.patience_s)
        self.damaged: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file. Everything that was added is already written."""
        self._store.close()

    def program(self, space: str, goal: str) -> str | None:
        """The program stored for a goal, or None if it is missing or damaged."""
        try:
            return self._store.read_goal(space, goal)
        except TableError as error:
            self.damaged.append(str(error))
            return None

    def keep_program(self, space: str, goal: str, text: str) -> None:
        """Store the program of a goal, in place of one that is there."""
        with self._store.writing():
            self._store.write_goal(space, goal, text)

    def goals(self) -> list[tuple[str, str]]:
        """The spaces and names of the goals that have stored programs."""
        return self._store.goals()


class RememberedPrograms(ProgramTable):
    """The newest programs, `most` of them, in a file that needs no maintenance.

    Once it is open, no error of the file is raised: what cannot be kept is searched for again.
    """

    patience_s = 5.0

    def __init__(self, path: str | Path, most: int = MOST_PROGRAMS) -> None:
        super().__init__(path)
        self._most = most

    def program(self, space: str, goal: str) -> str | None:
        """The program remembered for a goal, if any."""
        with suppress(TableError):
            return super().program(space, goal)
        return None

    def keep_program(self, space: str, goal: str, text: str) -> None:
        """Remember the program of a goal, and forget the oldest if there are too many."""
        self.keep_programs(space, [(goal, text)])

    def keep_programs(self, space: str, programs: Iterable[tuple[str, str]]) -> None:
        """Remember programs, given by their goals, in one transaction."""
        with suppress(TableError), self._store.writing():
            for goal, text in programs:
                self._store.write_goal(space, goal, text)
            self._store.drop_old_goals(self._most)


def in_cache(name: str, most: int = MOST_PROGRAMS) -> RememberedPrograms | None:
    """A file in the kernel cache, for this user alone; None if it cannot be used."""
    try:
        folder = default_cache()
        open_cache(folder)
        path = folder / f"{name}-{VERSION}.db"
        if not path.exists():
            path.touch(0o600)
        check_private(path)
        return RememberedPrograms(path, most)
    except (MorelloError, OSError):  # what cannot be remembered is searched for again
        return None
