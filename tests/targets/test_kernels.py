"""Each kernel's C does what its semantics say, on each target."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from tests.support import (
    GUARD,
    Floats,
    call,
    compile_c,
    guarded,
    random_values,
    skip_unless_it_runs,
)
from tests.targets.cases import Case, random_cases

from morello.ir.batch import Batch
from morello.ir.forms import Forms
from morello.targets import TARGETS
from morello.targets.target import Target

KERNELS = [
    pytest.param(target, kernel.name, id=f"{target.name}-{kernel.name}")
    for target in TARGETS.values()
    for kernel in target.kernels
]


@dataclass
class Suite:
    """A target's cases by kernel, and the C functions that run them."""

    cases: dict[str, list[tuple[str, Case]]]
    library: ctypes.CDLL | None = None


@pytest.fixture(scope="module")
def suites(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Suite]:
    """Filled target by target, as tests come to need it."""
    return {}


@pytest.fixture
def suite(
    target: Target, suites: dict[str, Suite], tmp_path_factory: pytest.TempPathFactory
) -> Suite:
    if target.name not in suites:
        suites[target.name] = build(target, tmp_path_factory.mktemp(target.name))
    return suites[target.name]


def build(target: Target, directory: Path) -> Suite:
    named = [(f"case{i}", case) for i, case in enumerate(random_cases(target))]
    suite = Suite({kernel.name: [] for kernel in target.kernels})
    for name, case in named:
        suite.cases[case.kernel.name].append((name, case))
    parts = [f"#include <{header}>" for header in target.headers]
    parts += dict.fromkeys(target.helpers.values())
    parts += [case.function(name, target) for name, case in named]
    suite.library = compile_c("\n".join(parts), target, directory)
    return suite


@pytest.mark.parametrize(("target", "kernel"), KERNELS)
def test_the_code_computes_the_semantics(target: Target, kernel: str, suite: Suite) -> None:
    skip_unless_it_runs(target)
    assert suite.cases[kernel]
    for name, case in suite.cases[kernel]:
        check(getattr(suite.library, name), case)


def check(function: object, case: Case) -> None:
    operation = case.spec.operation
    inputs, buffers, expected_elsewhere = [], [], []
    for index, operand in enumerate(operation.operands):
        values = random_values(case.spec.shape(index), seed=index)
        background = GUARD if operand.written else np.float32(np.nan)
        buffer = np.full(int(np.prod(case.buffer_shape(index))), background)
        buffer[case.places(index)] = values
        inputs.append(values.astype(np.float64))
        buffers.append(guarded(buffer))
        expected_elsewhere.append(buffers[-1][0].copy())
    call(function, *(inner for _, inner in buffers))
    for index, operand in enumerate(operation.operands):
        wanted: Floats = expected_elsewhere[index]
        if operand.written:
            read = inputs if operation.reads(index) else inputs[:-1] or inputs
            result = case.kernel.semantics(*read)
            inside = slice(64, 64 + int(np.prod(case.buffer_shape(index))))
            wanted[inside][case.places(index)] = result
        np.testing.assert_allclose(
            buffers[index][0], wanted, rtol=1e-4, atol=1e-5, err_msg=f"{case}"
        )


@pytest.mark.parametrize(("target", "kernel"), KERNELS)
def test_a_kernel_costs_time_and_holds_registers(target: Target, kernel: str, suite: Suite) -> None:
    for _, case in suite.cases[kernel]:
        cost = np.broadcast_to(case.kernel.cost(Batch.of([case.spec], Forms())), 1)
        assert 0 < cost[0] < 1000
        assert 0 <= case.kernel.registers < target.limits[-1]
