"""One cache for all of these tests, so that each kernel is built once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.runtime.kernels import MATMUL, matmul_arguments

from morello.runtime.kernel import CompiledKernel, compile_kernel


@pytest.fixture(scope="session", autouse=True)
def shared_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patch:
        cache = tmp_path_factory.mktemp("cache")
        patch.setenv("MORELLO_CACHE", str(cache))
        patch.delenv("CC", raising=False)
        yield cache


@pytest.fixture(scope="session")
def matmul(shared_cache: Path) -> CompiledKernel:
    return compile_kernel(MATMUL, "kernel", matmul_arguments())
