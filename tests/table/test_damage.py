"""Damaged files: an error, or a gap that is named, or what was there; never something else."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from tests.table.pages import Content, content, page_of

from morello.base.errors import TableError
from morello.memo import Key, Page, Table

PAGE = 1024
"""Bytes of SQLite's pages."""
HEADER = 100
KEYS = [
    Key(f"space {space}", kind, part)
    for space in range(2)
    for kind in ("Matmul", "Move")
    for part in ("0", "0 1", "2 2 1")
]
GOALS = [(f"space {space}", f"goal {number}") for space in range(2) for number in range(3)]


@dataclass
class State:
    """The content of a file, and the defects that a check finds in it."""

    keeps: int
    pages: dict[Key, Content | None]
    programs: dict[tuple[str, str], str | None]
    lists: tuple[object, ...]
    done: set[str]
    problems: list[str]


def state(path: Path) -> State:
    with Table(path, create=False) as table:
        pages = {key: table.page(key) for key in KEYS}
        return State(
            table.keeps,
            {key: None if page is None else content(page) for key, page in pages.items()},
            {at: table.program(*at) for at in GOALS},
            (table.keys(), table.goals(), table.spaces()),
            table.done(),
            table.check(),
        )


def sample(number: int) -> Page:
    """Some of these pages are smaller than a page of SQLite's, and some are larger."""
    costs = np.random.default_rng(number).integers(0, 1 << 60, 1 + 23 * (number % 7)).tolist()
    return page_of(
        [
            (f"name {i % 3}", (i, 0, 0), (i, 1, 1), ((f"{i}:text", cost, 1),))
            for i, cost in enumerate(costs)
        ]
    )


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, State]:
    """A closed table, and what it says."""
    path = tmp_path_factory.mktemp("whole") / "t.db"
    with Table(path, 1) as table:
        table.add({key: sample(number) for number, key in enumerate(KEYS)})
        for number, at in enumerate(GOALS):
            text = " ".join(map(str, np.random.default_rng(number).integers(0, 999, 300 * number)))
            table.keep_program(*at, text)
        for number in range(40):
            table.add_task(f"{number:024x}", {}, {})
    assert not path.with_name("t.db-wal").exists()
    return path.read_bytes(), state(path)


def flipped(data: bytes, bit: int) -> bytes:
    damaged = bytearray(data)
    damaged[bit // 8] ^= 1 << bit % 8
    return bytes(damaged)


def tried(path: Path, data: bytes, wanted: State) -> str:
    """The outcome of these bytes: "error", "named" damage, or the "same"; fails otherwise."""
    path.write_bytes(data)
    try:
        found = state(path)
    except TableError as error:
        assert "\n" not in str(error)
        return "error"
    finally:
        for extra in path.parent.glob(path.name + "-*"):
            extra.unlink()
    assert found.keeps == wanted.keeps
    for key, page in found.pages.items():
        assert page is None or page == wanted.pages[key]
    for at, program in found.programs.items():
        assert program is None or program == wanted.programs[at]
    if found.problems:
        return "named"
    # A task that is forgotten is done again.
    assert (found.pages, found.programs) == (wanted.pages, wanted.programs)
    assert found.lists == wanted.lists
    return "same"


def outcomes(path: Path, attempts: Iterator[bytes], wanted: State) -> dict[str, int]:
    found = [tried(path, data, wanted) for data in attempts]
    return {one: found.count(one) for one in ("error", "named", "same")}


def test_a_bit_anywhere(whole: tuple[bytes, State], tmp_path: Path) -> None:
    data, wanted = whole
    assert wanted.problems == []
    choose = random.Random(0)
    bits = [
        8 * PAGE * page + choose.randrange(8 * PAGE)
        for _ in range(3)
        for page in range(len(data) // PAGE)
    ]
    found = outcomes(tmp_path / "t.db", (flipped(data, bit) for bit in bits), wanted)
    assert min(found.values()) > 0 and found["named"] > len(bits) // 4


def test_a_bit_of_the_header_and_of_what_the_tables_are(
    whole: tuple[bytes, State], tmp_path: Path
) -> None:
    data, wanted = whole
    schema = data.index(b"CREATE TABLE tasks") * 8
    bits = [*range(0, 8 * HEADER, 13), *range(schema, 8 * PAGE, 139)]
    found = outcomes(tmp_path / "t.db", (flipped(data, bit) for bit in bits), wanted)
    assert found["error"] > len(bits) // 3


def test_a_part_of_a_file(whole: tuple[bytes, State], tmp_path: Path) -> None:
    data, wanted = whole
    cut = (data[:length] for length in range(0, len(data), 3067))
    assert outcomes(tmp_path / "t.db", cut, wanted)["same"] == 0


def test_a_page_in_the_place_of_another(whole: tuple[bytes, State], tmp_path: Path) -> None:
    data, wanted = whole
    pages = [data[at : at + PAGE] for at in range(0, len(data), PAGE)]

    def copied() -> Iterator[bytes]:
        choose = random.Random(1)
        for place in range(len(pages)):
            other = choose.choice([i for i in range(len(pages)) if i != place])
            yield b"".join([*pages[:place], pages[other], *pages[place + 1 :]])
            yield b"".join([*pages[:place], bytes(PAGE), *pages[place + 1 :]])

    assert outcomes(tmp_path / "t.db", copied(), wanted)["named"] > 0


def test_a_bit_of_what_is_not_yet_merged_into_the_file(tmp_path: Path) -> None:
    """Files that a killed process left beside the table: the batches before are complete."""
    path, copy = tmp_path / "t.db", tmp_path / "copy.db"
    with Table(path) as table:
        states: list[Content] = [{}]
        for number in range(1, 5):
            table.add({KEYS[0]: sample(number)})
            page = table.page(KEYS[0])
            assert page is not None
            states.append(content(page))
        main, log = path.read_bytes(), path.with_name("t.db-wal").read_bytes()
    choose = random.Random(2)
    seen = set()
    for bit in [*range(0, 8 * 32, 37), *(choose.randrange(8 * len(log)) for _ in range(20))]:
        copy.write_bytes(main)
        copy.with_name("copy.db-wal").write_bytes(flipped(log, bit))
        try:
            with Table(copy) as table:
                page = table.page(KEYS[0])
                assert table.check() == []
        except TableError:
            continue
        found: Content = {} if page is None else content(page)
        assert found in states
        seen.add(states.index(found))
    assert len(seen) > 2


# ---- pages that are damaged in a file that is not


def damage(table: Table, key: Key) -> None:
    """Flip a bit of the page of a key."""
    with table._store.writing():
        body = table._store.read(key)
        assert body is not None
        table._store.write(key, flipped(body, 99))


def test_a_damaged_page_is_named_and_counts_as_missing(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    with Table(path) as table:
        table.add({key: sample(3) for key in KEYS[:3]})
        damage(table, KEYS[1])
    with Table(path) as table:
        assert table.damaged == []
        for _ in range(2):
            assert [table.page(key) is None for key in KEYS[:3]] == [False, True, False]
        (named,) = table.damaged
        assert named.startswith(f"the page of {KEYS[1].kind}") and named.endswith("is damaged.")
        assert [key for key, _, _ in table.pages()] == [KEYS[0], KEYS[2]]
        assert table.check() == table.check() == [named]
        with Table(":memory:") as other:
            other.take([table])
            assert other.keys() == [KEYS[0], KEYS[2]]
        table.add({KEYS[1]: sample(4)})
        assert table.check() == []
        page = table.page(KEYS[1])
        assert page is not None and content(page) == content(sample(4))


def test_a_damaged_program_is_named_and_counts_as_missing(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    with Table(path) as table:
        for at in GOALS:
            table.keep_program(*at, "text")
        table._store._file.execute("UPDATE goals SET body = X'00' WHERE goal = 'goal 1'")
        lost = [at for at in GOALS if at[1] == "goal 1"]
        assert [at for at in GOALS if table.program(*at) is None] == lost
        table.damaged.clear()
        assert len(table.check()) == len(lost)
        table.keep_program(*lost[0], "again")
        assert table.program(*lost[0]) == "again"
        assert len(table.check()) == len(lost) - 1
