"""The Pythons on this machine, of the versions that `pyproject.toml` says Morello is for.

    python3 tools/pythons.py

prints their paths, one a line, and on standard error which versions are not here. They are looked
for on `PATH`, and among those that pyenv and uv have installed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"


def main() -> None:
    for version in versions():
        python = find(version)
        print(python or f"no Python {version} here", file=sys.stdout if python else sys.stderr)


def versions() -> list[str]:
    """The versions of Python that the package is for, such as 3.11."""
    return re.findall(r'"Programming Language :: Python :: (3\.\d+)"', PROJECT.read_text())


def find(version: str) -> str | None:
    """The path of a Python of this version that runs, if there is one."""
    return next((path for path in _candidates(f"python{version}", version) if _runs(path)), None)


def _candidates(name: str, version: str) -> Iterator[str]:
    """Where a Python may be; pyenv has one on `PATH` that only runs if its version is chosen."""
    path = shutil.which(name)
    if path is not None:
        yield path
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    uv = Path(os.environ.get("UV_PYTHON_INSTALL_DIR", Path.home() / ".local/share/uv/python"))
    for folder, pattern in (pyenv, f"{version}.*"), (uv, f"cpython-{version}.*"):
        yield from map(str, sorted(folder.glob(f"{pattern}/bin/{name}")))


def _runs(python: str) -> bool:
    return subprocess.run([python, "-c", ""], stderr=subprocess.DEVNULL).returncode == 0


if __name__ == "__main__":
    main()
