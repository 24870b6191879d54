"""The threads of torch, for the parallel loops of kernels."""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path

import torch

from morello.native.toolchain import find_compiler
from morello.runtime.load import own_library
from morello.runtime.threads import CLAIMS, HostThreads, Threads, available_threads, pool


def most_threads() -> int:
    """The number of threads that kernels may run on: torch's, or the CPUs if they are fewer."""
    count: int = torch.get_num_threads()
    return min(count, available_threads())


@cache
def torch_threads() -> Threads:
    """Torch's own threads, of which it says at each call how many run; or, before torch 2.10, as
    many of Morello's.
    """
    # dlsym looks into what the extension was linked with, too
    parallel_for = getattr(ctypes.CDLL(torch._C.__file__), "torch_parallel_for", None)
    if parallel_for is None:
        return pool(most_threads())
    source = Path(__file__).with_name("threads.c")
    library = own_library(source, "torch's threads", find_compiler(), before=CLAIMS)
    address, handle = (
        ctypes.cast(function, ctypes.c_void_p).value
        for function in (library.aten_run, parallel_for)
    )
    return HostThreads(address, handle)
