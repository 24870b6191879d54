"""Writing text files for a user: whole or not at all, and as what they are."""

from __future__ import annotations

import os
import secrets
import stat
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from morello.errors import FileError


def write_text(path: Path, text: str) -> None:
    """Write a file. Raises `FileError` if it cannot be written.

    A regular file is replaced at once by one that is on the disk already, in the folder where
    links lead to, and keeps its mode and, as far as this user may, its owner; other hard links
    to it keep the old text. Pipes, devices, and the file that standard output goes to, are
    written to and stay what they are.
    """
    with _explained(path):
        found = _status(path)
        descriptor = _standard(found)
        if descriptor is not None:
            stream = sys.stdout if descriptor == 1 else sys.stderr
            stream.flush()
            _fill(os.dup(descriptor), text)
        elif found is not None and not stat.S_ISREG(found.st_mode):
            _fill(os.open(path, os.O_WRONLY | os.O_NOCTTY), text)
        else:
            _replace(_followed(path), found, text)


def check_writable(path: Path) -> None:
    """Raise `FileError` if a file cannot be written, as far as can be told without writing it."""
    with _explained(path):
        found = _status(path)
        if found is not None and stat.S_ISDIR(found.st_mode):
            raise FileError(f"{path} is a folder; give a file in it.")
        if found is not None and not _allowed(path, os.W_OK):
            raise FileError(f"{path} may not be written; give a file that can be written.")
        if _standard(found) is None and (found is None or stat.S_ISREG(found.st_mode)):
            folder = _followed(path).parent
            if not folder.is_dir():
                raise FileError(
                    f"cannot write {path}: there is no folder {folder}; make it, or give a file "
                    "in a folder that can be written."
                )
            if not _allowed(folder, os.W_OK | os.X_OK):
                raise FileError(
                    f"cannot write {path}: {folder} may not be written; give a file in a folder "
                    "that can be written."
                )


def check_different(paths: Mapping[str, Path]) -> None:
    """Raise `FileError` if two paths, each given as what it is for, lead to one file."""
    seen: dict[object, str] = {}
    for name, path in paths.items():
        with _explained(path):
            here = _identity(path)
        if here in seen:
            raise FileError(f"{seen[here]} and {name} are one file, {path}; give two.")
        seen[here] = name


def make_folder(path: Path) -> None:
    """Make the folder that a file is to be in, if there is none. Raises `FileError`."""
    with _explained(path):
        path.parent.mkdir(parents=True, exist_ok=True)


def _status(path: Path) -> os.stat_result | None:
    """The status of the file that all links lead to, if there is one."""
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def _followed(path: Path) -> Path:
    """Where a link leads to; others as they are, as the folders above may be closed to us."""
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def _identity(path: Path) -> object:
    """Equal for two paths that lead to one file, whether or not it is there yet."""
    found = _status(path)
    if found is not None:
        return found.st_dev, found.st_ino
    end = _followed(path)
    folder = _status(end.parent)
    return (folder.st_dev, folder.st_ino, end.name) if folder else end


def _standard(found: os.stat_result | None) -> int | None:
    """The descriptor of standard output or error, if that is what a path leads to."""
    for descriptor in (1, 2):
        try:
            if found is not None and os.path.samestat(found, os.fstat(descriptor)):
                return descriptor
        except OSError:  # it is closed
            continue
    return None


def _allowed(path: Path, mode: int) -> bool:
    return os.access(path, mode, effective_ids=os.access in os.supports_effective_ids)


def _replace(path: Path, old: os.stat_result | None, text: str) -> None:
    """Put a new file in the place of a regular file or of none."""
    temporary = path.parent / f".morello-{secrets.token_hex(8)}.tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    mode = 0o666 if old is None else 0o600  # others may read it once it is like the old one
    try:
        _fill(os.open(temporary, flags, mode), text, old)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _fill(descriptor: int, text: str, like: os.stat_result | None = None) -> None:
    """Write to a descriptor and close it; a file then has the owner and mode of `like`."""
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        if like is not None:
            _resemble(descriptor, like)
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.fsync(descriptor)


def _resemble(descriptor: int, like: os.stat_result) -> None:
    """Give a file the mode of another one, and its owner and group as far as this user may."""
    for owner, group in ((-1, like.st_gid), (like.st_uid, -1)):
        with suppress(OSError):
            os.fchown(descriptor, owner, group)
    os.fchmod(descriptor, stat.S_IMODE(like.st_mode) & 0o777)


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:  # whoever reads it has had enough
        raise
    except (OSError, ValueError) as error:  # ValueError: a path that no file can have
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise FileError(f"cannot write {path}: {reason}; give another file.") from None
