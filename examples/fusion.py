"""Cut a perceptron of two layers into kernels, by the predicted time of each."""

import numpy as np

from morello.graph.fusing import by_cost
from morello.graph.interpreter import evaluate
from morello.importers.text import graph_of
from morello.learn.predictors import ByCost
from morello.models import compile_partition
from morello.models.prices import Prices

HERTZ = 4e9
"""The affine cost is in cycles."""

graph = graph_of("relu(f32[8,32] @ f32[32,32] + f32[32]) @ f32[32,8]")
prices = Prices(ByCost(HERTZ), budget=10)
partition = by_cost(graph, prices, prices.finished)

print(f"{len(graph.nodes) - len(graph.inputs)} operations, {len(partition.groups)} kernels:")
for group in partition.groups:
    spec = group.lowered.spec
    print(f"  {spec.expression}: {prices(spec) * 1e6:.2f} us predicted")

program = compile_partition(partition)
random = np.random.default_rng(0)
inputs = [random.standard_normal(node.shape, np.float32) for node in graph.inputs]
error = np.abs(program(*inputs)[0] - evaluate(graph, inputs)[0]).max()
print(f"largest error: {error:.1e}")
