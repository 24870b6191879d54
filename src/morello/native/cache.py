"""The kernel cache, a folder of shared objects: its location, permissions and integrity."""

from __future__ import annotations

import hashlib
import os
import stat
import sys
from pathlib import Path

from morello.base.errors import BuildError

_MARK = b"morello "
_SEAL_BYTES = len(_MARK) + hashlib.sha256().digest_size


def default_cache() -> Path:
    """`$MORELLO_CACHE`, else `$XDG_CACHE_HOME/morello`, else `~/.cache/morello`.

    Raises `BuildError` if that needs a home directory and there is none.
    """
    shared = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    chosen = os.environ.get("MORELLO_CACHE") or f"{shared}/morello"
    try:
        return Path(chosen).expanduser()
    except RuntimeError:
        raise BuildError(
            f"the kernel cache {chosen} is in no known home directory; set MORELLO_CACHE to a "
            "directory that can be written."
        ) from None


def open_cache(cache: Path) -> None:
    """Creates the folder if there is none, with access for this user alone.

    Raises `BuildError` if it cannot be made, or if other users may write to it.
    """
    try:
        for folder in (*reversed(cache.parents), cache):
            if not folder.exists():
                folder.mkdir(0o700 if folder == cache else 0o755, exist_ok=True)
        if not cache.is_dir():
            raise NotADirectoryError(None, "it is no directory")
        check_private(cache)
    except OSError as error:
        raise unwritable(cache, error.strerror or str(error)) from error


def unwritable(cache: Path, reason: str) -> BuildError:
    """The error for a cache folder that cannot be written."""
    return BuildError(
        f"the kernel cache {cache} cannot be written ({reason}); "
        "set MORELLO_CACHE to a directory with room that can be written."
    )


# ---- ownership: code that is loaded from the cache runs as this user


def check_private(path: Path) -> None:
    """Raises `BuildError` if users other than this one and root may change what is at `path`.

    Links are followed. The parent folders may belong to anybody, as long as no other user may
    replace `path` in them.
    """
    if sys.platform == "win32":
        return
    real = path.resolve()
    status = real.stat()
    if status.st_uid not in (0, os.geteuid()):
        raise _unsafe(real, "it belongs to another user", "make it your own")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise _unsafe(real, _writable(real, status), f"run `chmod go-w {real}`")
    for parent in real.parents:
        parent_status = parent.stat()
        if _others_may_rename_in(parent_status):
            raise _unsafe(real, _writable(parent, parent_status), f"run `chmod go-w {parent}`")


def _others_may_rename_in(folder: os.stat_result) -> bool:
    if folder.st_mode & stat.S_ISVTX:
        return False
    # Where each user has a group of their own, folders are often writable by it.
    by_group = folder.st_mode & stat.S_IWGRP and folder.st_gid != os.getgid()
    return bool(by_group or folder.st_mode & stat.S_IWOTH)


def _writable(path: Path, status: os.stat_result) -> str:
    return f"other users may write to {path}, whose mode is {stat.S_IMODE(status.st_mode):o}"


def _unsafe(path: Path, reason: str, remedy: str) -> BuildError:
    return BuildError(
        f"no code is loaded from {path}, since {reason}; set MORELLO_CACHE to a directory that "
        f"only this user can write, or {remedy} if you trust what is there."
    )


# ---- integrity
#
# An object's hash is appended to its file, where loaders do not look. As a single file can be
# moved into place atomically, neither a crash nor concurrent processes can leave an object with
# the hash of another one.


def is_whole(library: Path) -> bool:
    """Whether the object exists, and is unchanged since `publish` put it there.

    Raises `BuildError` if other users may change it.
    """
    try:
        if not library.is_file():  # reading a pipe could block forever
            return False
        check_private(library)
        content = library.read_bytes()
    except OSError:
        return False
    return content[-_SEAL_BYTES:] == _seal(library, content[:-_SEAL_BYTES])


def hash_of(library: Path) -> bytes:
    """The hash that `publish` appended to an object; raises `OSError`."""
    with library.open("rb") as file:
        file.seek(len(_MARK) - _SEAL_BYTES, os.SEEK_END)
        return file.read()


def publish(new: Path, library: Path) -> None:
    """Moves a new object to its place in the cache, with its seal; raises `OSError`."""
    seal = _seal(library, new.read_bytes())
    with new.open("ab") as file:
        file.write(seal)
        file.flush()
        os.fsync(file.fileno())  # so that a crash cannot leave the name without the contents
    new.chmod(new.stat().st_mode & 0o755)
    os.replace(new, library)


def _seal(library: Path, content: bytes) -> bytes:
    """The trailer of an object: a mark, and the hash of its file name and content."""
    return _MARK + hashlib.sha256(library.name.encode() + b"\0" + content).digest()
