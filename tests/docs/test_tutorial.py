"""The last page of the tutorial: its C program is built and run, with CMake and without."""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import chdir
from pathlib import Path

import pytest
from tests.docs.pages import ROOT, blocks, commands
from tests.waiting import PATIENCE_S

from morello.cli.parser import main
from morello.native.toolchain import find_compiler

PAGE = ROOT / "docs" / "tutorial-4-ship-it.md"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the page writes: the kernel, the program and the build file.

    Any kernel will do.
    """
    folder = tmp_path_factory.mktemp("project")
    ((synth,),) = commands(PAGE)
    with chdir(folder):
        assert main([*synth.words[1:], "--budget", "0.5"]) == 0
    for language in ("c", "cmake"):
        (text,) = blocks(PAGE, language)
        name = text.splitlines()[0].strip("#/* ")
        (folder / name).write_text(text)
    files = {"CMakeLists.txt", "layer.c", "layer.h", "main.c"}
    assert {path.name for path in folder.iterdir()} == files
    return folder


def run(*command: str, at: Path) -> str:
    compiler = {} if shutil.which("cc") else {"CC": " ".join(find_compiler().command)}
    done = subprocess.run(
        command, cwd=at, env=os.environ | compiler, text=True, capture_output=True,
        timeout=PATIENCE_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.mark.skipif(shutil.which("cmake") is None, reason="there is no CMake")
def test_cmake_builds_it(project: Path) -> None:
    (steps,) = blocks(PAGE, "sh")
    (shown,) = blocks(PAGE, "text")
    *_, printed = [run(*line.split(), at=project) for line in steps.splitlines()]
    assert printed == shown


def test_a_compiler_alone_builds_it(project: Path) -> None:
    """No flags name a CPU; CMake builds with `-O3`."""
    build = (*find_compiler().command, "-O1", "main.c", "layer.c", "-lm", "-o", "main")
    run(*build, at=project)
    (shown,) = blocks(PAGE, "text")
    assert run("./main", at=project) == shown
