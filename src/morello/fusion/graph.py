"""Graphs of values: operations, what they use, and groups of them as Specs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from morello.errors import SpecError
from morello.frontends.text import MAX_INPUTS
from morello.frontends.values import Laid, spec_of
from morello.ir.compose import Tensor, build, in_order
from morello.ir.operation import Operation, reordered
from morello.ir.spec import Spec


@dataclass(frozen=True)
class Graph:
    """All that a tensor is made of. An operation is known by the tensor that it makes."""

    result: Tensor

    @cached_property
    def operations(self) -> tuple[Tensor, ...]:
        """The tensors that are made, each after those that it is made of: the result is last."""
        return tuple(in_order(self.result)[0])

    @cached_property
    def inputs(self) -> tuple[Tensor, ...]:
        """The tensors that are given, in the order of their first use."""
        return tuple(in_order(self.result)[1])

    @cached_property
    def positions(self) -> Mapping[Tensor, int]:
        """Where each operation stands among all of them."""
        return {one: position for position, one in enumerate(self.operations)}

    @cached_property
    def users(self) -> Mapping[Tensor, frozenset[Tensor]]:
        """The operations that use what an operation makes."""
        found: dict[Tensor, set[Tensor]] = {one: set() for one in self.operations}
        for one in self.operations:
            for source in one.inputs:
                if source in found:
                    found[source].add(one)
        return {one: frozenset(users) for one, users in found.items()}


@dataclass(frozen=True)
class Group:
    """Operations that are one kernel, each after those that it uses; the last makes the output."""

    operations: tuple[Tensor, ...]

    @property
    def output(self) -> Tensor:
        return self.operations[-1]

    @cached_property
    def inputs(self) -> tuple[Tensor, ...]:
        """The tensors from outside that it reads: given ones, and outputs of other groups."""
        used = dict.fromkeys(source for one in self.operations for source in one.inputs)
        return tuple(source for source in used if source not in self.operations)


@dataclass(frozen=True)
class Cut:
    """A group as a Spec of its own, and the tensors that the Spec's inputs are, in their order."""

    spec: Spec
    inputs: tuple[Tensor, ...]


def cut(group: Group) -> Cut:
    """The Spec of a group, what it reads of other groups lying row-major in main memory.

    A copy that only puts such a tensor's dimensions in another order is left out where its
    user can read the tensor in that order. Raises `SpecError` if no one Spec computes it all.
    """
    given = {t: t if t.operation is None else Laid(t.shape, t.dtype) for t in group.inputs}
    made: dict[Tensor, Tensor] = {}
    for one in group.operations:
        assert one.operation is not None
        orders = [operand.dims for operand in one.operation.operands]
        sources = list(one.inputs)
        for number, source in enumerate(one.inputs):
            if source in made and is_read_in_place(source, one) and source.inputs[0] in given:
                orders[number] = _in_source_order(source, orders[number])
                sources[number] = source.inputs[0]
        inputs = tuple(made.get(t) or given[t] for t in sources)
        made[one] = replace(one, operation=reordered(one.operation, orders), inputs=inputs)
    result = made[group.output]
    built = build(result)
    if len(built.arrays) > MAX_INPUTS:
        raise SpecError(
            f"{len(group.operations)} operations read {len(built.arrays)} tensors, and a kernel "
            f"takes {MAX_INPUTS} and the result; make them several groups."
        )
    meant = {stand_in: tensor for tensor, stand_in in given.items()}
    return Cut(spec_of(built, result), tuple(meant[t] for t in built.arrays))


# ---- what operations are, as far as fusion is concerned


def is_map(one: Tensor) -> bool:
    """It applies a function to every element, casts it, or repeats it along a new dimension."""
    assert one.operation is not None
    cast = one.operation.copies and bool(one.inputs) and one.dtype is not one.inputs[0].dtype
    return cast or one.operation.function is not None


def is_heavy(one: Tensor) -> bool:
    """It combines elements: a product, a convolution, a reduction or a softmax."""
    assert one.operation is not None
    return one.operation.function is None and not one.operation.copies


def is_read_in_place(one: Tensor, user: Tensor) -> bool:
    """One puts a result's dimensions in another order, and its user can read it in that order.

    Not so copies of inputs: those that their users can do without are not made in the first place.
    """
    assert one.operation is not None and user.operation is not None
    if not one.operation.copies or not one.inputs:
        return False
    ((source,), (read, written)) = one.inputs, one.operation.operands
    turns = source.dtype is one.dtype and read.dims != written.dims
    return turns and source.operation is not None and _reads_any_order(user.operation)


def _reads_any_order(operation: Operation) -> bool:
    """Maps and sums of products do."""
    inputs = operation.operands[: operation.outputs[0]]
    if operation.function is not None:
        return True
    return len(inputs) == 2 and all({*one.dims} & {*operation.reduced} for one in inputs)


def _in_source_order(copy: Tensor, dims: tuple[str, ...]) -> tuple[str, ...]:
    """How a copy's user indexes the copy's source, given how it indexes the copy."""
    assert copy.operation is not None
    source, result = copy.operation.operands
    return tuple(dims[result.dims.index(d)] for d in source.dims)
