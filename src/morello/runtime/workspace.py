"""Folders to compile in, which a later build removes if their process was killed."""

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
    """An empty folder, `path`, and a file descriptor, `lock`: in use as long as that is open.

    A process that works in the folder must inherit the lock, as it may outlive this one.
    """

    path: Path
    lock: int


@contextmanager
def workspace(cache: Path) -> Iterator[Workspace]:
    """A new workspace inside `cache`, gone at the end, and with it those left behind.

    Raises `OSError` if there cannot be one.
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
            continue  # another build took it for an abandoned one
        held = _hold(lock)
        # None: there are no locks in this file system, and so nobody removes it.
        if held is None or (held and folder.exists()):
            return folder, lock
        os.close(lock)


def _hold(lock: int) -> bool | None:
    """Whether this process has the lock from now on; None if it cannot be known.

    The system lets go of it when all who have it open are gone, however they end. Other
    machines see it as well, where they share the folder.
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
    """Removes the folders in `cache` that are in nobody's use."""
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
    """Remove a folder whose lock is held; the lock file last, so that others can finish."""
    shutil.rmtree(folder / _ROOM, ignore_errors=True)
    shutil.rmtree(folder, ignore_errors=True)


def _remove_empty(folder: Path) -> None:
    """Remove a folder without a lock file, unless one appears meanwhile."""
    try:
        folder.rmdir()
    except OSError:
        return
