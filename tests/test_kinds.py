"""The tests themselves: each module is of one kind, and none sees what the user has."""

from __future__ import annotations

import subprocess
import tomllib
from pathlib import Path

import pytest
from tests.kinds import BUILDING, FOLDERS, MODULES, kind_of
from tests.slow import SLOW, slow_tests

from morello.native.cache import default_cache

TESTS = Path(__file__).parent
PROJECT = tomllib.loads((TESTS.parent / "pyproject.toml").read_text())
MARKERS = PROJECT["tool"]["pytest"]["ini_options"]["markers"]
KINDS = {marker.partition(":")[0] for marker in MARKERS} - {"slow"}
PATHS = {path.relative_to(TESTS) for path in TESTS.rglob("test_*.py")}


def test_every_module_is_of_one_kind() -> None:
    assert {kind_of(path) for path in PATHS} == KINDS
    assert MODULES.keys() <= {path.as_posix() for path in PATHS}
    folders = {path.parent.as_posix() for path in PATHS}
    assert {folder or "." for folder in FOLDERS} == folders
    for module, kind in MODULES.items():
        assert kind != FOLDERS[module.rpartition("/")[0]], f"{module} need not be named"


def test_every_test_has_its_modules_kind(request: pytest.FixtureRequest) -> None:
    for item in request.session.items:
        kinds = {mark.name for mark in item.iter_markers()} & KINDS
        assert kinds == {kind_of(item.path.relative_to(TESTS))}, item.nodeid


def test_slow_tests_are_listed_while_there_are_such() -> None:
    for name in SLOW:
        module, test, *_ = name.split("::")
        assert test in (TESTS.parent / module).read_text(), name


def test_the_fastest_test_of_a_module_is_never_slow() -> None:
    seconds = [("a.py::x[1]", 3.0), ("a.py::x[2]", 1.5), ("a.py::y", 2.0), ("b.py::x", 5.0)]
    assert slow_tests(seconds) == {"a.py::x"}
    assert slow_tests([*seconds, ("a.py::z", 0.1), ("b.py::z[1]", 0.1), ("b.py::z[2]", 1.0)]) == {
        "a.py::x",
        "a.py::y",
        "b.py::x",
    }


def test_some_kinds_start_no_commands() -> None:
    assert set(BUILDING) < KINDS
    with pytest.raises(pytest.fail.Exception, match="of the kind 'house' starts"):
        subprocess.run(["true"], check=True)


def test_no_test_sees_the_users_kernels(kernel_cache: Path) -> None:
    assert default_cache() == kernel_cache
    assert not kernel_cache.is_relative_to(Path.home() / ".cache")
