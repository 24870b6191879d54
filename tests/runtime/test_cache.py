from __future__ import annotations

import ctypes
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.support import mode, umask

from morello.base.errors import BuildError
from morello.native.build import build
from morello.native.cache import is_whole, publish
from morello.native.toolchain import Compiler, find_compiler

ANSWER = "int answer(void) { return 42; }"

unix_only = pytest.mark.skipif(sys.platform == "win32", reason="there are no modes")


@pytest.fixture(scope="module")
def compiler() -> Compiler:
    return find_compiler()


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


# ---- others


@unix_only
@pytest.mark.parametrize("mask", [0o000, 0o002, 0o022, 0o077])
def test_a_new_cache_is_for_this_user_alone(compiler: Compiler, tmp_path: Path, mask: int) -> None:
    cache = tmp_path / "new" / "cache"
    with umask(mask):
        library = build(ANSWER, compiler=compiler, cache=cache)
        assert build(ANSWER, compiler=compiler, cache=cache) == library
    assert mode(cache) == 0o700
    assert not mode(cache.parent) & 0o022 and not mode(library) & 0o022


@unix_only
def test_a_cache_that_others_may_read_is_fine(compiler: Compiler, cache: Path) -> None:
    cache.mkdir()
    cache.chmod(0o755)
    build(ANSWER, compiler=compiler, cache=cache)
    assert mode(cache) == 0o755


def refused(compiler: Compiler, cache: Path) -> str:
    """Why nothing is loaded from the cache, nor compiled in it; also what would help."""
    with pytest.raises(BuildError, match="MORELLO_CACHE to a directory that only this") as caught:
        build(ANSWER, compiler=compiler, cache=cache)
    return str(caught.value)


@unix_only
@pytest.mark.parametrize("writable", [0o777, 0o775, 0o757, 0o1777])
def test_a_cache_that_others_may_write(compiler: Compiler, cache: Path, writable: int) -> None:
    library = build(ANSWER, compiler=compiler, cache=cache)
    cache.chmod(writable)
    message = refused(compiler, cache)
    assert f"other users may write to {cache}, whose mode is {writable:o}" in message
    assert f"`chmod go-w {cache}`" in message
    library.unlink()
    assert refused(compiler, cache) == message
    assert list(cache.glob("*.so")) == []


@unix_only
@pytest.mark.parametrize("writable", [0o666, 0o664, 0o777])
def test_an_object_that_others_may_write(compiler: Compiler, cache: Path, writable: int) -> None:
    library = build(ANSWER, compiler=compiler, cache=cache)
    library.chmod(writable)
    assert f"write to {library}, whose mode is {writable:o}" in refused(compiler, cache)


@unix_only
@pytest.mark.parametrize("what", ["folder", "object"])
def test_what_belongs_to_others(
    compiler: Compiler, cache: Path, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = build(ANSWER, compiler=compiler, cache=cache)
    path = cache if what == "folder" else library
    if os.geteuid() == 0:
        os.chown(path, 12345, -1)
    elif what == "folder":
        monkeypatch.setattr("os.geteuid", lambda: 12345)
    else:
        pytest.skip("only root can give files away")
    assert f"loaded from {path}, since it belongs to another user" in refused(compiler, cache)


@unix_only
def test_what_root_owns_is_fine(
    compiler: Compiler, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can make what root owns")
    library = build(ANSWER, compiler=compiler, cache=cache)
    monkeypatch.setattr("os.geteuid", lambda: 12345)
    assert build(ANSWER, compiler=compiler, cache=cache) == library


@unix_only
def test_folders_in_which_others_may_rename(compiler: Compiler, tmp_path: Path) -> None:
    above = tmp_path / "above"
    cache = above / "between" / "cache"
    build(ANSWER, compiler=compiler, cache=cache)
    above.chmod(0o777)
    assert f"write to {above}, whose mode is 777" in refused(compiler, cache)
    above.chmod(0o1777)  # sticky, as are those for temporary files: nobody can rename it
    build(ANSWER, compiler=compiler, cache=cache)
    above.chmod(0o775)  # by a group of this user's own
    build(ANSWER, compiler=compiler, cache=cache)
    if os.geteuid() == 0:
        os.chown(above, -1, 12345)
        assert f"write to {above}, whose mode is 775" in refused(compiler, cache)


@unix_only
def test_links_are_as_safe_as_what_they_lead_to(compiler: Compiler, tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    link.symlink_to(real)
    real.mkdir(0o700)
    library = build(ANSWER, compiler=compiler, cache=link)
    assert library.parent == link
    elsewhere = tmp_path / "elsewhere"
    library.rename(elsewhere)
    library.symlink_to(elsewhere)
    assert build(ANSWER, compiler=compiler, cache=link) == library
    elsewhere.chmod(0o666)
    assert f"write to {elsewhere}" in refused(compiler, link)
    library.unlink()
    real.chmod(0o777)
    assert f"write to {real}" in refused(compiler, link)


@unix_only
def test_what_others_plant_does_not_run(compiler: Compiler, cache: Path, tmp_path: Path) -> None:
    library = build(ANSWER, compiler=compiler, cache=cache)
    ran = tmp_path / "ran"
    planted = f"""
    #include <fcntl.h>
    __attribute__((constructor)) void run(void) {{ open("{ran}", O_CREAT | O_WRONLY, 0600); }}
    int answer(void) {{ return 666; }}
    """
    publish(build(planted, compiler=compiler, cache=tmp_path / "theirs"), library)
    cache.chmod(0o777)
    load = (
        "import ctypes, sys; from pathlib import Path;"
        "from morello.native.build import build;"
        "from morello.native.toolchain import find_compiler;"
        "path = build(sys.argv[1], compiler=find_compiler(), cache=Path(sys.argv[2]));"
        "print(ctypes.CDLL(str(path)).answer())"
    )
    command = [sys.executable, "-c", load, ANSWER, str(cache)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert "other users may write to" in done.stderr and not ran.exists()
    cache.chmod(0o700)
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout == "666\n" and ran.exists(), "the test itself would notice"


# ---- damage


def damaged(content: bytes) -> dict[str, bytes]:
    """An object as a crash, a full disk or a failing disk may leave it."""
    middle = len(content) // 2
    return {
        "empty": b"",
        "one byte": content[:1],
        "half": content[:middle],
        "without its last byte": content[:-1],
        "without its last page": content[:-4096],
        "longer": content + b"\0",
        "twice": content * 2,
        "zeros": bytes(len(content)),
        "zeros at the end": content[:middle] + bytes(len(content) - middle),
        "another first byte": b"x" + content[1:],
        "another bit": content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :],
        "another last byte": content[:-1] + bytes([content[-1] ^ 1]),
        "only the seal": content[-40:],
        "text": b"not a shared object",
    }


@pytest.mark.parametrize("name", damaged(b"..."))
def test_a_damaged_object_is_built_again(compiler: Compiler, cache: Path, name: str) -> None:
    library = build(ANSWER, compiler=compiler, cache=cache)
    whole = library.read_bytes()
    library.write_bytes(damaged(whole)[name])
    assert not is_whole(library)
    assert build(ANSWER, compiler=compiler, cache=cache) == library
    assert is_whole(library)
    assert ctypes.CDLL(str(library)).answer() == 42


def test_the_object_of_another_source_is_built_again(compiler: Compiler, cache: Path) -> None:
    library = build(ANSWER, compiler=compiler, cache=cache)
    other = build(ANSWER.replace("42", "43"), compiler=compiler, cache=cache)
    library.write_bytes(other.read_bytes())
    assert not is_whole(library)
    assert build(ANSWER, compiler=compiler, cache=cache) == library
    assert ctypes.CDLL(str(library)).answer() == 42


@unix_only
def test_what_is_no_file_is_no_object(compiler: Compiler, cache: Path) -> None:
    library = build(ANSWER, compiler=compiler, cache=cache)
    library.unlink()
    os.mkfifo(library)
    assert build(ANSWER, compiler=compiler, cache=cache) == library
    assert ctypes.CDLL(str(library)).answer() == 42
    library.unlink()
    library.symlink_to(cache / "nothing")
    build(ANSWER, compiler=compiler, cache=cache)
    assert not library.is_symlink() and is_whole(library)
    library.unlink()
    library.mkdir()
    with pytest.raises(BuildError, match=r"cannot be written \(Is a directory\)"):
        build(ANSWER, compiler=compiler, cache=cache)


def test_an_object_is_on_the_disk_before_it_has_its_name(
    compiler: Compiler, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[tuple[int, int]] = []
    fsync, replace = os.fsync, os.replace

    def sync(file: int) -> None:
        found = os.fstat(file)
        synced.append((found.st_ino, found.st_size))
        fsync(file)

    def rename(old: Path, new: Path) -> None:
        if new.suffix != ".c":
            assert synced[-1] == (old.stat().st_ino, old.stat().st_size)
        replace(old, new)

    monkeypatch.setattr("os.fsync", sync)
    monkeypatch.setattr("os.replace", rename)
    assert is_whole(build(ANSWER, compiler=compiler, cache=cache))
    assert len(synced) == 2


BUILD_MANY = """
import sys
from pathlib import Path
from morello.native.build import build
from morello.native.toolchain import find_compiler
compiler = find_compiler()
for n in range(1000):
    build(f"int f(void) {{ return {n}; }}", compiler=compiler, cache=Path(sys.argv[1]))
    print(n, flush=True)
"""


def test_killed_at_any_moment(compiler: Compiler, cache: Path) -> None:
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    moments = random.Random(seed)
    for _ in range(6):
        command = [sys.executable, "-c", BUILD_MANY, str(cache)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(moments.uniform(0.05, 0.3))
            process.send_signal(signal.SIGKILL)
    made = list(cache.glob("*.so"))
    assert made and all(is_whole(one) for one in made)
    for _ in range(100):  # until compilers that outlived their process are done
        build(f"int g(void) {{ return {moments.random()}; }}", compiler=compiler, cache=cache)
        left = {one.suffix for one in cache.iterdir()}
        if left == {".c", ".o", ".so"}:
            break
    assert left == {".c", ".o", ".so"}
