"""Partitions of a graph's operations into groups, and two baselines that need no prices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from morello.base.errors import SpecError
from morello.fusion.operation_graph import (
    OperationGraph,
    OperationGroup,
    cut,
    is_heavy,
    is_map,
    is_read_in_place,
)
from morello.ir.computation import Tensor


@dataclass(frozen=True)
class Partition:
    """Groups that contain each operation once, each group after those whose outputs it reads.

    Other groups may read the result of a group's last operation only. This suffices: operations
    on a path between two of a group are then in the group too, and groups do not depend on each
    other in a cycle. Raises `SpecError` for other groups.
    """

    graph: OperationGraph
    groups: tuple[OperationGroup, ...]

    def __post_init__(self) -> None:
        operations, users = self.graph.operations, self.graph.users
        members = [operation for group in self.groups for operation in group.operations]
        if len(members) != len(operations) or {*members} != {*operations}:
            raise SpecError(
                f"the groups have {len(members)} operations, not each of the graph's "
                f"{len(operations)} once; put every operation into one group."
            )
        computed = {*self.graph.inputs}
        for group in self.groups:
            for number, tensor in enumerate(group.operations[:-1], start=1):
                if not users[tensor] or not users[tensor] <= {*group.operations[number:]}:
                    raise SpecError(
                        f"the result of {tensor.operation} is not only for operations that "
                        f"follow it in its group, which ends with {group.output.operation}; make "
                        "it the last operation of a group."
                    )
            if not computed.issuperset(group.inputs):
                raise SpecError(
                    f"the group that ends with {group.output.operation} comes before one whose "
                    "output it reads; put it after that."
                )
            computed.add(group.output)


def in_order_of_outputs(graph: OperationGraph, groups: Sequence[OperationGroup]) -> Partition:
    """The partition into these groups, in the graph's order."""
    ordered = sorted(groups, key=lambda group: graph.positions[group.output])
    return Partition(graph, tuple(ordered))


def apart(graph: OperationGraph) -> Partition:
    """Each operation by itself, except copies whose users can read the source in place."""
    return _grouped(graph, lambda operation, users, group: _in_place(operation, users))


def by_rule(graph: OperationGraph) -> Partition:
    """Each product, convolution, reduction and softmax with the maps that follow it.

    Maps that follow several of them join the last of these; maps of inputs alone form one group.
    """

    def joins(operation: Tensor, users: frozenset[Tensor], group: Sequence[Tensor]) -> bool:
        if _in_place(operation, users):
            return True
        full = is_heavy(operation) and any(map(is_heavy, group))
        followed = (is_heavy(operation) or is_map(operation)) and all(map(is_map, users))
        return followed and not full and _is_one_spec((operation, *group))

    return _grouped(graph, joins)


_Joins = Callable[[Tensor, frozenset[Tensor], Sequence[Tensor]], bool]
"""Whether an operation with these users, all of them in one group, joins that group."""


def _grouped(graph: OperationGraph, joins: _Joins) -> Partition:
    """From the result back, each operation joins the group of all its users, or begins one."""
    groups: dict[Tensor, tuple[Tensor, ...]] = {}
    output_of: dict[Tensor, Tensor] = {}
    for operation in reversed(graph.operations):
        users = graph.users[operation]
        outputs = {output_of[user] for user in users}
        output = operation
        if len(outputs) == 1:
            (joined,) = outputs
            output = joined if joins(operation, users, groups[joined]) else operation
        output_of[operation] = output
        groups[output] = (operation, *groups.get(output, ()))
    return in_order_of_outputs(graph, [OperationGroup(members) for members in groups.values()])


def _in_place(operation: Tensor, users: frozenset[Tensor]) -> bool:
    return all(is_read_in_place(operation, user) for user in users)


def _is_one_spec(operations: tuple[Tensor, ...]) -> bool:
    try:
        cut(OperationGroup(operations))
    except SpecError:
        return False
    return True
