"""Libraries with the cblas interface: OpenBLAS, MKL, and any other by its path."""

from __future__ import annotations

import ctypes
import importlib.util
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.data import empty
from benchmarks.native import COLUMN_MAJOR, PLAIN, ROW_MAJOR, TRANSPOSED, Gemm, gemm, loop, pointer
from benchmarks.peers.peer import Candidate, Options, UnavailableError, unable
from benchmarks.work import Array, Chain, Matmul, Work

SMALL = 128
"""MKL's JIT is tried for products up to this size."""


class Blas:
    """A library whose functions are called `prefix`cblas_..."""

    name, prefix = "BLAS", ""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.library = self.open()

    def open(self) -> ctypes.CDLL:
        """Load it; raises `UnavailableError`."""
        raise NotImplementedError

    def version(self) -> str:
        raise NotImplementedError

    def function(self, name: str) -> Any:
        """One of its functions; None if there is none."""
        return getattr(self.library, self.prefix + name, None)

    def prepare(self, work: Work, inputs: Sequence[Array]) -> Sequence[Candidate]:
        out = empty(work.output)
        match work:
            case Matmul():
                a, b = inputs
                if work.a == "f32":
                    return self.f32(a, b, out)
                if work.a == "bf16":
                    return self.bf16(a, b, out)
                return self.integers(a, b, empty(replace(work.output, dtype="i32")))
            case Chain():
                a, b, c = inputs
                between = np.empty_like(a)
                calls = [gemm(a, b, between), gemm(between, c, out)]
                keep = [*inputs, between]
                return [self.gemms("cblas_sgemm twice", "cblas_sgemm", calls, out, keep)]
        raise unable(self.name, work)

    def f32(self, a: Array, b: Array, out: Array) -> Sequence[Candidate]:
        """Ways to multiply matrices of f32."""
        candidates = [self.gemms("cblas_sgemm", "cblas_sgemm", [gemm(a, b, out)], out, [a, b])]
        gemv = self.function("cblas_sgemv")
        if len(a) == 1 and gemv is not None:
            k, n = b.shape
            order, ld = (ROW_MAJOR, n) if b.flags.c_contiguous else (COLUMN_MAJOR, k)
            arguments = (order, TRANSPOSED, k, n, ld, pointer(b), pointer(a), pointer(out))
            repeat = loop("gemv", gemv, *arguments, keep=(a, b, out))
            candidates.append(Candidate("C", "cblas_sgemv", repeat, lambda: out))
        return candidates

    def bf16(self, a: Array, b: Array, out: Array) -> Sequence[Candidate]:
        """Ways to multiply matrices of bf16."""
        for name in ("cblas_sbgemm", "cblas_gemm_bf16bf16f32"):
            if self.function(name) is not None:
                return [self.gemms(name, name, [gemm(a, b, out)], out, [a, b])]
        raise UnavailableError(
            f"this {self.name} has neither cblas_sbgemm nor cblas_gemm_bf16bf16f32"
        )

    def integers(self, a: Array, b: Array, out: Array) -> Sequence[Candidate]:
        """Ways to multiply u8 by i8."""
        multiply = self.function("cblas_gemm_s8u8s32")
        if multiply is None:
            raise UnavailableError(f"this {self.name} has no cblas_gemm_s8u8s32")
        (m, k), n = a.shape, b.shape[1]
        # the signed operand comes first, so compute the transposed product
        call = Gemm(
            order=COLUMN_MAJOR, ta=PLAIN, tb=PLAIN, m=n, n=m, k=k, lda=n, ldb=k, ldc=n,
            a=b.ctypes.data, b=a.ctypes.data, c=out.ctypes.data,
        )  # fmt: skip
        repeat = loop("integer_gemm", multiply, ctypes.byref(call), keep=(a, b, out, call))
        return [Candidate("C", "cblas_gemm_s8u8s32", repeat, lambda: out)]

    def gemms(
        self, setting: str, name: str, calls: Sequence[Gemm], out: Array, keep: Sequence[Array]
    ) -> Candidate:
        """Some products, one after the other."""
        function = self.function(name)
        if function is None:
            raise UnavailableError(f"this {self.name} has no {name}")
        array = (Gemm * len(calls))(*calls)
        repeat = loop("gemms", function, array, len(calls), keep=(*keep, out))
        return Candidate("C", setting, repeat, lambda: out)


class OpenBlas(Blas):
    """The wheel that SciPy is built with."""

    name, prefix = "scipy-openblas", "scipy_"

    def open(self) -> ctypes.CDLL:
        wheel = importlib.util.find_spec("scipy_openblas32")
        if wheel is None or wheel.origin is None:
            raise UnavailableError("pip install scipy-openblas32")
        return ctypes.CDLL(str(Path(wheel.origin).parent / "lib" / "libscipy_openblas.so"))

    def version(self) -> str:
        texts = []
        for name in ("openblas_get_config", "openblas_get_corename"):
            function = self.function(name)
            function.restype = ctypes.c_char_p
            texts.append(function().decode())
        return " ".join(dict.fromkeys(" ".join(texts).split()))


class Mkl(Blas):
    """Intel's MKL."""

    name = "MKL"

    def open(self) -> ctypes.CDLL:
        libraries = sorted(Path(sys.prefix, "lib").glob("libmkl_rt.so*"))
        if not libraries:
            raise UnavailableError("pip install mkl")
        return ctypes.CDLL(str(libraries[-1]), mode=ctypes.RTLD_GLOBAL)

    def version(self) -> str:
        text = ctypes.create_string_buffer(200)
        self.library.mkl_get_version_string(text, len(text))
        return " ".join(text.value.decode().split())

    def f32(self, a: Array, b: Array, out: Array) -> Sequence[Candidate]:
        candidates = super().f32(a, b, out)
        (m, k), n = a.shape, b.shape[1]
        if max(m, n, k) <= SMALL and b.flags.c_contiguous:
            candidates = [*candidates, self.jit(m, n, k, [a, b, out])]
        return candidates

    def jit(self, m: int, n: int, k: int, arrays: Sequence[Array]) -> Candidate:
        """The product by code that MKL generates for its sizes."""
        jitter = ctypes.c_void_p()
        create = self.library.mkl_cblas_jit_create_sgemm
        alpha, beta = ctypes.c_float(1), ctypes.c_float(0)
        create(
            ctypes.byref(jitter), ROW_MAJOR, PLAIN, PLAIN, m, n, k, alpha, k, n, beta, n
        )  # fmt: skip
        get = self.library.mkl_jit_get_sgemm_ptr
        get.restype = ctypes.c_void_p
        addresses = (ctypes.c_void_p * 4)(jitter, *(x.ctypes.data for x in arrays))
        repeat = loop("pointers4", ctypes.c_void_p(get(jitter)), addresses, keep=arrays)
        return Candidate("C", "jit", repeat, lambda: arrays[-1])


class AnyBlas(Blas):
    """A BLAS given on the command line."""

    name = "library"

    def open(self) -> ctypes.CDLL:
        library = ctypes.CDLL(str(self.options.library), mode=ctypes.RTLD_GLOBAL)
        if not hasattr(library, "cblas_sgemm"):
            raise UnavailableError(f"{self.options.library} has no cblas_sgemm")
        return library

    def version(self) -> str:
        for name in ("bli_info_get_version_str", "openblas_get_config"):
            function = self.function(name)
            if function is not None:
                function.restype = ctypes.c_char_p
                return f"{Path(str(self.options.library)).name}, {function().decode()}"
        return Path(str(self.options.library)).name
