"""Files are written whole or not at all, and stay what they are."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support import mode, umask
from tests.waiting import PATIENCE_S

from morello.base import files
from morello.base.errors import FileError
from morello.base.files import check_different, check_writable, make_folder, write_text
from morello.cli.parser import main

SMALL = "f32[8,8] @ f32[8,8]"


@pytest.fixture(autouse=True)
def nothing_is_left(tmp_path: Path) -> Iterator[None]:
    """No test leaves a temporary file behind."""
    yield
    assert not list(tmp_path.rglob(".morello-*"))


@pytest.mark.parametrize(("mask", "wanted"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_a_new_file_has_the_mode_that_the_umask_leaves(
    tmp_path: Path, mask: int, wanted: int
) -> None:
    path = tmp_path / "new"
    with umask(mask):
        write_text(path, "text π\n")
    assert path.read_text(encoding="utf-8") == "text π\n"
    assert mode(path) == wanted


@pytest.mark.parametrize("kept", [0o600, 0o640, 0o755, 0o444])
def test_a_file_keeps_its_mode(tmp_path: Path, kept: int) -> None:
    path = tmp_path / "old"
    path.write_text("old, and longer than the new one")
    path.chmod(kept)
    write_text(path, "new")
    assert path.read_text() == "new"
    assert mode(path) == kept


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_a_file_keeps_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "old"
    path.write_text("old")
    os.chown(path, 12345, 54321)
    path.chmod(0o640)
    write_text(path, "new")
    found = path.stat()
    assert (found.st_uid, found.st_gid, mode(path)) == (12345, 54321, 0o640)


def test_owners_that_cannot_be_kept_do_not_stop_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "fchown", refuse)
    path = tmp_path / "old"
    path.write_text("old")
    path.chmod(0o640)
    write_text(path, "new")
    assert path.read_text() == "new" and mode(path) == 0o640


def test_links_are_followed(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    real, first, second = folder / "real", tmp_path / "first", tmp_path / "second"
    second.symlink_to("folder/real")
    first.symlink_to(second)
    for text in ("made", "replaced"):
        write_text(first, text)
        assert real.read_text() == text
        assert first.is_symlink() and second.is_symlink() and not real.is_symlink()


def test_a_pipe_is_written_through(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    got: list[str] = []
    reader = threading.Thread(target=lambda: got.append(path.read_text()))
    reader.start()
    check_writable(path)
    write_text(path, "through")
    reader.join(PATIENCE_S)
    assert got == ["through"]
    assert stat.S_ISFIFO(path.lstat().st_mode)


def test_a_device_stays_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise AssertionError("a device must not be replaced")

    monkeypatch.setattr(files, "_replace", never)
    before = os.stat(os.devnull)
    check_writable(Path(os.devnull))
    write_text(Path(os.devnull), "nothing")
    after = os.stat(os.devnull)
    assert stat.S_ISCHR(after.st_mode)
    assert (before.st_ino, before.st_mode) == (after.st_ino, after.st_mode)
    with pytest.raises(FileError, match="No space left"):
        write_text(Path("/dev/full"), "x")


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "out"])
def test_the_file_of_standard_output_is_written_to_and_not_replaced(
    name: str, tmp_path: Path
) -> None:
    """It is written in order with earlier and later output, even to a regular file."""
    code = (
        "import sys; from pathlib import Path; from morello.base.files import write_text;"
        "print('before'); write_text(Path(sys.argv[1]), 'it\\n'); print('after')"
    )
    out = tmp_path / "out"
    with out.open("w") as stream:
        stream.write("first\n")
        stream.flush()
        command = [sys.executable, "-c", code, name]
        subprocess.run(command, stdout=stream, check=True, cwd=tmp_path)
    assert out.read_text() == "first\nbefore\nit\nafter\n"


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, OSError(28, "full")])
@pytest.mark.parametrize("where", ["os.fsync", "os.fchmod", "pathlib.Path.replace"])
def test_what_was_there_stays_if_anything_goes_wrong(
    where: str, error: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "old"
    path.write_text("old")

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(where, fail)
    with pytest.raises(FileError if isinstance(error, OSError) else error):
        write_text(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_what_cannot_be_written_is_told_ahead(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    for path, said in (
        (tmp_path, "is a folder"),
        (tmp_path / "no" / "such", "there is no folder"),
        (tmp_path / "file" / "x", "Not a directory"),
        (loop, "symbolic links"),
        (tmp_path / ("x" * 300), "too long"),
        (Path("a\0b"), "null"),
    ):
        with pytest.raises(FileError, match=said):
            check_writable(path)
        with pytest.raises(FileError):
            write_text(path, "text")
    with pytest.raises(FileError, match=r"Not a directory|exists"):
        make_folder(tmp_path / "file" / "x")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_what_another_user_may_not_write_is_told_ahead(tmp_path: Path) -> None:
    code = """
import os, sys
from pathlib import Path
from morello.base.errors import FileError
from morello.base.files import check_writable
os.chdir(sys.argv[1])
os.setgid(54321), os.setuid(12345)
for path in "mine", "open/theirs", "open/new", "new", "open/readable":
    try:
        check_writable(Path(path))
        print(path, "can")
    except FileError as error:
        print(path, error)
"""
    tmp_path.chmod(0o755)
    (tmp_path / "mine").write_text("")
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(0o777)
    (folder / "theirs").write_text("")
    (folder / "theirs").chmod(0o666)
    (folder / "readable").write_text("")
    (folder / "readable").chmod(0o644)
    command = [sys.executable, "-c", code, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    mine, theirs, new, other, readable = done.stdout.splitlines()
    assert theirs == "open/theirs can" and new == "open/new can"
    assert "may not be written" in mine and "may not be written" in readable
    assert "in a folder that can be written" in other


def test_one_file_by_two_names_is_refused(tmp_path: Path) -> None:
    one, hard, soft = tmp_path / "one", tmp_path / "hard", tmp_path / "soft"
    one.write_text("")
    hard.hardlink_to(one)
    soft.symlink_to(one)
    (tmp_path / "folder").symlink_to(tmp_path)
    new, link = tmp_path / "new", tmp_path / "link"
    link.symlink_to("new")
    groups = [
        [one, hard, soft, tmp_path / "." / "one", tmp_path / "folder" / "one"],
        [new, link, tmp_path / "folder" / "new", tmp_path / "x" / ".." / "new"],
        [Path(os.devnull)],
    ]
    check_different({str(n): group[0] for n, group in enumerate(groups)})
    (tmp_path / "x").mkdir()
    for group in groups:
        for other in group:
            with pytest.raises(FileError, match="-o and --header are one file"):
                check_different({"-o": group[0], "--db": tmp_path / "y", "--header": other})


@pytest.fixture
def unsearched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder, in which no search may begin."""

    def never(*_: object, **__: object) -> None:
        raise AssertionError("there is no need to search")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("morello.search.session.Session.solve", never)
    return tmp_path


@pytest.mark.parametrize(
    "options",
    [
        ["-o", "x", "--header", "x"],
        ["-o", "x", "--save", "./x"],
        ["--header", "x", "--save", "link"],
        ["--save", "x", "--db", "x"],
        ["-o", "no/such/x"],
        ["--header", "."],
    ],
)
def test_synth_says_so_before_it_searches(
    options: list[str], unsearched: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (unsearched / "link").symlink_to("x")
    assert main(["synth", SMALL, *options]) == 2
    assert capsys.readouterr().err.startswith("morello: ")
    assert [path.name for path in unsearched.iterdir()] == ["link"]


@pytest.mark.parametrize(
    "words",
    [
        ["explain", SMALL, "--html", "x", "--certificate", "x"],
        ["explain", SMALL, "--html", "link", "--against", "x"],
        ["bench", SMALL, "--plot", "x", "--certificate", "link"],
        ["bench", SMALL, "--certificate", "no/such/x"],
        ["tune", SMALL, "--save", "x", "--db", "x"],
        ["export", "link", SMALL],
        ["export", "link/x", SMALL],
        ["export", "folder", SMALL, "--name", "for"],
    ],
)
def test_other_commands_say_so_before_they_search(
    words: list[str], unsearched: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (unsearched / "x").write_text("old")
    (unsearched / "link").symlink_to("x")
    assert main(words) == 2
    assert capsys.readouterr().err.startswith("morello: ")
    assert {path.name for path in unsearched.iterdir()} == {"x", "link"}
    assert (unsearched / "x").read_text() == "old"


def test_calibrate_says_so_before_it_measures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("there is no need to measure")

    monkeypatch.setattr("morello.cli.calibrate.calibrate", never)
    assert main(["calibrate", "--output", str(tmp_path)]) == 2
    assert "is a folder" in capsys.readouterr().err
