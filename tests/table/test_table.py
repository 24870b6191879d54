"""The table against a plain dictionary: pages, programs, tasks, in memory and on disk."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from tests.table.pages import Content, content, page_of, pages, together

from morello.base.errors import TableError
from morello.memo import Key, Page, Table
from morello.memo.page import decode
from morello.memo.table import CACHE_BYTES

KEYS = [
    Key(space, kind, part) for space in ("s", "s 2") for kind in ("k", "K") for part in ("0", "0 1")
]
GOALS = [(space, goal) for space in ("s", "s 2") for goal in ("matmul", "softmax")]
CACHES = (0, 300, 2000, 1 << 20)
keys, spots = st.sampled_from(KEYS), st.sampled_from(GOALS)


def known(table: Table, key: Key) -> Content:
    page = table.page(key)
    return {} if page is None else content(page)


class Model(RuleBasedStateMachine):
    """A table that is closed and opened again now and then, by one that holds it all."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.table = Table(self.folder / "t.db", 2)
        self.most = CACHE_BYTES
        self.pages: dict[Key, Content] = {}
        self.programs: dict[tuple[str, str], str] = {}
        self.tasks: set[str] = set()

    def teardown(self) -> None:
        self.table.close()
        shutil.rmtree(self.folder)

    def note(self, added: Mapping[Key, Page]) -> None:
        for key, page in added.items():
            self.pages[key] = together(self.pages.get(key, {}), content(page))

    @rule(added=st.dictionaries(keys, pages(2), max_size=3))
    def add(self, added: dict[Key, Page]) -> None:
        self.table.add(added)
        self.note(added)

    @rule(
        name=st.sampled_from(["one", "two"]),
        added=st.dictionaries(keys, pages(2), max_size=2),
        goals=st.dictionaries(spots, st.text(), max_size=2),
    )
    def add_task(
        self, name: str, added: dict[Key, Page], goals: dict[tuple[str, str], str]
    ) -> None:
        self.table.add_task(name, added, {Key(*at, ""): text for at, text in goals.items()})
        self.note(added)
        self.programs |= goals
        self.tasks.add(name)

    @rule(at=spots, text=st.text())
    def keep_program(self, at: tuple[str, str], text: str) -> None:
        self.table.keep_program(*at, text)
        self.programs[at] = text

    @rule(key=keys)
    def read(self, key: Key) -> None:
        assert known(self.table, key) == self.pages.get(key, {})

    @rule(at=spots)
    def recall(self, at: tuple[str, str]) -> None:
        assert self.table.program(*at) == self.programs.get(at)

    @rule(most=st.sampled_from(CACHES), keeps=st.sampled_from([0, 2]))
    def reopen(self, most: int, keeps: int) -> None:
        self.table.close()
        self.table = Table(self.folder / "t.db", keeps, cache_bytes=most)
        self.most = most

    @rule()
    def look_at_all(self) -> None:
        assert self.table.check() == []
        found = {key: content(page) for key, page, _ in self.table.pages()}
        assert found == self.pages
        for key in self.pages:
            assert key in self.table.keys(key.space, key.kind)
        spaces = {key.space for key in self.pages} | {space for space, _ in self.programs}
        assert set(self.table.spaces()) >= spaces

    @invariant()
    def lists_are_the_same(self) -> None:
        assert self.table.keys() == sorted(
            self.pages, key=lambda one: (one.space, one.kind, one.part)
        )
        assert self.table.goals() == sorted(self.programs)
        assert self.table.done() == self.tasks
        assert self.table.keeps == 2

    @invariant()
    def no_more_is_in_memory_than_allowed(self) -> None:
        assert 0 <= self.table.cached_bytes <= self.most


Model.TestCase.settings = settings(max_examples=30, stateful_step_count=15)
test_a_table_is_as_a_dictionary = Model.TestCase


def sample(number: int, keeps: int = 1) -> Page:
    """A page unlike that of any other number."""
    answer = ((f"{number}:text", number, 1),) * keeps
    return page_of([(f"name {number % 3}", (number, 0, 0), (number, 2, 2), answer)], keeps)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a table.db"


def fill(path: Path, keeps: int = 1, numbers: range = range(3)) -> None:
    """A table with pages of every key, programs, and tasks."""
    with Table(path, keeps) as table:
        for number in numbers:
            table.add({key: sample(number, keeps) for key in KEYS})
            table.add_task(f"task {number}", {}, {})
            for at in GOALS:
                table.keep_program(*at, f"program {number}")


def test_what_was_added_is_there_at_once_and_later(path: Path) -> None:
    with Table(path) as table:
        for number in range(3):
            table.add({KEYS[0]: sample(number)})
            wanted = together(*(content(sample(n)) for n in range(number + 1)))
            assert known(table, KEYS[0]) == wanted
            with Table(path) as other:
                assert known(other, KEYS[0]) == wanted


def test_what_others_add_meanwhile_is_not_lost(path: Path) -> None:
    """A table that cached an older page does not lose it either."""
    with Table(path) as one, Table(path) as other:
        assert one.page(KEYS[0]) is other.page(KEYS[0]) is None
        for number in range(6):
            (one, other)[number % 2].add(
                {KEYS[0]: sample(number), KEYS[number % 4]: sample(number)}
            )
    with Table(path) as table:
        assert known(table, KEYS[0]) == together(*(content(sample(n)) for n in range(6)))


def test_what_cannot_be_added_whole_is_not_added_at_all(path: Path) -> None:
    """Later additions are whole as well."""
    old, new = Key("s", "old", "0"), Key("s", "new", "0")
    with Table(path) as table:
        table.add({old: sample(1)})
        for bad in ({new: sample(2), old: sample(3, keeps=2)}, {old: sample(3, keeps=2)}):
            with pytest.raises(ValueError, match="dimension"):
                table.add(bad)
            with pytest.raises(ValueError, match="dimension"):
                table.add_task("task", bad, {Key("s", "goal", ""): "program"})
            assert known(table, new) == {}
            assert known(table, old) == content(sample(1))
        table.add({Key("s", "another", "0"): sample(5)})
        table.add({new: sample(4)})
    with Table(path) as table:
        assert table.check() == []
        assert [key.kind for key, _, _ in table.pages()] == ["another", "new", "old"]
        assert known(table, new) == content(sample(4))
        assert known(table, old) == content(sample(1))
        assert (table.done(), table.goals()) == (set(), [])


def test_a_full_disk_is_said_and_leaves_the_table_as_it_was(path: Path) -> None:
    fill(path)
    with Table(path) as table:
        file = table._store._file
        (count,) = file.execute("PRAGMA page_count").fetchone()
        file.execute(f"PRAGMA max_page_count = {count + 2}")
        random = np.random.default_rng(0).integers(0, 1 << 60, 3000).tolist()
        large = page_of(
            [("", (n, 0, 0), (n, 0, 0), (("0:x", c, 0),)) for n, c in enumerate(random)]
        )
        before = {key: known(table, key) for key in KEYS}
        with pytest.raises(TableError, match="free some space"):
            table.add({KEYS[1]: sample(7), KEYS[0]: large, Key("new", "", ""): sample(8)})
        assert {key: known(table, key) for key in KEYS} == before
        file.execute("PRAGMA max_page_count = 100000")
        table.add({KEYS[0]: large})
        assert table.check() == []
    with Table(path) as table:
        assert known(table, KEYS[0]) == together(before[KEYS[0]], content(large))
        assert {key: known(table, key) for key in KEYS[1:]} == {
            key: before[key] for key in KEYS[1:]
        }


@given(st.lists(st.integers(0, 1 << 60), max_size=20), st.integers(0, 6000))
@settings(max_examples=30)
def test_the_cache_counts_what_it_has(numbers: list[int], most: int) -> None:
    with Table(":memory:", cache_bytes=most) as table:
        for number in numbers:
            key = KEYS[number % len(KEYS)]
            if number % 3:
                table.add({key: sample(number)})
            else:
                table.page(key)
            held = [page for page in table._cache.values() if page is not None]
            assert sum(page.bytes for page in held) <= table.cached_bytes <= most
        assert (table.cached_bytes > 0) == bool(table._cache)
        table.close()
        assert table.cached_bytes == 0


def test_pages_that_fit_are_read_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(path)
    count = 0

    def counted(body: bytes, key: str) -> Page:
        nonlocal count
        count += 1
        return decode(body, key)

    monkeypatch.setattr("morello.memo.table.decode", counted)
    with Table(path) as table:
        for _ in range(3):
            for key in KEYS:
                table.page(key)
        assert count == len(KEYS)
    with Table(path, cache_bytes=0) as table:
        for _ in range(3):
            table.page(KEYS[0])
        assert count == len(KEYS) + 3


# ---- merging


@given(st.tuples(*[st.lists(st.tuples(keys, pages()), max_size=4)] * 3))
@settings(max_examples=25)
def test_a_merged_table_has_what_its_parts_have(
    parts: tuple[list[tuple[Key, Page]], ...],
) -> None:
    tables = [Table(":memory:") for _ in parts]
    wanted: dict[Key, Content] = {}
    for number, (table, listed) in enumerate(zip(tables, parts, strict=True)):
        table.add_task(f"task {number}", {}, {Key("s", f"goal {number}", ""): f"text {number}"})
        table.keep_program("s", "common", f"of {number}")
        for key, page in listed:
            table.add({key: page})
            wanted[key] = together(wanted.get(key, {}), content(page))
    tables[0].take(tables[1:])
    tables[0].take(tables)
    assert {key: content(page) for key, page, _ in tables[0].pages()} == wanted
    assert tables[0].done() == {"task 0", "task 1", "task 2"}
    assert [tables[0].program("s", f"goal {n}") for n in range(3)] == ["text 0", "text 1", "text 2"]
    assert tables[0].program("s", "common") == "of 0"
    for table in tables:
        table.close()


def test_tables_that_keep_different_numbers_are_not_merged(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    fill(one, keeps=1)
    fill(other, keeps=3)
    with Table(one) as table, Table(other) as more:
        assert (table.keeps, more.keeps) == (1, 3)
        with pytest.raises(TableError, match=r"keeps 3 .* and .* 1; only tables"):
            table.take([more])


# ---- what is no table, or cannot be written


def refused(path: Path, words: str, **options: bool) -> None:
    """Opening gives one sentence, and leaves the file as it is."""
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(TableError, match=words) as error:
        Table(path, **options)
    text = str(error.value)
    assert text.endswith(".") and "\n" not in text
    assert (path.read_bytes() if path.is_file() else None) == before


def test_a_table_keeps_as_many_decisions_as_it_was_made_for(path: Path) -> None:
    fill(path, keeps=3)
    with Table(path, 3) as table, Table(path) as same:
        assert table.keeps == same.keeps == 3
    with pytest.raises(TableError, match="was made to keep 3 decisions of a Spec, not 2"):
        Table(path, 2)
    for number in (-1, 65):
        with pytest.raises(TableError, match="keeps 1 to 64 decisions"):
            Table(path.with_name("other"), number)
        assert not path.with_name("other").exists()


def test_a_missing_file_is_made_only_if_that_is_wanted(path: Path) -> None:
    refused(path, "there is no table at", create=False)
    assert not path.exists()
    path.touch()
    refused(path, "there is no table at", create=False)
    with Table(path) as table:
        assert table.keys() == []
    with Table(path, create=False) as table:
        assert table.check() == []


def test_a_closed_table_says_so(path: Path) -> None:
    table = Table(path)
    table.close()
    with pytest.raises(TableError, match=f"the table {path} is closed; open it again"):
        table.keys()


def test_other_files_are_refused(path: Path) -> None:
    for text in ("no table\n" * 1000, "a short note", "\0"):
        path.write_text(text)
        refused(path, "damaged, or no table")
        refused(path, "damaged, or no table", create=False)
    path.unlink()
    with closing(sqlite3.connect(path)) as file:
        file.execute("CREATE TABLE about (name, value)")
    refused(path, "no table of Morello's")


def test_a_table_of_another_format_is_refused(path: Path) -> None:
    fill(path)
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("UPDATE about SET value = '99' WHERE name = 'version'")
    refused(path, "has format 99, and this Morello reads")


def test_a_table_without_its_parts_is_refused(path: Path) -> None:
    for statement in (
        "DROP TABLE goals",
        "UPDATE about SET value = '3' WHERE name = 'keeps'",
        "DELETE FROM about WHERE name = 'keeps'",
        "PRAGMA user_version = 7",
    ):
        path.unlink(missing_ok=True)
        fill(path)
        with closing(sqlite3.connect(path)) as file, file:
            file.execute(statement)
        refused(path, "is damaged")


def test_places_where_no_file_can_be(tmp_path: Path) -> None:
    refused(tmp_path, "is a folder")
    refused(tmp_path / "no" / "folder", "give a file in a folder that can be written")


def test_a_log_that_cannot_be_read_is_not_left_out(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its content would be missing, were the file read alone."""
    fill(path)
    path.with_name(f"{path.name}-wal").write_bytes(b"something")
    monkeypatch.setattr("morello.memo.store._connected", lambda *_, **__: Unopened())
    with pytest.raises(TableError, match="unable to open"):
        Table(path, create=False)


class Unopened:
    """A connection to a file that nothing can be written beside."""

    def execute(self, _: str) -> None:
        error = sqlite3.OperationalError("unable to open database file")
        error.sqlite_errorcode = sqlite3.SQLITE_CANTOPEN
        raise error


def test_a_table_that_another_process_holds_is_waited_for(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Table, "patience_s", 0.05)
    fill(path)
    with Table(path) as table, closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert known(table, KEYS[0]), "it can be read meanwhile"
        with pytest.raises(TableError, match="another process writes to it; try again"):
            table.add({KEYS[0]: sample(9)})
        other.execute("ROLLBACK")
        table.add({KEYS[0]: sample(9)})
        assert len(known(table, KEYS[0])) == 4 * 9
