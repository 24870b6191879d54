"""libxsmm 1.17 as Debian packages it: code generated at run time for small products."""

from __future__ import annotations

import ctypes
import ctypes.util
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from benchmarks.data import empty
from benchmarks.native import loop
from benchmarks.peers.peer import Candidate, Options, UnavailableError, unable
from benchmarks.work import Array, Matmul, Work
from morello.native.cache import default_cache

ARCHIVES = ("libxsmm.a", "libxsmmnoblas.a")
FOLDERS = (Path("/usr/lib"), Path("/usr/lib/x86_64-linux-gnu"), Path("/usr/local/lib"))

LARGEST = 512
"""libxsmm is for small products; one call covers sizes up to this."""


class Xsmm:
    """Products of f32, on one thread."""

    def __init__(self, options: Options) -> None:
        del options  # it has no threads of its own
        self.library = _open()
        self.library.libxsmm_init()
        self.library.libxsmm_smmdispatch.restype = ctypes.c_void_p

    def version(self) -> str:
        self.library.libxsmm_get_target_arch.restype = ctypes.c_char_p
        return f"libxsmm (Debian's 1.17), {self.library.libxsmm_get_target_arch().decode()}"

    def prepare(self, work: Work, inputs: Sequence[Array]) -> Sequence[Candidate]:
        match work:
            case Matmul(a="f32") if max(work.m, work.k, work.n) <= 2 * LARGEST:
                return [self.product(work, *inputs)]
            case Matmul(a="f32"):
                raise UnavailableError(f"made for products up to {2 * LARGEST}")
        raise unable("libxsmm", work)

    def product(self, work: Matmul, a: Array, b: Array) -> Candidate:
        """The row-major product, as the column-major product of the transposed operands."""
        out = empty(work.output)
        sizes = [ctypes.c_int(x) for x in (work.n, work.k, work.n)]
        alpha, beta, flags = ctypes.c_float(1), ctypes.c_float(0), ctypes.c_int(0)
        address = self.library.libxsmm_smmdispatch(
            work.n, work.m, work.k, *map(ctypes.byref, sizes),
            ctypes.byref(alpha), ctypes.byref(beta), ctypes.byref(flags), None,
        )  # fmt: skip
        if not address:
            raise UnavailableError(f"libxsmm makes no code for {work.size}")
        addresses = (ctypes.c_void_p * 3)(b.ctypes.data, a.ctypes.data, out.ctypes.data)
        repeat = loop("pointers3", ctypes.c_void_p(address), addresses, keep=(a, b, out))
        return Candidate("C", "smmdispatch", repeat, lambda: out)


def _open() -> ctypes.CDLL:
    """Load the shared library, or link one from the archives that Debian has instead."""
    if name := ctypes.util.find_library("xsmm"):
        return ctypes.CDLL(name)
    folder = next((f for f in FOLDERS if all((f / name).exists() for name in ARCHIVES)), None)
    linker = shutil.which("gcc") or shutil.which("cc")
    if folder is None or linker is None:
        raise UnavailableError("install Debian's libxsmm-dev and gcc")
    path = default_cache() / "libxsmm.so"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        archives = [str(folder / name) for name in ARCHIVES]
        done = subprocess.run(
            [linker, "-shared", "-o", str(path), "-Wl,--whole-archive", *archives,
             "-Wl,--no-whole-archive", "-lpthread", "-ldl", "-lm"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            raise UnavailableError(
                f"libxsmm's archives cannot be linked: {done.stderr.strip()[:200]}"
            )
    return ctypes.CDLL(str(path))
