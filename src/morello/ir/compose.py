"""Compositions: several primitives as one operation, so that they can be fused.

A composition's tensors are numbered: its inputs first, then what each component makes,
in order; the last component makes the output. Its dimensions are those of the components,
where one's output dimensions are the next one's input dimensions. What lies between has no
place in memory until a rewrite gives it one, which cuts the composition in two.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from morello.errors import SpecError
from morello.ir.axes import Axis, axis
from morello.ir.dtype import DType
from morello.ir.operation import Component, Operand, Operation, accumulating, operation, reordered


@dataclass(frozen=True)
class Part:
    """An operation cut out of a composition.

    `tensors` are its operands' numbers there; `dims` says what each of its dimensions is.
    """

    operation: Operation
    tensors: tuple[int, ...]
    dims: tuple[str, ...]


def compose(inputs: Sequence[Operand], components: Sequence[Component]) -> Operation:
    """The composition of these components over these inputs."""
    last = components[-1]
    out = last.operation.operands[last.operation.output]
    dims: dict[str, None] = {}
    for component in reversed(components):
        for text in component.dims:
            dims |= dict.fromkeys(axis(text).names)
    reduced = {name for d in last.operation.reduced for name in last.axes[d].names}
    whole: set[str] = set()
    for component in components:
        named = component.axes
        kept = component.operation.whole
        if component is not last:
            kept += component.operation.reduced
        whole |= {name for d in kept for name in named[d].names}
    operands = (*inputs, Operand("out", last.result_dims, written=True, start=out.start))
    return operation(
        "Compose",
        tuple(dims),
        operands,
        tuple(d for d in dims if d in reduced),
        tuple(d for d in dims if d in whole),
        components=tuple(components),
    )


def inputs_of(composition: Operation) -> int:
    """How many of a composition's tensors are inputs."""
    return len(composition.operands) - 1


def intermediates(composition: Operation) -> range:
    """The numbers of the tensors that are neither inputs nor the output."""
    first = inputs_of(composition)
    return range(first, first + len(composition.components) - 1)


def maker(composition: Operation, tensor: int) -> Component:
    """The component that makes a tensor."""
    return composition.components[tensor - inputs_of(composition)]


def tensor_dims(composition: Operation, tensor: int) -> tuple[str, ...]:
    first = inputs_of(composition)
    if tensor < first:
        return composition.operands[tensor].dims
    return maker(composition, tensor).result_dims


def part(composition: Operation, wanted: int, given: Iterable[int] = ()) -> Part:
    """What makes the tensor `wanted` out of the inputs and the tensors that are `given`."""
    first, known = inputs_of(composition), set(given)
    needed: dict[int, None] = {}
    todo = [wanted]
    while todo:
        tensor = todo.pop()
        needed[tensor] = None
        sources = maker(composition, tensor).inputs
        todo += [t for t in sources if t >= first and t not in known | {*needed}]
    order = sorted(needed)
    used = [t for tensor in order for t in maker(composition, tensor).inputs if t not in needed]
    sources = tuple(sorted(set(used)))
    if len(order) == 1:
        return _primitive(composition, wanted)
    rename = _plain_names([maker(composition, t) for t in order])
    numbers = {t: i for i, t in enumerate([*sources, *order])}
    components = [
        Component(
            one.operation,
            tuple(numbers[t] for t in one.inputs),
            tuple(_folded(d, rename) for d in one.dims),
            one.dtype,
        )
        for one in (maker(composition, t) for t in order)
    ]
    back = {new: old for old, new in rename.items()}
    inputs = [
        Operand(
            composition.operands[t].name if t < first else f"t{t - first}",
            tuple(_folded(d, rename) for d in tensor_dims(composition, t)),
        )
        for t in sources
    ]
    made = compose(inputs, components)
    if composition.accumulates and wanted == first + len(composition.components) - 1:
        made = accumulating(made)
    return Part(made, (*sources, wanted), tuple(back.get(d, d) for d in made.dims))


def _primitive(composition: Operation, wanted: int) -> Part:
    """A component by itself: its operands' dimensions in the orders of their tensors."""
    component = maker(composition, wanted)
    one = component.operation
    tensors = (*component.inputs, wanted)
    final = wanted == inputs_of(composition) + len(composition.components) - 1
    if final and composition.accumulates:
        one = accumulating(one)
    own = dict(zip(component.dims, one.dims, strict=True))
    orders = []
    for operand, tensor in enumerate(tensors):
        there = tensor_dims(composition, tensor)
        here = one.operands[operand].dims
        if component.operand_dims(operand) != there:
            here = tuple(own[d] for d in there)
        orders.append(here)
    return Part(reordered(one, orders), tensors, component.dims)


def _plain_names(components: Sequence[Component]) -> dict[str, str]:
    """Dimensions for windows over dimensions that none of these components has as they are."""
    plain = {d for one in components for d in one.dims if axis(d).plain}
    names: dict[str, str] = {}
    for one in components:
        for text in one.dims:
            if text not in names and not axis(text).plain and not plain & set(axis(text).names):
                names[text] = next(n for n in axis(text).names if n not in names.values())
    return names


def _folded(text: str, names: Mapping[str, str]) -> str:
    """An axis in which windows, also as parts of longer ones, are what they are called."""
    one = axis(text)
    for window, name in names.items():
        inner, steps = axis(window), dict(one.terms)
        factors = {steps.get(n, 0) / step for n, step in inner.terms}
        if len(factors) == 1 and (factor := factors.pop()) == int(factor) > 0:
            first = inner.names[0]
            terms = [
                (name, int(factor)) if n == first else (n, step)
                for n, step in one.terms
                if n == first or n not in inner.names
            ]
            one = Axis(tuple(terms), one.padding - int(factor) * inner.padding)
    return str(one)


# ---- building

MAX_COMPONENTS = 64
"""The most primitives that one composition is made of."""


@dataclass(frozen=True)
class Tensor:
    """A tensor of a composition being built: what makes it, or None for an input."""

    shape: tuple[int, ...]
    dtype: DType
    operation: Operation | None = None
    inputs: tuple[Tensor, ...] = ()
    name: str = ""

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other


@dataclass(frozen=True)
class Built:
    """An operation, its dimensions' sizes, and its inputs in order."""

    operation: Operation
    sizes: tuple[int, ...]
    inputs: tuple[Tensor, ...]


def build(result: Tensor) -> Built:
    """The operation that makes a tensor: a primitive, or a composition of several.

    Inputs come in the order in which they are first used, from left to right. Raises
    `SpecError` where a tensor is used in ways that no one loop nest serves.
    """
    made, inputs = _in_order(result)
    if len(made) > MAX_COMPONENTS:
        raise SpecError(
            f"this takes {len(made)} primitive operations, and a Spec may have "
            f"{MAX_COMPONENTS}; compute a part of it as a Spec of its own."
        )
    names = _Unification(made)
    numbers = {id(t): i for i, t in enumerate([*inputs, *made])}
    components = []
    sizes: dict[str, int] = {}
    for one in made:
        assert one.operation is not None
        dims = tuple(names.dim(one, d) for d in one.operation.dims)
        _check_distinct(dims)
        components.append(
            Component(one.operation, tuple(numbers[id(t)] for t in one.inputs), dims, one.dtype)
        )
        for dim, size in zip(dims, primitive_sizes(one), strict=True):
            if axis(dim).plain:
                sizes[dim] = size
    if len(components) == 1 and len(set(components[0].inputs)) == len(components[0].inputs):
        return Built(components[0].operation, primitive_sizes(made[0]), made[0].inputs)
    used = {
        t: one.operand_dims(position)
        for one in reversed(components)
        for position, t in enumerate(one.inputs)
    }
    given = {t.name for t in inputs}
    free = (name for i in range(99) if (name := letter(i)) not in given)
    operands = [Operand(t.name or next(free), used[i]) for i, t in enumerate(inputs)]
    whole = compose(operands, components)
    return Built(whole, tuple(sizes[d] for d in whole.dims), tuple(inputs))


def _check_distinct(dims: Sequence[str]) -> None:
    """Dimensions of a primitive that became the same one would be walked together."""
    names = [name for d in dims for name in axis(d).names]
    if len(set(names)) < len(names):
        raise SpecError(_IN_TWO_ROLES)


def primitive_sizes(tensor: Tensor) -> tuple[int, ...]:
    """The sizes of the dimensions of the primitive that makes a tensor, from its operands'."""
    one = tensor.operation
    assert one is not None
    known: dict[str, int] = {}
    shapes = [t.shape for t in tensor.inputs] + [tensor.shape]
    for axes, shape in zip(one.axes, shapes, strict=True):
        for along, size in zip(axes, shape, strict=True):
            if along.plain:
                known[along.names[0]] = size
    return tuple(known.get(d, 1) for d in one.dims)


def letter(index: int) -> str:
    """What an input without a name is called."""
    return chr(ord("a") + index) if index < 14 else f"a{index}"


def _in_order(result: Tensor) -> tuple[list[Tensor], list[Tensor]]:
    """The tensors that are made, each after what it is made of, and the inputs."""
    done: dict[Tensor, None] = {}
    inputs: dict[Tensor, None] = {}
    todo = [(result, False)]
    while todo:
        tensor, ready = todo.pop()
        if tensor.operation is None:
            inputs[tensor] = None
        elif ready:
            done[tensor] = None
        elif tensor not in done:
            todo.append((tensor, True))
            todo += [(source, False) for source in reversed(tensor.inputs)]
    return list(done), list(inputs)


class _Unification:
    """Which dimensions of the components are the same one, and what they are called."""

    def __init__(self, made: Sequence[Tensor]) -> None:
        self._parents: dict[tuple[int, str], tuple[int, str]] = {}
        self._windows: dict[tuple[int, str], tuple[Tensor, Axis]] = {}
        self._names: dict[tuple[int, str], str] = {}
        self._join(made)
        self._name(made)

    def dim(self, tensor: Tensor, name: str) -> str:
        """What a dimension of the primitive that makes `tensor` is in the composition."""
        root = self._root((id(tensor), name))
        if root in self._windows:
            consumer, window = self._windows[root]
            inner = {n: axis(self.dim(consumer, n)) for n in window.names}
            return str(window.substitute(inner))
        return self._names[root]

    def _root(self, item: tuple[int, str]) -> tuple[int, str]:
        while self._parents.get(item, item) != item:
            item = self._parents[item]
        return item

    def _join(self, made: Sequence[Tensor]) -> None:
        seen: dict[tuple[int, int], tuple[Tensor, Axis]] = {}  # a tensor's dimension, by position
        for one in made:
            assert one.operation is not None
            for position, along in enumerate(one.operation.axes[one.operation.output]):
                seen[id(one), position] = one, along
        for one in made:
            assert one.operation is not None
            for operand, source in enumerate(one.inputs):
                for position, along in enumerate(one.operation.axes[operand]):
                    place = id(source), position
                    if place not in seen:
                        seen[place] = one, along
                    else:
                        self._same(*seen[place], one, along)

    def _same(self, first: Tensor, before: Axis, second: Tensor, after: Axis) -> None:
        """Two names for one dimension of a tensor."""
        if before.plain and after.plain:
            a = self._root((id(first), before.names[0]))
            b = self._root((id(second), after.names[0]))
            if a in self._windows or b in self._windows:
                raise SpecError(_TWO_WAYS)
            self._parents[a] = b
        elif before.plain:
            root = self._root((id(first), before.names[0]))
            if root in self._windows or after.padding:
                raise SpecError(_TWO_WAYS)
            self._windows[root] = second, after
        else:
            raise SpecError(_TWO_WAYS)

    def _name(self, made: Sequence[Tensor]) -> None:
        taken: set[str] = set()
        for one in reversed(made):
            assert one.operation is not None
            for dim in one.operation.dims:
                root = self._root((id(one), dim))
                if root in self._names or root in self._windows:
                    continue
                name = next(n for n in (dim, *(f"{dim}{i}" for i in range(99))) if n not in taken)
                taken.add(name)
                self._names[root] = name


_IN_TWO_ROLES = (
    "a tensor is used in two roles that no one loop nest serves, as x is in x @ transpose(x) or "
    "x @ w + x; give it as two inputs, which may be the same array, or compute a part as a Spec "
    "of its own."
)

_TWO_WAYS = (
    "a tensor is read by a convolution in a way that cannot be fused with its other uses; "
    "compute it as a Spec of its own."
)
