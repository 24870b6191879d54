"""Pin the newest allowed version of every dependency: run by `make lock`.

    .venv/bin/python tools/lock.py

`requirements.lock` has what Morello and its tests need. Every other lock has what that one lacks,
in versions that go with it and with the locks before: all can be installed together.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BASE = "requirements.lock"
EXTRAS = {
    "requirements-learn.lock": ("learn", "study"),
    "requirements-docs.lock": ("docs",),
}
"""The other locks, and the extras of `pyproject.toml` that each is for, in the order of pinning."""

COMMAND = [
    "pip", "compile", "pyproject.toml", "--upgrade", "--universal", "--quiet",
    "--python-version", "3.11", "--fork-strategy", "fewest", "--generate-hashes",
    "--custom-compile-command", "make lock",
]  # fmt: skip


def main() -> None:
    install = [sys.executable, "-m", "pip", "install", "--quiet", "uv"]
    subprocess.run(install, check=True)
    compile_lock(BASE, ("dev",), [])
    pinned = [BASE]
    for lock, extras in EXTRAS.items():
        compile_lock(lock, extras, pinned)
        own = without((ROOT / lock).read_text(), (ROOT / BASE).read_text())
        (ROOT / lock).write_text(own)
        pinned.append(lock)


def compile_lock(lock: str, extras: Sequence[str], constraints: Sequence[str]) -> None:
    """Write the lock of some extras, whose versions are those of other locks."""
    command = [str(Path(sys.executable).with_name("uv")), *COMMAND]
    for extra in extras:
        command += ["--extra", extra]
    for constraint in constraints:
        command += ["--constraint", constraint]
    if index := package_index():
        command += ["--default-index", index]
    subprocess.run([*command, "--output-file", lock], cwd=ROOT, check=True)


def package_index() -> str:
    """The index that pip is set to use; empty for the usual one. The locks do not name it."""
    command = [sys.executable, "-m", "pip", "config", "get", "global.index-url"]
    configured = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    return os.environ.get("PIP_INDEX_URL", configured.strip())


def pins(lock: str) -> dict[str, str]:
    """The pins of a lock, each with its hashes, by requirement: `numpy==2.4.6`."""
    parts = re.split(r"^(?=\w)", lock, flags=re.MULTILINE)[1:]
    return {part.partition(" \\\n")[0]: part for part in parts}


def without(lock: str, other: str) -> str:
    """A lock less the pins that another one has."""
    shared = pins(other)
    head = re.split(r"^(?=\w)", lock, maxsplit=1, flags=re.MULTILINE)[0]
    return head + "".join(pin for name, pin in pins(lock).items() if name not in shared)


if __name__ == "__main__":
    main()
