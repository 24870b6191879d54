"""The libraries of C functions that tests of helpers have in common."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.sampling import some
from tests.targets.math_library import Build, Library, builds, compiled


@pytest.fixture(scope="module", params=some(builds(), 3), ids=str)
def library(request: pytest.FixtureRequest) -> Iterator[Library]:
    build: Build = request.param
    with tempfile.TemporaryDirectory() as directory:
        made = compiled(build.compiler, build.arch, build.width, Path(directory), build.flags)
        yield Library(made, build.width)
