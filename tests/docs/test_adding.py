"""The changes that the pages on adding things show apply to the source, and do what they say."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.docs.pages import ROOT, blocks

FILES = {
    "map": 3,
    "primitive": 4,
    "rewrite": 3,
    "kernel": 2,
    "target": 3,
    "front-end": 1,
}
"""How many files each may change at most."""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A copy of the source; what Numba compiled is copied as well, for the sake of time."""
    shutil.copytree(ROOT / "src", tmp_path / "src")
    return tmp_path


def page(thing: str) -> Path:
    return ROOT / "docs" / f"adding-a-{thing}.md"


def run(*command: str, at: Path, text: str) -> None:
    """Run a command on a text, with the source at a place; fails with what it says."""
    environment = os.environ | {
        "PYTHONPATH": str(at / "src"),
        "GIT_CEILING_DIRECTORIES": str(at.parent),
    }
    environment["MORELLO_CALIBRATION"] = "off"
    done = subprocess.run(
        command, input=text, cwd=at, env=environment, text=True, capture_output=True, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"


@pytest.mark.parametrize("thing", FILES)
def test_the_example_works(thing: str, source: Path) -> None:
    change = "".join(blocks(page(thing), "diff"))
    changed = re.findall(r"^\+\+\+ b/(\S+)$", change, re.MULTILINE)
    assert 1 <= len(changed) <= FILES[thing]
    run("git", "apply", at=source, text=change)
    check = "".join(blocks(page(thing), "python"))
    origin = f"import morello\nassert morello.__file__.startswith(r'{source}')\n"
    run(sys.executable, "-", at=source, text=origin + check)


@pytest.mark.parametrize("thing", FILES)
def test_the_example_is_formatted(thing: str, source: Path) -> None:
    run("git", "apply", at=source, text="".join(blocks(page(thing), "diff")))
    settings = str(ROOT / "pyproject.toml")
    for command in ("check", "format --check"):
        run(
            sys.executable, "-m", "ruff", *command.split(), "--config", settings, "--no-cache",
            "src", at=source, text="",
        )  # fmt: skip


def test_an_example_needs_its_change() -> None:
    """Without the change, the checks fail, and so do test something."""
    for thing in FILES:
        check = "".join(blocks(page(thing), "python"))
        done = subprocess.run(
            [sys.executable, "-"], input=check, text=True, capture_output=True, check=False,
            env=os.environ | {"MORELLO_CALIBRATION": "off"},
        )  # fmt: skip
        assert done.returncode != 0, thing


def test_every_page_is_tested() -> None:
    assert {path.stem for path in ROOT.glob("docs/adding-*.md")} == {f"adding-a-{t}" for t in FILES}
