"""Writing files atomically, keeping the kind, mode and owner of existing ones."""

from __future__ import annotations

import os
import secrets
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from morello.base.errors import FileError


def write_text(path: Path, text: str) -> None:
    """Write a file in UTF-8, as `write_bytes` does."""
    with _explained(path):
        content = text.encode()
    write_bytes(path, content)


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file, as `write_pieces` does."""
    write_pieces(path, [content])


def write_pieces(path: Path, pieces: Iterable[bytes | memoryview]) -> None:
    """Write a file of pieces that follow each other. Raises `FileError` if it cannot be written.

    A regular file is replaced atomically, by a new file that was flushed to disk before; links
    to it are followed. It keeps its mode and, as far as this user may set it, its owner; other
    hard links to it keep the old text. Pipes, devices, and the file that standard output goes
    to, are written in place.
    """
    with _explained(path):
        status = _status(path)
        descriptor = _standard(status)
        if descriptor is not None:
            stream = sys.stdout if descriptor == 1 else sys.stderr
            stream.flush()
            _fill(os.dup(descriptor), pieces)
        elif status is not None and not stat.S_ISREG(status.st_mode):
            _fill(os.open(path, os.O_WRONLY | os.O_NOCTTY), pieces)
        else:
            _replace(_followed(path), status, pieces)


def check_writable(path: Path) -> None:
    """Raise `FileError` if a file cannot be written, as far as can be told without writing it."""
    with _explained(path):
        status = _status(path)
        if status is not None and stat.S_ISDIR(status.st_mode):
            raise FileError(f"{path} is a folder; give a file in it.")
        if status is not None and not _allowed(path, os.W_OK):
            raise FileError(f"{path} may not be written; give a file that can be written.")
        if _standard(status) is None and (status is None or stat.S_ISREG(status.st_mode)):
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


def check_outputs(outputs: Mapping[str, Path | None], others: Mapping[str, Path | None]) -> None:
    """Raise `FileError` if files cannot be written, or two of them or of `others` are the same.

    They are given by what they are for; None is for a file that is not wanted.
    """
    check_different({**others, **outputs})
    for path in outputs.values():
        if path is not None:
            check_writable(path)


def check_different(paths: Mapping[str, Path | None]) -> None:
    """Raise `FileError` if two paths, given by what they are for, lead to the same file."""
    seen: dict[object, str] = {}
    for name, path in paths.items():
        if path is None:
            continue
        with _explained(path):
            here = _identity(path)
        if here in seen:
            raise FileError(f"{seen[here]} and {name} are one file, {path}; give two.")
        seen[here] = name


def check_folder(folder: Path) -> None:
    """Raise `FileError` if a folder cannot be written to, nor made."""
    with _explained(folder):
        above = next(path for path in (folder, *folder.parents) if _status(path) is not None)
        if not above.is_dir():
            raise FileError(f"{above} is a file; give a folder.")
        if not _allowed(above, os.W_OK | os.X_OK):
            raise FileError(
                f"cannot write to {folder}: {above} may not be written; give another folder."
            )


def make_folder(path: Path) -> None:
    """Create the folder of a file if it does not exist. Raises `FileError`."""
    with _explained(path):
        path.parent.mkdir(parents=True, exist_ok=True)


def config_folder() -> Path:
    """`$XDG_CONFIG_HOME/morello`, else `~/.config/morello`.

    Raises `RuntimeError` if that takes a home directory and there is none.
    """
    return Path(os.environ.get("XDG_CONFIG_HOME") or "~/.config").expanduser() / "morello"


def _status(path: Path) -> os.stat_result | None:
    """The status of the file at a path, with links followed; None if there is none."""
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def _followed(path: Path) -> Path:
    """The path that a link leads to; other paths as they are, as parents may be unreadable."""
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def _identity(path: Path) -> object:
    """A key that is equal for two paths to the same file, whether or not it exists yet."""
    status = _status(path)
    if status is not None:
        return status.st_dev, status.st_ino
    end = _followed(path)
    folder = _status(end.parent)
    return (folder.st_dev, folder.st_ino, end.name) if folder else end


def _standard(status: os.stat_result | None) -> int | None:
    """The descriptor of standard output or error, if that is the file with this status."""
    for descriptor in (1, 2):
        try:
            if status is not None and os.path.samestat(status, os.fstat(descriptor)):
                return descriptor
        except OSError:  # it is closed
            continue
    return None


def _allowed(path: Path, mode: int) -> bool:
    return os.access(path, mode, effective_ids=os.access in os.supports_effective_ids)


def _replace(path: Path, old: os.stat_result | None, pieces: Iterable[bytes | memoryview]) -> None:
    """Replace a regular file, or create one, atomically."""
    temporary = path.parent / f".morello-{secrets.token_hex(8)}.tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    mode = 0o666 if old is None else 0o600  # private until it has the mode of the old one
    try:
        _fill(os.open(temporary, flags, mode), pieces, old)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _fill(
    descriptor: int, pieces: Iterable[bytes | memoryview], like: os.stat_result | None = None
) -> None:
    """Write to a descriptor and close it; with `like`, copy the owner and mode of that file."""
    with os.fdopen(descriptor, "wb") as file:
        file.writelines(pieces)
        file.flush()
        if like is not None:
            _copy_owner_and_mode(descriptor, like)
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.fsync(descriptor)


def _copy_owner_and_mode(descriptor: int, like: os.stat_result) -> None:
    """Give a file the mode of another one, and its owner and group as far as this user may."""
    for owner, group in ((-1, like.st_gid), (like.st_uid, -1)):
        with suppress(OSError):
            os.fchown(descriptor, owner, group)
    os.fchmod(descriptor, stat.S_IMODE(like.st_mode) & 0o777)


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:  # the reader has closed it, which is no error
        raise
    except (OSError, ValueError) as error:  # ValueError: a path that no file can have
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise FileError(f"cannot write {path}: {reason}; give another file.") from None
