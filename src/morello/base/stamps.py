"""Stamps of files: the name, time and size of each, which change when its contents do."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
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


def imported(package: str, folder: Path, names: Iterable[str]) -> set[Path]:
    """The files of these modules of a package, and of those of it that they import, and so on.

    Found are imports from a module, as `from package.module import name`, wherever they stand.
    """
    files, left = set[Path](), {folder / f"{name}.py" for name in names}
    while left:
        files |= left
        text = "\n".join(path.read_text() for path in left)
        others = re.findall(rf"^ *from {re.escape(package)}\.(\w+) import", text, re.MULTILINE)
        left = {folder / f"{name}.py" for name in others} - files
    return files


def code_stamps() -> str:
    """The stamps of the files of this package."""
    return "\n".join(stamps_in(Path(__file__).parents[1]))
