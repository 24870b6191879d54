"""Leaf kernels, which close Specs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from morello.ir.operation import Operation, accumulating, has_accumulating_form
from morello.ir.primitives.convolutions import shares_registers
from morello.ir.primitives.windows import begin_every_second
from morello.rewrites import Select
from morello.space.guards import Rules, all_from, always
from morello.space.kind import Kind
from morello.targets.target import LeafKernel, Target


def kernel_rules(kind: Kind, target: Target) -> list[Rules]:
    """Leaf kernels: operands are in the nearest cache, or, if they are prefetched, in the next."""
    usable = [k for k in target.kernels_of(kind.operation.name) if k.dtypes == kind.dtypes]
    near = tuple(Select(k.name) for k in usable if not (k.streams or k.anywhere))
    further = tuple(Select(kernel.name) for kernel in usable if kernel.streams)
    free = tuple(Select(kernel.name) for kernel in usable if kernel.anywhere)
    nearest = target.nearest
    return [
        Rules(all_from(nearest), near),
        Rules(all_from(nearest - 1), further),
        Rules(always, free),
    ]


def closing_operation(kind: Kind) -> str:
    """The name of the operation whose leaf kernels finally implement Specs of this kind."""
    operation = kind.operation
    if operation.lowers_to is not None:
        return operation.lowers_to.accumulating_name
    return _summing(operation)


def _summing(operation: Operation) -> str:
    """The name of an operation's accumulating form, or its own if it has none."""
    return (accumulating(operation) if has_accumulating_form(operation) else operation).name


def usable_kernels(kind: Kind, target: Target) -> Sequence[LeafKernel]:
    """The kernels that may implement Specs of this kind once operands are converted."""
    return _convertible_to(closing_operation(kind), kind, target)


def groups_share(kind: Kind, target: Target) -> bool:
    """Whether kernels sum several groups of a convolution in a register."""
    same = (kernel.dtypes == kind.dtypes for kernel in kernels_of(kind, target))
    return shares_registers(kind.operation) and any(same)


def sums_by_two(kind: Kind, target: Target) -> bool:
    """Whether kernels sum every second pixel of rows of an image, for one pixel of the filters."""
    operation = kind.operation
    if operation.grouped or operation.lowers_to is None or not operation.accumulates:
        return False
    same = (kernel.dtypes == kind.dtypes for kernel in kernels_of(kind, target))
    return begin_every_second(operation) and any(same)


def kernels_of(kind: Kind, target: Target) -> Sequence[LeafKernel]:
    """The kernels of the operation itself, not of what it is lowered to."""
    return _convertible_to(_summing(kind.operation), kind, target)


@lru_cache(512)
def _convertible_to(operation: str, kind: Kind, target: Target) -> Sequence[LeafKernel]:
    """The kernels of an operation whose operands those of this kind may be converted to."""
    usable = []
    for kernel in target.kernels_of(operation):
        if len(kernel.dtypes) == len(kind.dtypes) and all(
            _convertible(kind, operand, kernel, target) for operand in range(len(kind.dtypes))
        ):
            usable.append(kernel)
    return tuple(usable)


def _convertible(kind: Kind, operand: int, kernel: LeafKernel, target: Target) -> bool:
    """Whether an operand has the kernel's dtype or may be widened to it (narrowed, if written)."""
    here, wanted = kind.dtypes[operand], kernel.dtypes[operand]
    if here is wanted:
        return True
    if wanted.bytes <= here.bytes:
        return False
    legal = target.casts_to(here, wanted) or not kind.operation.reads(operand)
    if kind.operation.operands[operand].written:
        legal = legal and target.casts_to(wanted, here)
    return legal
