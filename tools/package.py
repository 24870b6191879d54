"""Build the wheel and the source archive in `dist/`, and try each in a new environment.

    .venv/bin/python -m tools.package

The wheel is tried with every Python that is here (see `pythons.py`), and the source archive, of
which pip builds the same wheel, with the first. Installed with nothing but what they need, they
must race a kernel against NumPy. Raises `CalledProcessError` if one does not.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

from tools.pythons import find, versions

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
TRIAL = ("bench", "f32[64,64] @ f32[64,64]", "--vs", "numpy", "--no-table")


def main() -> None:
    shutil.rmtree(DIST, ignore_errors=True)
    archives = built()
    for archive in archives:
        check_content(archive)
    pythons = {version: find(version) for version in versions()}
    here = [*filter(None, pythons.values())] or [sys.executable]
    wheel, source = archives
    for python, archive in [*((python, wheel) for python in here), (here[0], source)]:
        print(f"{archive.name} with {python} ...", flush=True)
        install_and_run(python, archive)
    lacking = [version for version, python in pythons.items() if python is None]
    print(f"Both work; Pythons that are not here: {', '.join(lacking) or 'none'}.")


def built() -> list[Path]:
    """The wheel, and the source archive."""
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--wheel-dir", str(DIST), str(ROOT)], check=True)
    build = f"from setuptools import build_meta; build_meta.build_sdist({str(DIST)!r})"
    subprocess.run([sys.executable, "-c", build], check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
    return sorted(DIST.iterdir(), reverse=True)


def check_content(archive: Path) -> None:
    """Stop if an archive has what was made here, or lacks what the package needs."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            names = wheel.namelist()
    else:
        with tarfile.open(archive) as source_archive:
            names = source_archive.getnames()
    unwanted = [name for name in names if "__pycache__" in name or "/tests/" in name]
    source = {
        path.relative_to(ROOT / "src").as_posix()
        for path in (ROOT / "src" / "morello").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    missing = sorted(path for path in source if not any(name.endswith(path) for name in names))
    if unwanted or missing:
        sys.exit(f"{archive.name} has {unwanted[:3]}, and lacks {missing[:3]}.")


def install_and_run(python: str, archive: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        environment = Path(folder) / "environment"
        subprocess.run([python, "-m", "venv", "--without-pip", str(environment)], check=True)
        inside = environment / "bin" / "python"
        pip = [sys.executable, "-m", "pip", "--python", str(inside), "install", "--quiet"]
        pip += ["--no-compile"]  # the trial imports little of what is installed
        subprocess.run([*pip, str(archive)], check=True)
        home = {**os.environ, "HOME": folder, "XDG_CACHE_HOME": f"{folder}/cache"}
        home["MORELLO_CALIBRATION"] = "off"  # measuring the machine each time would take longer
        home.pop("PYTHONPATH", None)
        command = [str(environment / "bin" / "morello"), *TRIAL]
        subprocess.run(command, check=True, cwd=folder, env=home)


if __name__ == "__main__":
    main()
