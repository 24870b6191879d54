"""The table of a request: one that is given, or the one where a user's programs are remembered."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from morello.base.errors import TableError, quoted
from morello.memo.program_table import ProgramTable, RememberedPrograms, in_cache

VARIABLE = "MORELLO_TABLE"
OFF = "off"


@contextmanager
def opened(table: ProgramTable | str | Path | None) -> Iterator[ProgramTable | None]:
    """A table to use and add to: this one, or the one at a path, which is closed afterwards.

    Without either, the file that `$MORELLO_TABLE` names, else that of this user, where programs
    are remembered. None if the table or the variable is "off", or the user's own file cannot be
    used. Raises `TableError`.
    """
    if not isinstance(table, ProgramTable | str | Path | None):
        raise TableError(f"a table is a Table or the path of one, not {quoted(table)}.")
    if isinstance(table, ProgramTable):
        yield table
        return
    chosen = _remembered() if table is None else _at(table)
    try:
        yield chosen
    finally:
        if chosen is not None:
            chosen.close()


def _at(path: str | Path) -> ProgramTable | None:
    if path == OFF:
        return None
    from morello.memo import Table  # its boxes need NumPy, which is slow to import

    return Table(path)


def _remembered() -> ProgramTable | None:
    """The table of what this user asked for; None if there is none, or it cannot be used."""
    named = os.environ.get(VARIABLE, "")
    if named:
        return None if named == OFF else RememberedPrograms(named)
    return in_cache("programs")


@contextmanager
def texts() -> Iterator[ProgramTable | None]:
    """Where texts are kept that were made of programs; None if it cannot be used.

    Always in the kernel cache: they are trusted as its shared objects are, and a table that
    somebody else gave is not.
    """
    chosen = in_cache("texts")
    try:
        yield chosen
    finally:
        if chosen is not None:
            chosen.close()


def kept_text(asked: str) -> str | None:
    """The text that was kept for a question (see `questions.question`); None if there is none."""
    with texts() as known:
        return None if known is None else known.program("", asked)


def keep_text(asked: str, text: str) -> None:
    """Keep a text for a question, if texts can be kept."""
    with texts() as known:
        if known is not None:
            known.keep_program("", asked, text)
