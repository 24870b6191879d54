"""The frameworks that run programs of kernels, and compute what no kernel does."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from math import inf

from morello.graph.graph import Node


@dataclass(frozen=True)
class Framework:
    """A framework's overheads: of a call of a segment, and of an operation it computes itself.

    In seconds, for any sizes. One that `fuses` operations has the overhead of one for all of them,
    and stores no intermediate results.
    """

    name: str
    call_s: float
    node_s: float
    fuses: bool = False
    bytes_per_s: float = 5e9

    def seconds(self, nodes: Collection[Node], stored: Collection[Node] = ()) -> float:
        """Estimated seconds for these nodes, of whose results the `stored` ones are read later.

        Each result is written, and what is computed per element is not known.
        """
        if self.fuses:
            return self.node_s + sum(node.type.bytes for node in stored) / self.bytes_per_s
        size = sum(node.type.bytes for node in nodes)
        return len(nodes) * self.node_s + size / self.bytes_per_s


NUMPY = Framework("NumPy", call_s=5e-6, node_s=0.4e-6)
TORCH = Framework("torch", call_s=4e-6, node_s=0.8e-6)
JAX = Framework("JAX", call_s=0.5e-6, node_s=0.2e-6, fuses=True)
ONNX_RUNTIME = Framework("ONNX Runtime", call_s=1e-6, node_s=1e-6)
"""Overheads seen on a busy Sapphire Rapids; of ONNX Runtime, where both are nodes, assumed."""

C = Framework("C", call_s=0.0, node_s=inf)
"""No framework: kernels do everything, copies included."""
