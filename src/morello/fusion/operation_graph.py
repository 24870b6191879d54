"""Graphs of operations, and groups of operations as Specs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from morello.base.errors import SpecError
from morello.frontends.text import MAX_INPUTS
from morello.ir.computation import Tensor, computation, in_order
from morello.ir.operation import Operation, reordered
from morello.ir.spec import Spec


@dataclass(frozen=True)
class OperationGraph:
    """The operations that compute a tensor. An operation is identified by its result tensor."""

    result: Tensor

    @cached_property
    def operations(self) -> tuple[Tensor, ...]:
        """The computed tensors in topological order; the result is last."""
        return tuple(in_order(self.result)[0])

    @cached_property
    def inputs(self) -> tuple[Tensor, ...]:
        """The input tensors, in the order of their first use."""
        return tuple(in_order(self.result)[1])

    @cached_property
    def positions(self) -> Mapping[Tensor, int]:
        """The index of each operation in `operations`."""
        return {operation: position for position, operation in enumerate(self.operations)}

    @cached_property
    def users(self) -> Mapping[Tensor, frozenset[Tensor]]:
        """The operations that read the result of each operation."""
        result: dict[Tensor, set[Tensor]] = {operation: set() for operation in self.operations}
        for operation in self.operations:
            for source in operation.inputs:
                if source in result:
                    result[source].add(operation)
        return {operation: frozenset(users) for operation, users in result.items()}


@dataclass(frozen=True)
class OperationGroup:
    """The operations of one kernel, in topological order; the last computes the output."""

    operations: tuple[Tensor, ...]

    @property
    def output(self) -> Tensor:
        return self.operations[-1]

    @cached_property
    def inputs(self) -> tuple[Tensor, ...]:
        """The tensors that the kernel reads: inputs of the graph, and outputs of other groups."""
        used = dict.fromkeys(source for operation in self.operations for source in operation.inputs)
        return tuple(source for source in used if source not in self.operations)


@dataclass(frozen=True)
class GroupSpec:
    """A group as a Spec of its own, and the tensors that are the Spec's inputs, in order."""

    spec: Spec
    inputs: tuple[Tensor, ...]


def cut(group: OperationGroup) -> GroupSpec:
    """The Spec of a group; outputs of other groups that it reads are row-major in main memory.

    A copy that only transposes such a tensor is left out if its user can read the tensor in the
    source's order. Raises `SpecError` if no single Spec computes the whole group.
    """
    given = {t: t if t.operation is None else Tensor(t.shape, t.dtype) for t in group.inputs}
    replaced: dict[Tensor, Tensor] = {}
    for tensor in group.operations:
        assert tensor.operation is not None
        orders = [operand.dims for operand in tensor.operation.operands]
        sources = list(tensor.inputs)
        for number, source in enumerate(tensor.inputs):
            if (
                source in replaced
                and is_read_in_place(source, tensor)
                and source.inputs[0] in given
            ):
                orders[number] = _in_source_order(source, orders[number])
                sources[number] = source.inputs[0]
        inputs = tuple(replaced.get(t) or given[t] for t in sources)
        replaced[tensor] = replace(
            tensor, operation=reordered(tensor.operation, orders), inputs=inputs
        )
    result = replaced[group.output]
    computed = computation(result)
    if len(computed.arrays) > MAX_INPUTS:
        raise SpecError(
            f"{len(group.operations)} operations read {len(computed.arrays)} tensors, and a kernel "
            f"takes {MAX_INPUTS} and the result; make them several groups."
        )
    meant = {stand_in: tensor for tensor, stand_in in given.items()}
    return GroupSpec(computed.spec, tuple(meant[t] for t in computed.arrays))


# ---- the kinds of operations that fusion distinguishes


def is_map(tensor: Tensor) -> bool:
    """Whether an operation applies a function to each element, casts it, or broadcasts it."""
    assert tensor.operation is not None
    cast = (
        tensor.operation.copies
        and bool(tensor.inputs)
        and tensor.dtype is not tensor.inputs[0].dtype
    )
    return cast or tensor.operation.function is not None


def is_heavy(tensor: Tensor) -> bool:
    """Whether an operation combines elements: a product, convolution, reduction or softmax."""
    assert tensor.operation is not None
    return tensor.operation.function is None and not tensor.operation.copies


def is_read_in_place(copy: Tensor, user: Tensor) -> bool:
    """Whether a copy only transposes an operation's result, which its user can read directly.

    False for copies of inputs: the front-end makes none that their users could do without.
    """
    assert copy.operation is not None and user.operation is not None
    if not copy.operation.copies or not copy.inputs:
        return False
    ((source,), (read, written)) = copy.inputs, copy.operation.operands
    turns = source.dtype is copy.dtype and read.dims != written.dims
    return turns and source.operation is not None and _reads_any_order(user.operation)


def _reads_any_order(operation: Operation) -> bool:
    """Whether an operation can read inputs of any dimension order: maps and sums of products."""
    inputs = operation.operands[: operation.outputs[0]]
    if operation.function is not None:
        return True
    return len(inputs) == 2 and all({*operand.dims} & {*operation.reduced} for operand in inputs)


def _in_source_order(copy: Tensor, dims: tuple[str, ...]) -> tuple[str, ...]:
    """How a copy's user indexes the copy's source, given how it indexes the copy."""
    assert copy.operation is not None
    source, result = copy.operation.operands
    return tuple(dims[result.dims.index(d)] for d in source.dims)
