"""Traces that a process leaves on disk for others."""

from __future__ import annotations

import io
import pickle
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import pytest

from morello.frontends.text import parse
from morello.ir.dtype import DTYPES, PACKED
from morello.memo.store import VERSION
from morello.search import saved_traces, traced_rules, traces
from morello.search.saved_traces import TRACE_FILE
from morello.search.session import search
from morello.search.traces import KIND_NUMBERS, KindTrace
from morello.space.family import Family
from morello.targets import find_target
from morello.targets.target import Target

GOAL = "relu(f32[6,8] + f32[8])"


@pytest.fixture
def traced(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[object]:
    """The kinds of Specs that are traced, as a list that grows; traces are saved in a new file."""
    kinds: list[object] = []
    begin = traces._Tracing.__init__

    def counted(self: object, family: Family, kind: object, ideal: bool) -> None:
        kinds.append(kind)
        begin(self, family, kind, ideal)  # type: ignore[arg-type]

    monkeypatch.setattr(traces._Tracing, "__init__", counted)
    monkeypatch.setattr(saved_traces, "_stamps", lambda: saved_traces._STAMPS)
    monkeypatch.setenv("MORELLO_CACHE", str(tmp_path / "cache"))
    return kinds


def found(target: Target) -> tuple[object, ...]:
    """A program, as a process finds it that has traced nothing so far."""
    saved_traces._opened.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(traced_rules, "trace_of", lru_cache(None)(KindTrace))
        result = search(parse(GOAL), target)
    return result.cost, result.decisions, result.statistics.specs, result.statistics.rewrites


def test_what_another_process_traced_is_not_traced_again(
    traced: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    target = find_target("avx2")
    first = found(target)
    assert traced
    traced.clear()
    monkeypatch.setattr(KIND_NUMBERS, "kinds", KIND_NUMBERS.kinds[::-1])  # as they were met there
    numbers = {kind: number for number, kind in enumerate(KIND_NUMBERS.kinds)}
    monkeypatch.setattr(KIND_NUMBERS, "_numbers", numbers)
    assert found(target) == first and not traced
    fewer = replace(target, kernels=target.kernels[:-1])  # which no file of Morello's has
    for _ in range(2):
        traced.clear()
        found(fewer)
        assert traced


def test_a_damaged_file_is_as_none(traced: list[object], tmp_path: Path) -> None:
    target = find_target("avx2")
    first = found(target)
    file = tmp_path / "cache" / f"traces-{VERSION}.db"
    file.write_bytes(file.read_bytes()[:100] + bytes(1000))
    Path(f"{file}-wal").unlink(missing_ok=True)
    traced.clear()
    assert found(target) == first and traced


def test_nothing_is_written_once_the_code_has_changed(
    traced: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saved_traces, "_stamps", lambda: "other")
    first = found(find_target("avx2"))
    traced.clear()
    assert found(find_target("avx2")) == first and traced
    assert not TRACE_FILE._new


def test_only_names_of_this_package_are_loaded() -> None:
    with pytest.raises(pickle.UnpicklingError, match="is not of this package"):
        saved_traces._Unpickler(pickle.dumps(Path("/"))).load()


def test_what_was_traced_for_a_tuning_of_a_portable_target_is_not_traced_again(
    traced: list[object],
) -> None:
    first, other, *_ = find_target("x86-64-v3").tunings
    found(first)
    assert traced
    traced.clear()
    found(first)
    assert not traced
    found(other)  # which has other costs
    assert traced


def test_dtypes_are_loaded_as_the_objects_that_they_are() -> None:
    dtypes = (*DTYPES.values(), *PACKED.values())
    file = io.BytesIO()
    saved_traces._Pickler(file).dump(dtypes)
    assert saved_traces._Unpickler(file.getvalue()).load() == dtypes
