"""The programs that are remembered: how many, by how many processes, and in what file."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from morello.base.errors import TableError
from morello.memo import Table
from morello.memo.program_table import ProgramTable, RememberedPrograms

PROCESSES, EACH = 4, 25

WRITER = """
import sys
from morello.memo.program_table import RememberedPrograms
for number in range(int(sys.argv[3])):
    with RememberedPrograms(sys.argv[1]) as table:
        table.keep_program("space", f"{sys.argv[2]} {number}", "text")
"""


def test_a_table_has_the_programs_of_its_file(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    with ProgramTable(path) as programs, Table(path) as table:
        programs.keep_program("space", "goal", "text")
        assert table.program("space", "goal") == "text" and table.check() == []
        table.keep_program("space", "goal", "other")
        assert programs.program("space", "goal") == "other"
        assert programs.program("space", "no goal") is None
        assert programs.program("no space", "goal") is None


def test_the_newest_are_remembered(tmp_path: Path) -> None:
    with RememberedPrograms(tmp_path / "t.db", most=3) as table:
        for number in (0, 1, 2, 3, 1, 4):
            table.keep_program("space", str(number), "text")
        assert [name for _, name in table.goals()] == ["1", "3", "4"]


def test_precomputed_programs_stay(tmp_path: Path) -> None:
    with Table(tmp_path / "t.db") as table:
        table.add_task("task", {}, {})
    with RememberedPrograms(tmp_path / "t.db", most=3) as remembered:
        for number in range(9):
            remembered.keep_program("space", str(number), "text")
        assert len(remembered.goals()) == 9


def test_many_processes_remember_at_once(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    command = [sys.executable, "-c", WRITER, str(path)]
    writers = [subprocess.Popen([*command, str(n), str(EACH)]) for n in range(PROCESSES)]
    assert [writer.wait(120) for writer in writers] == [0] * PROCESSES
    with Table(path) as table:
        assert len(table.goals()) == PROCESSES * EACH and table.check() == []


def test_a_table_that_is_opened_twice_stays_locked(tmp_path: Path) -> None:
    """Another process that closes it would take the log away if the locks were gone."""
    path = tmp_path / "t.db"
    with RememberedPrograms(path) as table, RememberedPrograms(path):
        table.keep_program("space", "goal", "text")
        subprocess.run([sys.executable, "-c", WRITER, str(path), "other", "1"], check=True)
        assert Path(f"{path}-wal").exists()
        table.keep_program("space", "last", "text")
    with Table(path) as whole:
        assert len(whole.goals()) == 3 and whole.check() == []


def test_no_error_of_the_file_ends_what_remembers(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    with RememberedPrograms(path) as table:
        table.keep_program("space", "goal", "text")
        with closing(sqlite3.connect(path)) as file:
            file.execute("DROP TABLE goals")
        table.keep_program("space", "other", "text")
        assert table.program("space", "goal") is None
    with pytest.raises(TableError, match="is damaged"):
        RememberedPrograms(path)


def test_nobody_waits_long_to_remember(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RememberedPrograms, "patience_s", 0.1)
    path = tmp_path / "t.db"
    with RememberedPrograms(path) as table, closing(sqlite3.connect(path)) as other:
        table.keep_program("space", "goal", "text")
        other.execute("BEGIN IMMEDIATE")
        table.keep_program("space", "goal", "other")
        assert table.program("space", "goal") == "text"
        other.rollback()
        table.keep_program("space", "goal", "other")
        assert table.program("space", "goal") == "other"


def test_damaged_programs_are_not_used(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    with RememberedPrograms(path) as table:
        table.keep_program("space", "goal", "text")
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("UPDATE goals SET body = zeroblob(40)")
    with RememberedPrograms(path) as table:
        assert table.program("space", "goal") is None
        assert "damaged" in table.damaged[0]
