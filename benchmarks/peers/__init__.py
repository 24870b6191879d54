"""The peers, one file each; each loads its libraries in its own process only."""

from __future__ import annotations

from collections.abc import Mapping

OURS = "morello"

PEERS: Mapping[str, str] = {
    "numpy": "benchmarks.peers.numpy:NumPy",
    "openblas": "benchmarks.peers.blas:OpenBlas",
    "mkl": "benchmarks.peers.blas:Mkl",
    "onednn": "benchmarks.peers.onednn:OneDnn",
    "libxsmm": "benchmarks.peers.xsmm:Xsmm",
    "torch": "benchmarks.peers.torch:Torch",
    "jax": "benchmarks.peers.jax:Jax",
}
"""The peers that are always measured, with the module and class of each."""

MORELLO = "benchmarks.peers.ours:Morello"
TVM = "benchmarks.peers.tvm:Tvm"
LIBRARY = "benchmarks.peers.library:open_library"
