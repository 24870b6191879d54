"""Commands that read and write tables: output for people, output as JSON, and misuse."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from math import inf
from pathlib import Path
from typing import Any

import pytest

from morello.base.status import Status, listening
from morello.cli import precompute as precompute_command
from morello.cli.parser import main
from morello.frontends.ranges import family
from morello.memo import Table
from morello.precompute import Setting, precompute

GOAL = "f32[2,4] - f32[2,4]"
FAMILY = ["f32[m,n] - f32[m,n]", "m=1..2", "n=2"]
MEMBER = "f32[2,2] - f32[2,2]"
TARGET = ["--target", "avx2"]

Capture = pytest.CaptureFixture[str]


def run(capsys: Capture, *arguments: str | Path) -> str:
    """The output of a command."""
    assert main([str(one) for one in arguments]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


def data(capsys: Capture, *arguments: str | Path) -> Any:
    """The one object that a command prints."""
    return json.loads(run(capsys, *arguments, "--json"))


def refused(capsys: Capture, words: str, *arguments: str | Path) -> None:
    """A command ends with one sentence, in both forms of its output."""
    assert main([str(one) for one in arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("morello: ") and captured.err.endswith(".\n")
    assert re.search(words, captured.err), captured.err
    assert "Traceback" not in captured.err
    assert main([*(str(one) for one in arguments), "--json"]) == 2
    assert re.search(words, json.loads(capsys.readouterr().out)["error"])


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A precomputed table's file."""
    path = tmp_path_factory.mktemp("made") / "t.db"
    goals = family(FAMILY[0], FAMILY[1:])
    with Table(path, 1) as table, ThreadPoolExecutor(1) as workers:
        list(precompute(goals, table, Setting(TARGET[1]), workers, 1))
    return path.read_bytes()


@pytest.fixture
def path(made: bytes, tmp_path: Path) -> Path:
    """A precomputed table of a test's own."""
    path = tmp_path / "precomputed.db"
    path.write_bytes(made)
    return path


def test_the_second_time_nothing_is_searched(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "t.db"
    plain = run(capsys, "synth", GOAL)
    for command in ("synth", "explain"):
        codes = [run(capsys, command, GOAL, "--db", path) for _ in range(2)]
        if command == "synth":
            assert codes == [plain, plain]
    found = data(capsys, "explain", GOAL, "--db", path)
    assert found["search"]["specs"] == 0
    assert data(capsys, "explain", GOAL)["schedule"] == found["schedule"]
    other = data(capsys, "explain", GOAL, "--db", tmp_path / "other.db")
    assert other["search"]["specs"] > 0
    assert other["cost"] == found["cost"]
    timed = data(capsys, "bench", GOAL, "--db", path, "--seconds", "0.01")
    assert timed["search"]["specs"] == 0 and timed["verified"]


def test_a_table_of_answers_serves_where_programs_are_gone(path: Path, capsys: Capture) -> None:
    plain = run(capsys, "synth", MEMBER, *TARGET)
    for statement in ("SELECT 1", "DELETE FROM goals"):
        with Table(path) as table:
            table._store._file.execute(statement)
        assert run(capsys, "synth", MEMBER, *TARGET, "--db", path) == plain
    with Table(path) as table:
        assert len(table.goals()) == 1


def test_precompute_tells_what_it_did(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "t.db"
    command: list[str | Path] = ["precompute", *FAMILY, "--db", path]
    command += ["--keep", "2", "--workers", "1", *TARGET]
    found = data(capsys, *command)
    assert (found["specs"], found["failed"], found["path"]) == (2, 0, str(path))
    assert found["tasks"] >= 1 and found["seconds"] > 0
    before = path.read_bytes()
    assert data(capsys, *command)["tasks"] == found["tasks"]
    assert path.read_bytes() == before
    text = run(capsys, *command)
    assert re.fullmatch(rf"2 goals in {path}, \d+ KiB, in \d+ s\.\n", text)
    (listed,) = data(capsys, "table", "query", path, MEMBER, *TARGET)[:1]
    (first,) = listed["decisions"]
    assert (first["rewrite"], first["words"]) == ("join(i*j)", "i*j as one dimension")
    (listed,) = data(capsys, "table", "query", path, "f32[4] - f32[4]", *TARGET)[:1]
    assert len(listed["decisions"]) == 2


def test_stats(path: Path, capsys: Capture) -> None:
    found = data(capsys, "table", "stats", path)
    assert (found["path"], found["keeps"], found["goals"]) == (str(path), 1, 2)
    assert found["damaged"] == [] and found["bytes"] >= path.stat().st_size // 2
    (space,) = found["spaces"]
    assert space["target"] == "avx2" and set(space["limits"]) == {"L2", "L1", "registers"}
    names = [kind["name"] for kind in space["kinds"]]
    assert len(set(names)) == len(names)
    assert {"Subtract f32 x f32 x f32", "at least: Subtract f32 x f32 x f32"} <= set(names)
    for kind in space["kinds"]:
        assert kind["boxes"] >= kind["pages"] > 0 and kind["bytes"] > 0
        assert kind["exact"] >= kind["points"] >= kind["specs"] >= 0
    text = run(capsys, "table", "stats", path)
    for words in ("avx2 on 1 core: 192 KiB of L2", "16 registers", "2 whole programs", "all"):
        assert words in text
    assert re.search(r"1 choice for each answer, \d+ KiB on disk", text)


def test_check(path: Path, capsys: Capture) -> None:
    with Table(path) as table:
        pages = len(table.keys())
    heard: list[Status] = []
    with listening(heard.append):
        assert data(capsys, "table", "check", path) == {"path": str(path), "pages": pages}
    assert [each.done for each in heard if each.count == pages] == [*range(pages)]
    assert {each.phase for each in heard} == {"read"}
    assert re.fullmatch(
        rf"{path}: {pages} pages, all whole\.\n", run(capsys, "table", "check", path)
    )


def test_query(path: Path, capsys: Capture) -> None:
    found = data(capsys, "table", "query", path, MEMBER, *TARGET)
    best = found[0]
    assert best["decisions"][0]["cost"] == pytest.approx(
        data(capsys, "explain", MEMBER, *TARGET)["cost"]
    )
    assert all(best["peak"][level] <= limit for level, limit in best["limit"].items())
    text = run(capsys, "table", "query", path, MEMBER, *TARGET)
    assert f"first step: {best['decisions'][0]['words']}\n" in text and "registers" in text
    unknown = "f32[64,64] @ f32[64,64]"
    assert data(capsys, "table", "query", path, unknown, *TARGET) == []
    assert f"{path} knows nothing of {unknown}" in run(
        capsys, "table", "query", path, unknown, *TARGET
    )
    elsewhere = run(capsys, "table", "query", path, MEMBER, "--target", "avx512")
    assert "it has answers of 1 other machines, versions or calibrations" in elsewhere


def test_merge(path: Path, tmp_path: Path, capsys: Capture) -> None:
    other, whole = tmp_path / "other.db", tmp_path / "whole.db"
    run(capsys, "synth", GOAL, *TARGET, "--db", other)
    found = data(capsys, "table", "merge", whole, path, other)
    assert (found["path"], found["damaged"]) == (str(whole), [])
    assert found["bytes"] > 0
    goals = []
    for one in (path, other, whole):
        with Table(one) as table:
            assert table.check() == []
            goals.append(set(table.goals()))
    assert goals[2] == goals[0] | goals[1]
    assert re.fullmatch(rf"{whole}: \d+ KiB\.\n", run(capsys, "table", "merge", whole, other))
    for goal in (GOAL, "f32[1,2] - f32[1,2]"):
        assert data(capsys, "explain", goal, *TARGET, "--db", whole)["search"]["specs"] == 0


# ---- misuse


def damage(path: Path) -> None:
    """Damage a page of the table, but not its file."""
    with Table(path) as table:
        key = next(key for key, *_ in table.pages() if '"relaxed":false' in key.kind)
        with table._store.writing():
            table._store.write(key, b"damaged")


def test_a_damaged_page(path: Path, tmp_path: Path, capsys: Capture) -> None:
    damage(path)
    refused(capsys, "the page of .* is damaged", "table", "check", path)
    (named,) = data(capsys, "table", "stats", path)["damaged"]
    assert "is damaged." in run(capsys, "table", "stats", path)
    whole = tmp_path / "whole.db"
    assert main(["table", "merge", str(whole), str(path)]) == 0
    assert capsys.readouterr().err == f"morello: {named} It was left out.\n"
    assert data(capsys, "table", "check", whole)["pages"] > 0
    run(capsys, "synth", MEMBER, *TARGET, "--db", path)


def test_a_damaged_file(path: Path, capsys: Capture) -> None:
    content = bytearray(path.read_bytes())
    for at in range(2048, len(content), 97):
        content[at] ^= 0xFF
    commands: list[list[str | Path]] = [
        ["table", "stats", path],
        ["table", "check", path],
        ["table", "query", path, GOAL, *TARGET],
        ["table", "merge", path.with_name("whole.db"), path],
        ["precompute", *FAMILY, "--db", path, "--workers", "1", *TARGET],
        ["synth", GOAL, *TARGET, "--db", path],
    ]
    for command in commands:
        path.write_bytes(content)
        refused(capsys, "damaged", *command)


def test_a_file_that_is_no_table(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("no table\n" * 500)
    refused(capsys, "damaged, or no table", "table", "stats", path)
    refused(capsys, "damaged, or no table", "synth", GOAL, *TARGET, "--db", path)
    assert path.read_text() == "no table\n" * 500


def test_misuse_gets_a_sentence(path: Path, tmp_path: Path, capsys: Capture) -> None:
    missing, inside = tmp_path / "missing.db", tmp_path / "no" / "folder" / "t.db"
    solve: list[str | Path] = ["precompute", *FAMILY, "--db", tmp_path / "t.db", *TARGET]
    for action in ("stats", "check"):
        refused(capsys, "there is no table at", "table", action, missing)
    refused(capsys, "there is no table at", "table", "query", missing, GOAL)
    refused(capsys, "there is no table at", "table", "merge", tmp_path / "new.db", missing)
    refused(capsys, "folder that can be written", "synth", GOAL, *TARGET, "--db", inside)
    refused(capsys, "at least 1", "table", "query", path, "f32[0,1] @ f32[1,1]")
    refused(capsys, "m=8..1 is no range", "precompute", "f32[m]", "m=8..1", "--db", missing)
    refused(capsys, "m=8..1 is no range", "precompute", "f32[m]", "--db", missing, "m=8..1")
    refused(capsys, "needs a range for n", "precompute", "f32[n]", "--db", missing)
    refused(capsys, "5 and 4 differ", "precompute", "f32[m,5] @ f32[4,m]", "m=2", "--db", missing)
    refused(capsys, "keeps 1 to 64", *solve, "--keep", "65")
    refused(capsys, "unknown target 'vax'", *solve[:-1], "vax")
    refused(capsys, "no Dask scheduler answers", *solve, "--dask", "nowhere://1")
    keep: list[str | Path] = ["precompute", *FAMILY, "--db", path, "--keep", "3", *TARGET]
    refused(capsys, "was made to keep 1 decisions of a Spec, not 3", *keep)
    assert not missing.exists()


OF_OTHERS = """
import os, sys, morello.cli.bench
from morello.base.status import Status, listening
from morello.cli.parser import main
from morello.base.errors import TableError
from morello.memo import Table
path = sys.argv[1]
actions = ["stats"], ["check"], ["query", "f32[4,4] @ f32[4,4]", "--target", "avx2"]
def look():
    for action, *more in actions:
        assert main(["table", action, path, *more]) == 0
look()  # loads all that it takes, as our own files may be closed to others
if os.geteuid() == 0:
    os.setgid(54321), os.setuid(12345)
look()
with Table(path, create=False) as table:
    print(len(table.keys()), "pages")
    try:
        table.add({key: page for key, page, _ in table.pages()})
    except TableError as error:
        print(error)
assert main(["explain", "f32[4,4] @ f32[4,4]", "--db", path]) == 2
assert main(["table", "merge", path, path]) == 2
"""


@pytest.mark.parametrize("folder", [0o777, 0o555])
def test_tables_that_are_only_to_be_read(folder: int, made: bytes) -> None:
    """By another user, if this one is root; whether or not anything can be put beside it."""
    with tempfile.TemporaryDirectory() as place:  # others may not look into those of the tests
        path = Path(place, "a table.db")
        path.write_bytes(made)
        path.chmod(0o444)
        path.parent.chmod(folder)
        command = [sys.executable, "-c", OF_OTHERS, str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        path.parent.chmod(0o700)
        assert done.returncode == 0, done.stderr
        (pages,) = set(re.findall(r"(\d+) pages", done.stdout))
        assert int(pages) > 0 and done.stdout.count("all whole") == 2
        assert "readonly database; give a file that can be written." in done.stdout
        said = f"morello: {path} may not be written; give a file that can be written.\n"
        assert done.stderr == 2 * said
        assert path.read_bytes() == made


def test_tables_that_keep_different_numbers(path: Path, tmp_path: Path, capsys: Capture) -> None:
    other = tmp_path / "two.db"
    Table(other, 2).close()
    refused(capsys, "only tables that keep as many can be merged", "table", "merge", path, other)


def test_how_long_it_may_take() -> None:
    left = precompute_command._left
    assert left(10.0, 0.0, 0.005) == inf and left(10.0, 0.5, 1.0) == 0.0
    assert left(10.0, 0.0, 0.5) == 10.0
    assert left(600.0, 0.25, 0.5) == 1200.0
