"""Kinds of tests, what they may and do cost, a kernel cache of their own, and golden files.

Golden files should only ever change on purpose: `--update-golden` rewrites them.
"""

from __future__ import annotations

import atexit
import gc
import os
import resource
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests import slow
from tests.kinds import BUILDING, kind_of

from morello.engine import LOOPS
from morello.memo.boxes import BOXES
from morello.runtime.threads import usable_cpus

gc.disable()  # until all tests are collected: nearly everything stays

os.environ["MORELLO_CALIBRATION"] = "off"  # what somebody measured here is none of our business
os.environ["MORELLO_TABLE"] = "off"  # what tests search for is to be found anew
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the background of a script

for loops in (LOOPS, BOXES):
    loops.load()  # built here once, not by the first test that searches

TESTS = Path(__file__).parent
GOLDEN = TESTS / "golden"


def pytest_configure(config: pytest.Config) -> None:
    if hasattr(config, "workerinput"):  # a process of xdist
        atexit.register(os._exit, 0)  # to free a million objects takes longer than xdist waits


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="write what tests find to tests/golden"
    )
    parser.addoption(
        "--update-slow", action="store_true", help="write which tests are slow to tests/slow.txt"
    )


@pytest.fixture(scope="session", autouse=True)
def _few_peaks() -> Iterator[None]:
    """The machine's peaks are measured in a fraction of the usual time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("morello.measure.peaks.READ_KIB", (16, 4096))
        yield


@pytest.fixture(scope="session", autouse=True)
def _patient() -> Iterator[None]:
    """Several Specs are compiled in one process, as workers of pytest are on all cores.

    A worker process would import and trace anew what is known here. Tests of them say 0 seconds.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("morello.base.sharing.PATIENCE_S", 600.0)
        yield


@pytest.fixture(scope="session", autouse=True)
def _any_machine() -> Iterator[None]:
    """Searches and their threads do not depend on how busy or slow the machine is.

    The time of budgets is a quarter of the processor's, and there are two CPUs at least.
    """
    cpus = max(2, usable_cpus())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("morello.search.budget.clock", lambda: time.thread_time() / 4)
        patch.setattr("morello.runtime.threads.usable_cpus", lambda: cpus)
        yield


# ---- kinds


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        item.add_marker(kind_of(item.path.relative_to(TESTS)))
        if slow.without_parameters(item.nodeid) in slow.SLOW:
            item.add_marker("slow")


def pytest_collection_finish() -> None:
    gc.freeze()  # a million objects of modules and tests, which every collection would visit
    gc.set_threshold(100_000)  # searches make many objects and few cycles
    gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    yield
    if nextitem is not None and nextitem.path != item.path:
        gc.collect()
        gc.freeze()  # what the module leaves behind, in caches and of packages that it imported


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Fails tests that start a compiler, or any other command, but are of a kind that does not.

    An audit hook would do, but a search has 300,000 events a second, which cost a tenth of it.
    """
    kind = kind_of(item.path.relative_to(TESTS))

    def refuse(_: object, command: object, *__: object, **___: object) -> None:
        pytest.fail(f"a test of the kind {kind!r} starts {command}; see tests/kinds.py")

    with pytest.MonkeyPatch.context() as patch:
        if kind not in BUILDING:
            patch.setattr(subprocess.Popen, "__init__", refuse)
        return (yield)


# ---- costs

MOST_CPU_S = 60.0
"""The limit of a test, its commands included: several times that of any on a slow machine."""

CPU_S = "CPU seconds"
"""The property of a test's report that has its CPU time, its commands included."""


def cpu_seconds() -> float:
    """CPU time of this process and of its children that ended: other work changes it little."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    before = cpu_seconds()
    result = yield
    taken = cpu_seconds() - before
    item.user_properties.append((CPU_S, taken))
    if taken > MOST_CPU_S:
        pytest.fail(
            f"it took {taken:.0f} s of CPU time, more than {MOST_CPU_S:.0f} s; see CONTRIBUTING.md"
        )
    return result


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    if config.getoption("--update-slow"):
        passed = terminalreporter.stats["passed"]
        slow.update([(report.nodeid, dict(report.user_properties)[CPU_S]) for report in passed])


# ---- fixtures


@pytest.fixture(scope="session", autouse=True)
def kernel_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """One cache for all tests of a run, so that each kernel is built once; never the user's.

    Each kind of Spec is traced once, too, however many there are.
    """
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MORELLO_CACHE", str(folder / "kernels"))
        patch.setattr("morello.search.saved_traces.MOST_SAVED", 100_000)
        yield folder / "kernels"


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compares a text with the golden file of a name."""

    def check(name: str, text: str) -> None:
        path = GOLDEN / name
        if request.config.getoption("--update-golden"):
            path.write_text(text)
        assert path.exists(), f"no golden file {name}; pytest --update-golden writes it"
        assert text == path.read_text(), f"{name} changed; if on purpose, pytest --update-golden"

    return check
