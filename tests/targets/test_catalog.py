"""Targets are whole: every kernel is found by its name, and what it calls is there."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from morello.base.errors import TargetError
from morello.ir.dtype import DTYPES, PACKED
from morello.targets import PORTABLE, TARGETS, catalog, find_target
from morello.targets.cpu import Cache, HostCPU
from morello.targets.machines import X86_64_V4
from morello.targets.neon import NEON
from morello.targets.target import Target
from morello.targets.x86 import AVX2, AVX512, avx512

EVERY_PRODUCT = avx512(X86_64_V4, frozenset({"avx512_bf16", "avx512_vnni"}))
C_TYPES = {dtype.c for dtype in (*DTYPES.values(), *PACKED.values())}

targets = pytest.mark.parametrize(
    "target", [*TARGETS.values(), EVERY_PRODUCT], ids=[*TARGETS, "avx512 with products"]
)


@targets
def test_no_two_kernels_share_a_name(target: Target) -> None:
    assert [n for n, c in Counter(k.name for k in target.kernels).items() if c > 1] == []


@targets
def test_what_kernels_call_is_there(target: Target) -> None:
    for kernel in target.kernels:
        called = set(re.findall(r"(?<![\w{])([A-Za-z]\w*) ?\(", kernel.c))
        cast_to = set(re.findall(r"\((?:const )?([A-Za-z]\w*) ?\**\)", kernel.c))
        assert called | (cast_to - C_TYPES) <= target.helpers.keys(), kernel.name


@targets
def test_helpers_need_only_what_a_target_includes(target: Target) -> None:
    for name, text in target.helpers.items():
        assert "immintrin.h" in target.headers.values() or "_mm" not in text, name


@pytest.mark.parametrize("name", PORTABLE)
def test_all_tunings_of_a_target_have_the_same_kernels(name: str) -> None:
    target = find_target(name)
    names = [kernel.name for kernel in target.kernels]
    for tuning in target.tunings:
        assert [kernel.name for kernel in tuning.kernels] == names, tuning.machine


def host(features: set[str], caches: tuple[Cache, ...] = ()) -> HostCPU:
    return HostCPU("some machine", "", "", frozenset(features), caches, 4)


def native(cpu: HostCPU, monkeypatch: pytest.MonkeyPatch) -> Target:
    monkeypatch.setattr(catalog, "host_cpu", lambda: cpu)
    native = catalog.native.__wrapped__
    target: Target = native()
    return target


def test_the_native_target_of_an_arm(monkeypatch: pytest.MonkeyPatch) -> None:
    caches = (Cache(1, "data", 32 << 10, 8, 64), Cache(2, "unified", 2 << 20, 8, 64))
    found = native(host({"neon", "sve"}, caches), monkeypatch)
    assert (found.name, found.arch, found.kernels) == ("native", "native", NEON.kernels)
    assert [level.capacity for level in found.levels[1:]] == [16384, 480, 32]
    assert found.levels[2].conflict_runs == 5


def test_caches_that_are_unknown_stay_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    assert native(host({"neon"}), monkeypatch).levels == NEON.levels
    apple = (Cache(1, "data", 128 << 10, 0, 128),)
    levels = native(host({"neon"}, apple), monkeypatch).levels
    assert levels[2].capacity == 1920
    assert (levels[1], levels[2].conflict_runs) == (NEON.levels[1], NEON.levels[2].conflict_runs)


def test_the_native_targets_of_x86(monkeypatch: pytest.MonkeyPatch) -> None:
    assert native(host(set(AVX2.features)), monkeypatch).kernels == AVX2.kernels
    wide = {*AVX512.features, *AVX2.features}
    assert native(host(wide), monkeypatch).kernels == AVX512.kernels
    packs = native(host(wide | {"avx512_vnni"}), monkeypatch).packs
    sums = [(pack.inputs[0].name, pack.output.name) for pack in packs]
    assert sums == [("u8", "i32"), ("u8", "i16"), ("u8", "u16"), ("i8", "i32")]


def test_a_machine_without_a_target(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TargetError, match=r"no target for this machine.*AVX2 and FMA, or Neon"):
        native(host({"sse2"}), monkeypatch)


def test_targets_by_name() -> None:
    assert find_target("neon") is NEON
    with pytest.raises(TargetError, match=r"unknown target 'sve'; .*neon, .*native"):
        find_target("sve")
