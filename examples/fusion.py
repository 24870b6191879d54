"""Cut a perceptron of two layers into kernels, by the predicted time of each."""

import numpy as np

from morello.frontends.text import parse_tensor
from morello.fusion.fuse import fuse
from morello.fusion.operation_graph import OperationGraph, cut
from morello.fusion.prices import Prices
from morello.fusion.program import compile_partition, reference
from morello.learn.predictors import ByCost

HERTZ = 4e9
"""The affine cost is in cycles."""

graph = OperationGraph(parse_tensor("relu(f32[8,32] @ f32[32,32] + f32[32]) @ f32[32,8]"))
prices = Prices(ByCost(HERTZ), seconds=10)
partition = fuse(graph, prices, prices.proven)

print(f"{len(graph.operations)} operations, {len(partition.groups)} kernels:")
for group in partition.groups:
    spec = cut(group).spec
    print(f"  {spec.expression}: {prices(spec) * 1e6:.2f} us predicted")

program = compile_partition(partition, lambda spec: prices.found(spec).impl)
random = np.random.default_rng(0)
inputs = [random.standard_normal(t.shape, np.float32) for t in graph.inputs]
error = np.abs(program(*inputs) - reference(graph, inputs)).max()
print(f"largest error: {error:.1e}")
