"""The folder of shared objects: where it is, that no one else can write to it, what is whole."""

from __future__ import annotations

import hashlib
import os
import stat
import sys
from pathlib import Path

from morello.errors import BuildError

_MARK = b"morello "
_SEAL_BYTES = len(_MARK) + hashlib.sha256().digest_size


def default_cache() -> Path:
    """`$MORELLO_CACHE`, else `$XDG_CACHE_HOME/morello`, else `~/.cache/morello`.

    Raises `BuildError` if that takes a home directory and there is none.
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
    """Makes the folder if there is none, for this user alone.

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


# ---- whose it is: what is loaded from the cache runs as this user


def check_private(path: Path) -> None:
    """Raises `BuildError` if users other than this one and root may change what is at `path`.

    What counts is what it leads to, if it is a link. The folders above may be anybody's, as
    long as no one else may put something else in its place.
    """
    if sys.platform == "win32":
        return
    real = path.resolve()
    found = real.stat()
    if found.st_uid not in (0, os.geteuid()):
        raise _unsafe(real, "it belongs to another user", "make it your own")
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise _unsafe(real, _writable(real, found), f"run `chmod go-w {real}`")
    for parent in real.parents:
        above = parent.stat()
        if _others_may_rename_in(above):
            raise _unsafe(real, _writable(parent, above), f"run `chmod go-w {parent}`")


def _others_may_rename_in(folder: os.stat_result) -> bool:
    if folder.st_mode & stat.S_ISVTX:
        return False
    # Where each user has a group of their own, folders are often writable by it.
    by_group = folder.st_mode & stat.S_IWGRP and folder.st_gid != os.getgid()
    return bool(by_group or folder.st_mode & stat.S_IWOTH)


def _writable(path: Path, found: os.stat_result) -> str:
    return f"other users may write to {path}, whose mode is {stat.S_IMODE(found.st_mode):o}"


def _unsafe(path: Path, reason: str, remedy: str) -> BuildError:
    return BuildError(
        f"no code is loaded from {path}, since {reason}; set MORELLO_CACHE to a directory that "
        f"only this user can write, or {remedy} if you trust what is there."
    )


# ---- that it is whole
#
# The hash of an object is at its end, where loaders do not look. So there is one file, which
# appears at once, and neither a crash nor two processes can leave one beside another's hash.


def is_whole(library: Path) -> bool:
    """Whether there is an object, just as `publish` put it there.

    Raises `BuildError` if other users may change it.
    """
    try:
        if not library.is_file():  # a pipe could be waited for without end
            return False
        check_private(library)
        content = library.read_bytes()
    except OSError:
        return False
    return content[-_SEAL_BYTES:] == _seal(library, content[:-_SEAL_BYTES])


def publish(made: Path, library: Path) -> None:
    """Moves a new object to its place in the cache; `OSError` if that cannot be."""
    seal = _seal(library, made.read_bytes())
    with made.open("ab") as file:
        file.write(seal)
        file.flush()
        os.fsync(file.fileno())  # or its name might outlive a crash, and not its contents
    made.chmod(made.stat().st_mode & 0o755)
    os.replace(made, library)


def _seal(library: Path, content: bytes) -> bytes:
    """The trailer of an object: a mark, and the hash of its file name and content."""
    return _MARK + hashlib.sha256(library.name.encode() + b"\0" + content).digest()
