"""Groups by rule: of more maps than one kernel may hold, and of results in another order."""

from __future__ import annotations

import numpy as np

from morello.graph.graph import Graph, TensorType, apply
from morello.graph.neighbours import neighbours
from morello.graph.operators import Gather, Input, Map, Transpose
from morello.graph.partition import by_rule
from morello.importers.taking import backwards
from morello.ir.computation import MAX_COMPONENTS
from morello.models.compiling import partitioned

VECTOR = TensorType((4,), np.dtype(np.float32))


def chain(length: int) -> Graph:
    node = first = apply(Input(VECTOR))
    for number in range(length):
        node = apply(Map("exp" if number % 2 else "tanh"), node)
    return Graph((first,), (node,))


def test_the_rule_makes_groups_as_large_as_a_kernel_may_be() -> None:
    partition = by_rule(chain(2 * MAX_COMPONENTS + 2))
    sizes = [len(group.nodes) for group in partition.groups]
    assert sizes == [MAX_COMPONENTS, MAX_COMPONENTS, 2]
    assert not partition.left


def test_values_that_are_read_twice_count_twice() -> None:
    """Each is computed for both that read it, and so is what it reads."""
    node = first = apply(Input(VECTOR))
    for _ in range(20):
        node = apply(Map("add"), apply(Map("exp"), node), apply(Map("tanh"), node))
    partition = by_rule(Graph((first,), (node,)))
    # one to five steps, of three nodes each, evaluate 3, 9, 21, 45 and 93
    assert max(len(group.nodes) for group in partition.groups) < 3 * 5
    assert not partition.left


def test_no_larger_group_is_looked_at() -> None:
    partition = by_rule(chain(2 * MAX_COMPONENTS + 2))
    near = neighbours(partition, dict.fromkeys(partition.groups, 100.0), line=10.0)
    assert max(len(each.members) for each in near) == MAX_COMPONENTS


def test_elements_in_reverse_order_are_stored_where_they_are_read() -> None:
    """No kernel has to copy what is taken as columns of a matrix to where it is an image."""
    image = apply(Input(TensorType((3, 4, 8), np.dtype(np.float32))))
    partition = partitioned(Graph((image,), (backwards(image, 2),)))
    (group,) = partition.groups
    assert [type(node.operator) for node in group.nodes] == [Gather, Transpose]
    assert not partition.left
