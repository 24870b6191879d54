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

from morello.base.errors import MorelloError

FILES = {
    "map": 3,
    "primitive": 4,
    "rewrite": 4,
    "kernel": 2,
    "target": 3,
    "front-end": 1,
}
"""How many files each may change at most; the rewrite has C of its own."""


@pytest.fixture(scope="module", params=FILES)
def changed(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Path]:
    """Each thing, and a copy of the source with its change."""
    thing = str(request.param)
    change = "".join(blocks(page(thing), "diff"))
    assert 1 <= len(changed_files(change)) <= FILES[thing]
    folder = tmp_path_factory.mktemp("changed")
    shutil.copytree(ROOT / "src", folder / "src")
    run("git", "apply", at=folder, text=change)
    return thing, folder


def changed_files(change: str) -> list[str]:
    return re.findall(r"^\+\+\+ b/(\S+)$", change, re.MULTILINE)


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


def test_the_example_works(changed: tuple[str, Path]) -> None:
    thing, source = changed
    check = "".join(blocks(page(thing), "python"))
    origin = f"import morello\nassert morello.__file__.startswith(r'{source}')\n"
    run(sys.executable, "-", at=source, text=origin + check)


def test_the_example_is_formatted(changed: tuple[str, Path]) -> None:
    thing, source = changed
    settings = str(ROOT / "pyproject.toml")
    files = changed_files("".join(blocks(page(thing), "diff")))
    python = [name for name in files if name.endswith(".py")]
    for command in ("check", "format --check"):
        run(
            sys.executable, "-m", "ruff", *command.split(), "--config", settings, "--no-cache",
            *python, at=source, text="",
        )  # fmt: skip


@pytest.mark.parametrize("thing", FILES)
def test_an_example_needs_its_change(thing: str) -> None:
    """Without the change, the checks fail, and so do test something."""
    check = "".join(blocks(page(thing), "python"))
    with pytest.raises((AssertionError, ImportError, MorelloError)):
        exec(compile(check, page(thing).name, "exec"), {})


def test_every_page_is_tested() -> None:
    assert {path.stem for path in ROOT.glob("docs/adding-*.md")} == {f"adding-a-{t}" for t in FILES}
