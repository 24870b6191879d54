"""Set up `.venv`: the pinned dependencies, and this project in editable mode.

    python3 tools/bootstrap.py [learn | docs | models]

With `learn`, also the packages for training models; with `docs`, those for the documentation; with
`models`, PyTorch and the models that tests compile.
Needs only Python 3.11 and a package index: no root, and no pip if Python has `ensurepip` or pip's
settings name the index. A second run does nothing until the lock, `pyproject.toml` or this file
changes.
"""

from __future__ import annotations

import configparser
import hashlib
import os
import re
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
import venv
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path
from typing import TypeVar

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
BASE = ROOT / "requirements.lock"
LOCKS = {
    "": (BASE,),
    "learn": (BASE, ROOT / "requirements-learn.lock"),
    "docs": (BASE, ROOT / "requirements-docs.lock"),
    "models": (BASE, ROOT / "requirements-models.txt"),
}
"""The pinned dependencies: without an extra, and with each. An extra's lock adds to the base.

A lock has hashes and all that its packages need. A `.txt` has no hashes, as PyTorch's builds for
CPUs come from several indexes; its packages are installed as they are.
"""
MEGABYTES = {"": 800, "learn": 1400, "docs": 900, "models": 1900}
"""About how much `.venv` takes on disk with each; a third of that is downloaded."""
INPUTS = (ROOT / "pyproject.toml", Path(__file__).resolve())

PIP = "26.3"
PIP_WHEEL = f"pip-{PIP}-py3-none-any.whl"
PIP_SHA256 = "f3b60b20ffaadd4415ed7957212a38ac63fa4c5fa375bd0f4a797777940fad13"

FAILURES = (OSError, HTTPException, subprocess.CalledProcessError)
T = TypeVar("T")


def main(extra: str = "") -> None:
    if sys.version_info < (3, 11):  # noqa: UP036 (this runs before any check of pyproject.toml)
        sys.exit(f"Morello needs Python 3.11 or later; {sys.executable} is older.")
    if extra not in LOCKS:
        sys.exit(f"there is nothing called {extra!r} to set up; there is {', '.join(LOCKS)}.")
    if any(is_current(name) for name in ([extra] if extra else LOCKS)):
        return
    print(f"Setting up {VENV} (once; about {MEGABYTES[extra]} MB on disk) ...", flush=True)
    if not PYTHON.exists():
        venv.create(VENV, clear=True, symlinks=True)
    ensure_pip()
    locks = [word for lock in hashed(extra) for word in ("--requirement", str(lock))]
    retry(lambda: pip_install(*locks))
    rest = [str(lock) for lock in LOCKS[extra] if lock not in hashed(extra)]
    if rest:
        retry(lambda: pip_install("--no-deps", "--requirement", *rest))
    pip_install("--no-deps", "--no-build-isolation", "--editable", str(ROOT))
    stamp_of(extra).write_text(fingerprint(extra))


def hashed(extra: str) -> list[Path]:
    """The locks of an extra that have hashes."""
    return [lock for lock in LOCKS[extra] if lock.suffix == ".lock"]


def is_current(extra: str) -> bool:
    """Whether the environment exists and matches the lock, `pyproject.toml` and this file."""
    stamp = stamp_of(extra)
    return PYTHON.exists() and stamp.exists() and stamp.read_text() == fingerprint(extra)


def stamp_of(extra: str) -> Path:
    """The file with the fingerprint of the inputs that the environment was made from."""
    return VENV / f"bootstrap{extra and '-'}{extra}.stamp"


def fingerprint(extra: str) -> str:
    inputs = b"\0".join(path.read_bytes() for path in (*LOCKS[extra], *INPUTS))
    return hashlib.sha256(inputs).hexdigest()


def ensure_pip() -> None:
    """Give the environment a pip: the one it has, Python's own, or the index's.

    Debian ships Python without `ensurepip`. Then the pip of the running Python installs one in the
    environment; if there is none, this downloads the wheel, if an index is configured.
    """
    if runs("pip", "--version") or runs("ensurepip"):
        return
    with tempfile.TemporaryDirectory() as folder:
        if outer_pip(Path(folder, "requirements.txt")):
            return
        index = package_index()
        if index is None:
            sys.exit(
                f"{sys.executable} has neither pip nor ensurepip; install one of them (on Debian "
                "python3-pip or python3-venv), or set PIP_INDEX_URL to a package index."
            )
        wheel = Path(folder, PIP_WHEEL)
        wheel.write_bytes(retry(lambda: download_pip(index)))
        # A wheel is a zip file, and Python runs what is inside one.
        run(f"{wheel}/pip", "install", "--quiet", "--no-index", str(wheel))


def outer_pip(requirements: Path) -> bool:
    """Install the pinned pip with the running Python's pip; returns whether that succeeded."""
    requirements.write_text(f"pip=={PIP} --hash=sha256:{PIP_SHA256}\n")
    command = [sys.executable, "-m", "pip", "--python", str(PYTHON), "install", "-qq"]
    command += ["--disable-pip-version-check", "--requirement", str(requirements)]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def runs(module: str, *arguments: str) -> bool:
    """Whether `python -m module` succeeds."""
    command = [str(PYTHON), "-I", "-m", module, *arguments]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def run(*arguments: str) -> None:
    """Run the environment's Python."""
    subprocess.run([str(PYTHON), *arguments], check=True)


def pip_install(*arguments: str) -> None:
    run("-m", "pip", "install", "-qq", "--disable-pip-version-check", *arguments)


def retry(step: Callable[[], T]) -> T:
    """Do a step that needs the network, up to three times."""
    for pause in (2, 10):
        try:
            return step()
        except FAILURES as failure:
            print(f"{failure}; trying again in {pause} s ...", file=sys.stderr, flush=True)
            time.sleep(pause)
    return step()


def download_pip(index: str) -> bytes:
    """The pinned pip wheel, from a package index."""
    page_url = f"{index}/pip/"
    page = fetch(page_url).decode()
    link = re.search(rf'href="([^"#]*{re.escape(PIP_WHEEL)})["#]', page)
    if link is None:
        sys.exit(f"{page_url} does not list {PIP_WHEEL}.")
    wheel = fetch(urllib.parse.urljoin(page_url, link[1]))
    if hashlib.sha256(wheel).hexdigest() != PIP_SHA256:
        sys.exit(f"{PIP_WHEEL} from {page_url} does not have the pinned SHA-256.")
    return wheel


def fetch(url: str) -> bytes:
    """Download `url` without verifying the server: a bare machine may lack root certificates.

    So only a file that matches its pinned SHA-256 may be used.
    """
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    # Every index speaks HTML; not every one speaks JSON.
    request = urllib.request.Request(url, headers={"Accept": "text/html, */*;q=0.1"})
    with urllib.request.urlopen(request, timeout=60, context=context) as response:
        return bytes(response.read())


def package_index() -> str | None:
    """The index that pip is set to use, by the environment or its configuration files."""
    config = configparser.RawConfigParser()
    config.read(
        [
            "/etc/pip.conf",
            Path.home() / ".pip" / "pip.conf",
            Path(os.environ.get("XDG_CONFIG_HOME", Path.home() / ".config"), "pip", "pip.conf"),
            os.environ.get("PIP_CONFIG_FILE", os.devnull),
        ]
    )
    configured = config.get("global", "index-url", fallback="")
    return os.environ.get("PIP_INDEX_URL", configured).rstrip("/") or None


if __name__ == "__main__":
    try:
        main(*sys.argv[1:2])
    except FAILURES as failure:
        sys.exit(f"Could not set up {VENV}: {failure}")
