"""A kernel that several of these tests call, built by the compiler that is found without `$CC`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.runtime.kernels import MATMUL, compile_kernel, matmul_arguments

from morello.runtime.kernel import CompiledKernel


@pytest.fixture(scope="session", autouse=True)
def without_cc() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("CC", raising=False)
        yield


@pytest.fixture(scope="session")
def matmul(without_cc: None) -> CompiledKernel:
    return compile_kernel(MATMUL, "kernel", matmul_arguments())
