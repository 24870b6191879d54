"""Marks of shared objects in the kernel cache that were verified, so that it is done once.

A mark is a file beside its object. It has the hash that the object ends with, and one of what was
verified: neither holds for an object that was built anew, or for another Spec.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path

from morello.base.errors import FileError
from morello.base.files import write_text
from morello.base.version import __version__
from morello.native.cache import check_private, hash_of

ENDING = ".verified"


def verified_error(library: Path, spec: str) -> float | None:
    """The largest error when an object was verified for a Spec, given as text; None if it was not.

    Raises `BuildError` if other users may change the mark.
    """
    mark = library.with_suffix(ENDING)
    try:
        about, error = mark.read_text(encoding="utf-8").split()
        check_private(mark)
        return float(error) if about == _about(library, spec) else None
    except (OSError, ValueError):  # ValueError: it is damaged
        return None


def mark_verified(library: Path, spec: str, error: float) -> None:
    """Mark an object as verified for a Spec; without effect if the cache cannot be written."""
    with suppress(FileError, OSError):
        write_text(library.with_suffix(ENDING), f"{_about(library, spec)} {error!r}\n")


def _about(library: Path, spec: str) -> str:
    parts = [__version__.encode(), spec.encode(), hash_of(library)]
    return hashlib.blake2b(b"\0".join(parts), digest_size=32).hexdigest()
