"""A corpus of a few small Specs, made once."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.learn.made_up import EXPRESSIONS, made_up
from tests.learn.sampling import from_one_graph

from morello.learn.corpus import write
from morello.learn.dataset import load, prepare
from morello.learn.groups import ProgramGroup

os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")  # tiny networks compile for longer


@pytest.fixture(scope="module", autouse=True)
def one_graph() -> Iterator[None]:
    with from_one_graph():
        yield


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    for number, (family, expression) in enumerate(EXPRESSIONS):
        write(folder / f"{number}.npz", made_up(family, expression))
    return folder


@pytest.fixture(scope="session")
def groups(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> list[ProgramGroup]:
    with ThreadPoolExecutor(1) as workers:
        return load(prepare(corpus, tmp_path_factory.mktemp("groups"), workers))
