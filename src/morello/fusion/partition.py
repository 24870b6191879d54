"""Partitions of a graph's operations into groups, and the two that need no prices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from morello.errors import SpecError
from morello.fusion.graph import Graph, Group, cut, is_heavy, is_map, is_read_in_place
from morello.ir.compose import Tensor


@dataclass(frozen=True)
class Partition:
    """Groups that have each operation once, each group after those whose outputs it reads.

    Only a group's last operation makes what others use. No more is needed: what is between two
    operations of a group is then in the group as well, and no two groups wait for each other.
    Raises `SpecError` for other groups.
    """

    graph: Graph
    groups: tuple[Group, ...]

    def __post_init__(self) -> None:
        operations, users = self.graph.operations, self.graph.users
        members = [one for group in self.groups for one in group.operations]
        if len(members) != len(operations) or {*members} != {*operations}:
            raise SpecError(
                f"the groups have {len(members)} operations, not each of the graph's "
                f"{len(operations)} once; put every operation into one group."
            )
        made = {*self.graph.inputs}
        for group in self.groups:
            for number, one in enumerate(group.operations[:-1], start=1):
                if not users[one] or not users[one] <= {*group.operations[number:]}:
                    raise SpecError(
                        f"what {one.operation} makes is not only for those that follow it in its "
                        f"group, which ends with {group.output.operation}; make it the last of one."
                    )
            if not made.issuperset(group.inputs):
                raise SpecError(
                    f"the group that ends with {group.output.operation} comes before one whose "
                    "output it reads; put it after that."
                )
            made.add(group.output)


def in_order_of_outputs(graph: Graph, groups: Sequence[Group]) -> Partition:
    """The partition into these groups, in the graph's order."""
    ordered = sorted(groups, key=lambda group: graph.positions[group.output])
    return Partition(graph, tuple(ordered))


def apart(graph: Graph) -> Partition:
    """Every operation by itself, but for copies that the only user can do without."""
    return _grouped(graph, lambda one, users, group: _in_place(one, users))


def by_rule(graph: Graph) -> Partition:
    """Every product, convolution, reduction and softmax with the maps that follow it.

    Where maps of several of them meet, these go with the latest; maps of inputs alone go together.
    """

    def joins(one: Tensor, users: frozenset[Tensor], group: Sequence[Tensor]) -> bool:
        if _in_place(one, users):
            return True
        full = is_heavy(one) and any(map(is_heavy, group))
        followed = (is_heavy(one) or is_map(one)) and all(map(is_map, users))
        return followed and not full and _is_one_spec((one, *group))

    return _grouped(graph, joins)


_Joins = Callable[[Tensor, frozenset[Tensor], Sequence[Tensor]], bool]
"""Whether an operation with these users, all of them in one group, joins that group."""


def _grouped(graph: Graph, joins: _Joins) -> Partition:
    """From the result back, every operation joins the group of all its users, or begins one."""
    groups: dict[Tensor, tuple[Tensor, ...]] = {}
    home: dict[Tensor, Tensor] = {}
    for one in reversed(graph.operations):
        users = graph.users[one]
        outputs = {home[user] for user in users}
        output = one
        if len(outputs) == 1:
            (whole,) = outputs
            output = whole if joins(one, users, groups[whole]) else one
        home[one] = output
        groups[output] = (one, *groups.get(output, ()))
    return in_order_of_outputs(graph, [Group(members) for members in groups.values()])


def _in_place(one: Tensor, users: frozenset[Tensor]) -> bool:
    return all(is_read_in_place(one, user) for user in users)


def _is_one_spec(operations: tuple[Tensor, ...]) -> bool:
    try:
        cut(Group(operations))
    except SpecError:
        return False
    return True
