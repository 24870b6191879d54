"""A library given on the command line: a BLAS or a oneDNN, by the functions it has."""

from __future__ import annotations

import ctypes

from benchmarks.peers.blas import AnyBlas
from benchmarks.peers.onednn import AnyOneDnn
from benchmarks.peers.peer import Options, Peer, UnavailableError


def open_library(options: Options) -> Peer:
    """The peer for a library; raises `UnavailableError` if it is neither kind."""
    try:
        library = ctypes.CDLL(str(options.library), mode=ctypes.RTLD_GLOBAL)
    except OSError as error:
        raise UnavailableError(str(error)) from None
    if hasattr(library, "dnnl_sgemm"):
        return AnyOneDnn(options)
    if hasattr(library, "cblas_sgemm"):
        return AnyBlas(options)
    raise UnavailableError(f"{options.library} has neither cblas_sgemm nor dnnl_sgemm")
