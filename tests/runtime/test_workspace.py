from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

import pytest

from morello.native.workspace import workspace

STAY = """
import subprocess, sys
from pathlib import Path
from morello.native.workspace import workspace
with workspace(Path(sys.argv[1])) as room:
    (room.path / "kernel.c").write_text("...")
    if sys.argv[2] == "compiler":
        child = subprocess.Popen(
            [sys.executable, "-c", "print('begun', flush=True); input()"], pass_fds=(room.lock,)
        )
        child.wait()
    print("begun", flush=True)
    input()
"""


def begin(cache: Path, who: str = "alone") -> subprocess.Popen[str]:
    """A process that has a workspace, until it is killed, or its input ends."""
    process = subprocess.Popen(
        [sys.executable, "-c", STAY, str(cache), who],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None and process.stdout.readline() == "begun\n"
    return process


def kill(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGKILL)
    process.wait()


def entries(cache: Path) -> int:
    return len(list(cache.iterdir()))


def test_it_is_gone_at_the_end(tmp_path: Path) -> None:
    with workspace(tmp_path) as room:
        assert list(room.path.iterdir()) == []
        (room.path / "file").touch()
        with workspace(tmp_path) as another:
            assert another.path != room.path
            assert (room.path / "file").exists(), "it is in use"
    assert entries(tmp_path) == 0
    with pytest.raises(ZeroDivisionError), workspace(tmp_path):
        _ = 1 // 0
    assert entries(tmp_path) == 0


def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    first, second = begin(tmp_path), begin(tmp_path)
    kill(first)
    assert entries(tmp_path) == 2
    with workspace(tmp_path):
        assert entries(tmp_path) == 2, "that of the living, and this one"
        assert len(list(tmp_path.rglob("kernel.c"))) == 1
    kill(second)
    with workspace(tmp_path):
        pass
    assert entries(tmp_path) == 0


def test_a_compiler_may_outlive_its_process(tmp_path: Path) -> None:
    process = begin(tmp_path, "compiler")
    kill(process)
    with workspace(tmp_path):
        assert len(list(tmp_path.rglob("kernel.c"))) == 1
    assert process.stdin is not None and process.stdout is not None
    process.stdin.close()
    assert process.stdout.read() == "", "the compiler has ended"
    with workspace(tmp_path):
        pass
    assert entries(tmp_path) == 0


def test_those_that_were_hardly_begun_or_hardly_left(tmp_path: Path) -> None:
    (tmp_path / "build-empty").mkdir()
    (tmp_path / "build-locked").mkdir()
    (tmp_path / "build-locked" / "lock").touch()
    (tmp_path / "kept.so").touch()
    with workspace(tmp_path):
        pass
    assert [one.name for one in tmp_path.iterdir()] == ["kept.so"]


def test_a_folder_that_is_taken_for_an_abandoned_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mkdtemp, opened = tempfile.mkdtemp, os.open
    lost: list[str] = []

    def make(**options: object) -> str:
        folder = mkdtemp(**options)  # type: ignore[call-overload]
        if not lost:
            os.rmdir(folder)  # before there is a lock
            lost.append(folder)
        return str(folder)

    def open_(path: Path, flags: int, mode: int) -> int:
        lock = opened(path, flags, mode)
        if len(lost) == 1:
            path.unlink()  # before it is held
            path.parent.rmdir()
            lost.append(str(path.parent))
        return lock

    monkeypatch.setattr("tempfile.mkdtemp", make)
    with ExitStack() as stack:
        with monkeypatch.context() as patch:
            patch.setattr("os.open", open_)
            room = stack.enter_context(workspace(tmp_path))
        assert room.path.is_dir() and len(lost) == 2
        assert str(room.path.parent) not in lost


def test_where_there_are_no_locks_nothing_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr("fcntl.flock", none)
    with workspace(tmp_path) as first:
        with workspace(tmp_path):
            assert first.path.is_dir()
        assert first.path.is_dir()
    assert entries(tmp_path) == 0
