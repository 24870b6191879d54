"""Which Pythons are found on a machine, to try the package with."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from tools import pythons


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The home of a user who has no Python."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    for variable in ("PYENV_ROOT", "UV_PYTHON_INSTALL_DIR"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def put(path: Path, code: int = 0) -> str:
    """Put a command there that ends with this exit code."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\nexit {code}\n")
    path.chmod(0o755)
    return str(path)


def test_a_python_on_the_path_is_found_first(home: Path) -> None:
    assert pythons.find("3.12") is None
    put(home / ".pyenv/versions/3.12.1/bin/python3.12")
    path = put(home / "bin/python3.12")
    assert pythons.find("3.12") == path


@pytest.mark.parametrize(
    "folder", [".pyenv/versions/3.12.1", ".local/share/uv/python/cpython-3.12.9-linux-x86_64-gnu"]
)
def test_where_the_one_on_the_path_does_not_run_others_are_found(home: Path, folder: str) -> None:
    put(home / "bin/python3.12", code=127)  # as that of pyenv, if another version is chosen
    assert pythons.find("3.12") is None
    path = put(home / folder / "bin/python3.12")
    assert pythons.find("3.12") == path and pythons.find("3.13") is None


def test_those_that_are_here_are_printed(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = put(home / "bin/python3.13")
    monkeypatch.setattr(pythons, "versions", lambda: ["3.12", "3.13"])
    pythons.main()
    assert capsys.readouterr() == (f"{path}\n", "no Python 3.12 here\n")


def test_the_least_version_is_the_one_that_the_package_needs() -> None:
    project = tomllib.loads(pythons.PROJECT.read_text())["project"]
    assert project["requires-python"] == f">={pythons.versions()[0]}"
