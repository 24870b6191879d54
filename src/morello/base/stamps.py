"""Stamps of files: the name, time and size of each, which change when its contents do."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path


def stamps(paths: Sequence[str]) -> Iterator[str]:
    """The stamp of each file or folder that exists."""
    for path in paths:
        with suppress(OSError):
            status = os.stat(path)
            yield f"{path} {status.st_mtime_ns} {status.st_size}"


def stamps_in(folder: Path) -> Iterator[str]:
    """The stamps of the files in a folder, however deep."""
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        if not entry.is_dir():
            yield from stamps([entry.path])
        elif entry.name != "__pycache__":
            yield from stamps_in(Path(entry.path))


def code_stamps() -> str:
    """The stamps of the files of this package."""
    return "\n".join(stamps_in(Path(__file__).parents[1]))
