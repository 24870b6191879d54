"""Tables with damaged bytes: no wrong answer, no traceback, and the damage is reported."""

from __future__ import annotations

import contextlib
import io
import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

import morello
from fuzz.adversary import PASSED, REFUSED, Adversary, FaultError
from fuzz.damage import damaged, edits, fewer
from morello.base.errors import MorelloError
from morello.cli import parser as cli
from morello.memo import Table
from morello.memo.page import encode

GOALS = ("f32[2,4] @ f32[4,2]", "sum(f32[4,8], axis=0)", "transpose(f32[4,8])")
UNKNOWN = "sum(f32[4,4], axis=0)"
TARGET = "avx2"


@dataclass(frozen=True)
class Content:
    """A table's contents: its pages and programs by key."""

    pages: dict[str, bytes | None]
    programs: dict[tuple[str, str], str | None]

    @staticmethod
    def of(table: Table, whole: Content | None = None) -> Content:
        keys = table.keys()
        named = {str(key): table.page(key) for key in keys}
        goals = list(whole.programs) if whole else table.goals()
        return Content(
            {key: None if page is None else encode(page, key) for key, page in named.items()},
            {at: table.program(*at) for at in goals},
        )


@dataclass(frozen=True)
class Good:
    """An undamaged table: its file, its contents, and the costs of programs."""

    data: bytes
    content: Content
    costs: dict[str, float]


class Tables(Adversary):
    """A damaged table is refused, or what can be read of it is right."""

    name = "tables"
    what = "damaged tables: never a wrong answer, never a traceback, damage is named"

    def case(self, random: Random) -> str:
        return json.dumps(edits(random))

    def check(self, case: str) -> str:
        good = _good()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "t.db"
            path.write_bytes(damaged(good.data, json.loads(case)))
            try:
                whole = _compared(path, good)
            except MorelloError:
                whole = False
            _commands(path, whole)
            for goal in (GOALS[0], UNKNOWN):
                try:
                    impl, _ = morello.implement(goal, target=TARGET, table=path)
                except MorelloError:
                    continue
                if abs(impl.cost / good.costs[goal] - 1) > 1e-9:
                    raise FaultError(
                        "a wrong answer", f"{goal}: {impl.cost} cycles, not {good.costs[goal]}"
                    )
        return PASSED if whole else REFUSED

    def smaller(self, case: str) -> Iterator[str]:
        yield from (json.dumps(kept) for kept in fewer(json.loads(case)))


def _compared(path: Path, good: Good) -> bool:
    """Whether the table reports no damage; raises `FaultError` if it has any then."""
    with Table(path, create=False) as table:
        content, problems = Content.of(table, good.content), table.check()
    for name, page in content.pages.items():
        if page is not None and page != good.content.pages.get(name):
            raise FaultError("a wrong page", name)
    for at, program in content.programs.items():
        if program is not None and program != good.content.programs[at]:
            raise FaultError("a wrong program", str(at))
    if not problems and content != good.content:
        raise FaultError("damage that is not named", str(path))
    return not problems


def _commands(path: Path, whole: bool) -> None:
    """Run all commands on a table, in this process: codes 0 or 2, and `check` is right."""
    other = path.with_name("other.db")
    for arguments in (
        ["table", "check", str(path)],
        ["table", "stats", str(path)],
        ["table", "query", str(path), GOALS[0], "--target", TARGET, "--json"],
        ["table", "merge", str(other), str(path)],
    ):
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            code = cli.main(arguments)
        if code not in (0, 2):
            raise FaultError("a strange exit code", f"{arguments[:2]}: {code}")
        if arguments[1] == "check" and code == 0 and not whole:
            raise FaultError("damage that is not named", "table check says that it is whole")


@cache
def _good() -> Good:
    costs = {UNKNOWN: morello.implement(UNKNOWN, target=TARGET)[0].cost}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.db"
        with Table(path) as table:
            for goal in GOALS:
                costs[goal] = morello.implement(goal, target=TARGET, table=table)[0].cost
            content = Content.of(table)
        return Good(path.read_bytes(), content, costs)
