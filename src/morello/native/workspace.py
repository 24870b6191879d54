"""Temporary folders to compile in; later builds remove those of killed processes."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

if sys.platform != "win32":
    import fcntl

_PREFIX = "build-"
_LOCK = "lock"
_ROOM = "room"


@dataclass(frozen=True)
class Workspace:
    """An empty folder, `path`, which is in use as long as the file descriptor `lock` is open.

    A child process that works in the folder must inherit `lock`, as it may outlive this one.
    """

    path: Path
    lock: int


@contextmanager
def workspace(cache: Path) -> Iterator[Workspace]:
    """A new workspace inside `cache`, removed at the end; abandoned ones are removed first.

    Raises `OSError` if it cannot be created.
    """
    _remove_abandoned(cache)
    folder, lock = _claim(cache)
    try:
        (folder / _ROOM).mkdir()
        yield Workspace(folder / _ROOM, lock)
    finally:
        _remove(folder)
        os.close(lock)


def _claim(cache: Path) -> tuple[Path, int]:
    """A new folder in `cache`, and the lock that is held on it."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=cache))
        try:
            lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        except FileNotFoundError:
            continue  # another build removed it as abandoned
        locked = _hold(lock)
        # None: this file system has no locks, so no other build removes the folder.
        if locked is None or (locked and folder.exists()):
            return folder, lock
        os.close(lock)


def _hold(lock: int) -> bool | None:
    """Tries to take a lock; returns whether this process has it, None if locks do not work.

    The system releases it when all processes that have it open have ended, however they end.
    Machines that share the folder see the lock, too.
    """
    if sys.platform == "win32":
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _remove_abandoned(cache: Path) -> None:
    """Removes the workspaces in `cache` that no process uses."""
    for folder in cache.glob(f"{_PREFIX}*"):
        try:
            lock = os.open(folder / _LOCK, os.O_RDWR)
        except FileNotFoundError:
            _remove_empty(folder)
            continue
        except OSError:
            continue
        try:
            if _hold(lock):
                _remove(folder)
        finally:
            os.close(lock)


def _remove(folder: Path) -> None:
    """Removes a folder whose lock is held; the lock file last, so that others can finish it."""
    shutil.rmtree(folder / _ROOM, ignore_errors=True)
    shutil.rmtree(folder, ignore_errors=True)


def _remove_empty(folder: Path) -> None:
    """Removes a folder without a lock file, unless one appears meanwhile."""
    try:
        folder.rmdir()
    except OSError:
        return
