from __future__ import annotations

import ctypes
import errno
import multiprocessing
import os
import subprocess
import time
from pathlib import Path

import pytest

from morello.base.errors import BuildError, CompilerTimeoutError
from morello.native.build import build, linked_from
from morello.native.cache import default_cache, is_whole
from morello.native.toolchain import Compiler, find_compiler

ANSWER = "int answer(void) { return 42; }"


@pytest.fixture(scope="module")
def compiler() -> Compiler:
    return find_compiler()


def leftovers(cache: Path) -> set[str]:
    """The suffixes of what is in the cache."""
    return {entry.suffix for entry in cache.iterdir()}


def test_built_once(compiler: Compiler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = tmp_path / "not" / "yet" / "there"
    path = build(ANSWER, compiler=compiler, cache=cache)
    assert path.parent == cache
    assert ctypes.CDLL(str(path)).answer() == 42
    assert path.with_suffix(".c").read_text() == ANSWER
    assert leftovers(cache) == {".c", ".o", ".so"}
    monkeypatch.setattr("subprocess.Popen", lambda *_, **__: pytest.fail("compiled again"))
    assert build(ANSWER, compiler=compiler, cache=cache) == path


KERNEL = """
__attribute__((weak, visibility("hidden"))) _Thread_local char room[SIZE];
int NAME(void) { return sizeof room + ++room[0]; }
"""

CALLS = """
#pragma GCC visibility push(hidden)
int first(void), second(void);
_Thread_local char room[4096];
#pragma GCC visibility pop
int answer(void) { return first() + second(); }
"""


def test_objects_are_linked_and_share_memory(compiler: Compiler, tmp_path: Path) -> None:
    sizes = {"first": 1024, "second": 2048}
    alone = [
        build(KERNEL.replace("NAME", name).replace("SIZE", str(size)), compiler=compiler,
              cache=tmp_path)
        for name, size in sizes.items()
    ]  # fmt: skip
    assert ctypes.CDLL(str(alone[0])).first() == 1024 + 1
    path = build(
        CALLS, compiler=compiler, cache=tmp_path, objects=lambda: [*map(linked_from, alone)]
    )
    library = ctypes.CDLL(str(path))
    assert library.answer() == 1024 + 1 + 2048 + 2
    assert not hasattr(library, "first")  # another library may have one, too


def test_a_damaged_object_is_compiled_again(compiler: Compiler, tmp_path: Path) -> None:
    path = linked_from(build(ANSWER, compiler=compiler, cache=tmp_path))
    path.write_bytes(path.read_bytes()[:-1])
    build(ANSWER, compiler=compiler, cache=tmp_path)
    assert is_whole(path)


def test_what_is_missing_when_objects_are_linked(compiler: Compiler, tmp_path: Path) -> None:
    gone = tmp_path / "gone.o"
    with pytest.raises(BuildError, match=r"gone\.o"):
        build(ANSWER, compiler=compiler, cache=tmp_path, objects=lambda: [gone])
    assert leftovers(tmp_path) == {".c"}


def test_what_changes_the_object_changes_its_name(compiler: Compiler, tmp_path: Path) -> None:
    path = build(ANSWER, compiler=compiler, cache=tmp_path)
    assert build(ANSWER + "\n", compiler=compiler, cache=tmp_path) != path
    assert build(ANSWER, compiler=compiler, flags=("-DX",), cache=tmp_path) != path
    newer = Compiler("newer", compiler.kind, compiler.command, (99,))
    assert build(ANSWER, compiler=newer, cache=tmp_path) != path


def test_compile_error(compiler: Compiler, tmp_path: Path) -> None:
    wrong = "void kernel(void) { no_such_type x; }"
    with pytest.raises(BuildError) as caught:
        build(wrong, compiler=compiler, cache=tmp_path)
    (kept,) = tmp_path.glob("*.c")
    assert kept.read_text() == wrong
    assert str(kept) in str(caught.value)
    assert "no_such_type" in str(caught.value)
    assert "error" in str(caught.value)
    assert leftovers(tmp_path) == {".c"}


def test_a_file_in_the_place_of_the_cache(compiler: Compiler, tmp_path: Path) -> None:
    occupied = tmp_path / "occupied"
    occupied.touch()
    for cache in (occupied, occupied / "below"):
        with pytest.raises(BuildError, match=rf"{cache} cannot be written.*set MORELLO_CACHE"):
            build(ANSWER, compiler=compiler, cache=cache)


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a file system without writes")
def test_unwritable_cache(compiler: Compiler) -> None:
    with pytest.raises(BuildError, match=r"/proc/morello cannot be written.*MORELLO_CACHE"):
        build(ANSWER, compiler=compiler, cache=Path("/proc/morello"))


def test_full_disk(compiler: Compiler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", full)
        with pytest.raises(BuildError, match=r"No space left on device.*set MORELLO_CACHE"):
            build(ANSWER, compiler=compiler, cache=tmp_path)
    assert leftovers(tmp_path) == set()
    with monkeypatch.context() as patch:
        said = subprocess.CompletedProcess([], 1, "", "ld: write failed: No space left on device")
        patch.setattr("morello.native.compile._run", lambda *_, **__: said)
        with pytest.raises(BuildError, match=r"No space left on device.*set MORELLO_CACHE"):
            build(ANSWER, compiler=compiler, cache=tmp_path)
    assert leftovers(tmp_path) == set()


def test_the_object_appears_whole_or_not_at_all(
    compiler: Compiler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace, moved = os.replace, []

    def watch(old: Path, new: Path) -> None:
        assert not new.exists()
        moved.append(new.suffix)
        if new.suffix == ".so":
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        replace(old, new)

    monkeypatch.setattr("os.replace", watch)
    with pytest.raises(BuildError, match=r"cannot be written \(Input/output error\)"):
        build(ANSWER, compiler=compiler, cache=tmp_path)
    assert moved == [".c", ".o", ".so"]
    assert leftovers(tmp_path) == {".c", ".o"}


def test_compiler_that_vanished(tmp_path: Path) -> None:
    gone = Compiler("gone 1.0", "gcc", ("/no/such/gcc",), (1, 0))
    with pytest.raises(BuildError, match=r"/no/such/gcc cannot be run: No such file"):
        build(ANSWER, compiler=gone, cache=tmp_path)
    assert leftovers(tmp_path) == set()


def test_compiler_that_hangs(tmp_path: Path) -> None:
    slow = Compiler("slow 1.0", "gcc", ("/bin/sh", "-c", "sleep 60; true"), (1, 0))
    began = time.perf_counter()
    with pytest.raises(CompilerTimeoutError, match=r"slow 1.0 was still running after 0.1 s"):
        build(ANSWER, compiler=slow, cache=tmp_path, patience_s=0.1)
    assert time.perf_counter() - began < 30, "what it started is ended as well"
    assert leftovers(tmp_path) == set()


def test_compiler_that_makes_nothing(tmp_path: Path) -> None:
    mute = Compiler("mute 1.0", "gcc", ("/bin/sh", "-c", "exit 0"), (1, 0))
    with pytest.raises(BuildError, match="left with code 0 and made nothing"):
        build(ANSWER, compiler=mute, cache=tmp_path)
    assert leftovers(tmp_path) == {".c"}


def _build_at_once(compiler: Compiler, cache: Path) -> str:
    path = build("int f(void) { return 7; }", compiler=compiler, cache=cache)
    assert ctypes.CDLL(str(path)).f() == 7
    return str(path)


def test_many_processes_at_once(compiler: Compiler, tmp_path: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        paths = pool.starmap(_build_at_once, [(compiler, tmp_path)] * 8, chunksize=1)
    assert len(set(paths)) == 1
    assert len(list(tmp_path.glob("*.so"))) == 1
    assert leftovers(tmp_path) == {".c", ".o", ".so"}


def test_default_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
    monkeypatch.setenv("MORELLO_CACHE", "~/here")
    assert default_cache() == tmp_path / "here"
    monkeypatch.delenv("MORELLO_CACHE")
    assert default_cache() == Path("/xdg/morello")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert default_cache() == tmp_path / ".cache" / "morello"


def test_no_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MORELLO_CACHE", "~no-such-user/cache")
    with pytest.raises(BuildError, match=r"~no-such-user/cache is in no known home.*MORELLO_CACHE"):
        default_cache()


def test_relative_cache(
    compiler: Compiler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = build(ANSWER, compiler=compiler, cache=Path())
    assert path.parent == tmp_path
    assert ctypes.CDLL(str(path)).answer() == 42
