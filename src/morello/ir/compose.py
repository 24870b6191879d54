"""Compositions: several primitives as one operation, so that they can be fused.

A composition's tensors are numbered: its inputs first, then what each component makes,
in order; the last component makes the output. Its dimensions are those of the components,
where one's output dimensions are the next one's input dimensions. What lies between has no
place in memory until a rewrite gives it one, which cuts the composition in two.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import count

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


@cache
def part(composition: Operation, wanted: int, given: tuple[int, ...] = ()) -> Part:
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
    names = _operand_names(composition, sources)
    inputs = [
        Operand(name, tuple(_folded(d, rename) for d in tensor_dims(composition, t)))
        for name, t in zip(names, sources, strict=True)
    ]
    made = compose(inputs, components)
    if composition.accumulates and wanted == first + len(composition.components) - 1:
        made = accumulating(made)
    return Part(made, (*sources, wanted), tuple(back.get(d, d) for d in made.dims))


def _operand_names(composition: Operation, tensors: Sequence[int]) -> list[str]:
    """The names of tensors as operands: the inputs' own, and new ones for what is made."""
    first = inputs_of(composition)
    taken = {composition.operands[t].name for t in tensors if t < first}
    found = []
    for tensor in tensors:
        if tensor < first:
            found.append(composition.operands[tensor].name)
            continue
        # an input may be what a cut of a larger composition made
        name = next(n for n in (f"t{i}" for i in count(tensor - first)) if n not in taken)
        taken.add(name)
        found.append(name)
    return found


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
    """A tensor of a composition being built: what makes it, or None for an input.

    An input that is read in a way of its own is another input `of` the same array.
    """

    shape: tuple[int, ...]
    dtype: DType
    operation: Operation | None = None
    inputs: tuple[Tensor, ...] = ()
    name: str = ""
    of: Tensor | None = None

    @property
    def array(self) -> Tensor:
        """The input that stands for all that are of the same array."""
        return self.of or self

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other


@dataclass(frozen=True)
class Built:
    """An operation, its dimensions' sizes, its inputs in order, and all operands' names."""

    operation: Operation
    sizes: tuple[int, ...]
    inputs: tuple[Tensor, ...]

    @property
    def arrays(self) -> tuple[Tensor, ...]:
        """The distinct arrays that are read, in the order of the inputs."""
        return tuple(dict.fromkeys(t.array for t in self.inputs))

    @property
    def names(self) -> tuple[str, ...]:
        """The names that inputs were given, and new ones for the rest; one name per array."""
        *own, output = (operand.name for operand in self.operation.operands)
        usual = dict(zip((t.array for t in reversed(self.inputs)), reversed(own), strict=True))
        given = {t.name for t in usual}
        kept = {name for t, name in usual.items() if not t.name} - given
        free = (n for n in map(letter, range(99)) if n not in given | kept)
        names: dict[Tensor, str] = {}
        for t in (t.array for t in self.inputs):
            if t not in names:
                names[t] = t.name or (usual[t] if usual[t] in kept else next(free))
        inputs = [names[t.array] for t in self.inputs]
        return (*inputs, next(n for n in (output, "out", *free) if n not in inputs))


def build(result: Tensor) -> Built:
    """The operation that makes a tensor: a primitive, or a composition of several.

    Inputs come in the order in which they are first used, from left to right. What is used
    in a second way, which no one loop nest serves, is an input of its own there, or else
    computed again. Raises `SpecError` where that would compute products again.
    """
    made, inputs = in_order(result)
    _check_count(made)
    names = _Unification(made)
    while names.apart:
        result = _again(made, *names.apart)
        made, inputs = in_order(result)
        _check_count(made)
        names = _Unification(made)
    numbers = {id(t): i for i, t in enumerate([*inputs, *made])}
    components = []
    sizes: dict[str, int] = {}
    for one in made:
        assert one.operation is not None
        dims = tuple(names.dim(one, d) for d in one.operation.dims)
        components.append(
            Component(one.operation, tuple(numbers[id(t)] for t in one.inputs), dims, one.dtype)
        )
        for dim, size in zip(dims, primitive_sizes(one), strict=True):
            if axis(dim).plain:
                sizes[dim] = size
    if len(components) == 1:
        one, given = made[0], made[0].inputs
        each = (t if t not in given[:i] else replace(t, of=t.array) for i, t in enumerate(given))
        return Built(components[0].operation, primitive_sizes(one), tuple(each))
    used = {
        t: one.operand_dims(position)
        for one in reversed(components)
        for position, t in enumerate(one.inputs)
    }
    whole = compose([Operand(letter(i), used[i]) for i in range(len(inputs))], components)
    return Built(whole, tuple(sizes[d] for d in whole.dims), tuple(inputs))


def _check_count(made: Sequence[Tensor]) -> None:
    if len(made) > MAX_COMPONENTS:
        raise SpecError(
            f"this takes {len(made)} primitive operations, and a Spec may have "
            f"{MAX_COMPONENTS}; compute a part of it as a Spec of its own."
        )


def _again(made: Sequence[Tensor], user: Tensor, operand: int) -> Tensor:
    """The result, rebuilt so that one operand of one operation is a tensor of its own."""
    source = user.inputs[operand]
    if any(t.operation and t.operation.name in ("Matmul", "Conv") for t in in_order(source)[0]):
        raise SpecError(_IN_TWO_ROLES)
    own = replace(source) if source.operation else replace(source, of=source.array)
    new: dict[Tensor, Tensor] = {}
    for one in made:
        inputs = [new.get(t, t) for t in one.inputs]
        if one is user:
            inputs[operand] = own
        if tuple(inputs) != one.inputs:
            new[one] = replace(one, inputs=tuple(inputs))
    return new[made[-1]]


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


def in_order(result: Tensor) -> tuple[list[Tensor], list[Tensor]]:
    """The tensors that are made, each after what it is made of, and the inputs by first use."""
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


_Item = tuple[int, str]
"""A dimension of the primitive that makes a tensor, by the tensor's id."""


class _Unification:
    """Which dimensions of the components are the same one, and what they are called."""

    apart: tuple[Tensor, int] | None = None
    """The first use of a tensor that is incompatible with its other uses: the user, the operand."""

    def __init__(self, made: Sequence[Tensor]) -> None:
        self._made = made
        self._parents: dict[_Item, _Item] = {}
        self._windows: dict[_Item, tuple[Tensor, Axis]] = {}
        self._names: dict[_Item, str] = {}
        self._join()
        if self.apart is None:
            self._name()

    def dim(self, tensor: Tensor, name: str) -> str:
        """What a dimension of the primitive that makes `tensor` is in the composition."""
        root = self._root((id(tensor), name))
        if root in self._windows:
            consumer, window = self._windows[root]
            inner = {n: axis(self.dim(consumer, n)) for n in window.names}
            return str(window.substitute(inner))
        return self._names[root]

    def _root(self, item: _Item) -> _Item:
        while self._parents.get(item, item) != item:
            item = self._parents[item]
        return item

    def _join(self) -> None:
        """Unify the dimensions of first uses, which are always compatible; then those of others."""
        seen: dict[Tensor, tuple[Tensor, tuple[Axis, ...]]] = {}
        for one in self._made:
            assert one.operation is not None
            seen[one] = one, one.operation.axes[one.operation.output]
        first: set[Tensor] = set()
        others = []
        for one in self._made:
            assert one.operation is not None
            for operand, source in enumerate(one.inputs):
                axes = one.operation.axes[operand]
                if source in first:
                    others.append((one, operand, axes))
                elif source in seen:
                    self._same(*seen[source], one, axes)
                else:
                    seen[source] = one, axes
                first.add(source)
        for one, operand, axes in others:
            before = dict(self._parents), dict(self._windows)
            try:
                self._same(*seen[one.inputs[operand]], one, axes)
                together = self._distinct()
            except SpecError:
                together = False
            if not together:
                self._parents, self._windows = before
                self.apart = one, operand
                return

    def _distinct(self) -> bool:
        """Whether no two dimensions of a primitive became the same one, walked together."""
        for one in self._made:
            assert one.operation is not None
            leaves = [leaf for d in one.operation.dims for leaf in self._leaves((id(one), d))]
            if len(set(leaves)) < len(leaves):
                return False
        return True

    def _leaves(self, item: _Item) -> list[_Item]:
        """The dimensions that one is, or is a window over."""
        root = self._root(item)
        if root not in self._windows:
            return [root]
        user, window = self._windows[root]
        return [leaf for name in window.names for leaf in self._leaves((id(user), name))]

    def _same(
        self, first: Tensor, made: tuple[Axis, ...], second: Tensor, used: tuple[Axis, ...]
    ) -> None:
        """Two ways to index one tensor."""
        for before, after in zip(made, used, strict=True):
            self._equal(first, before, second, after)

    def _equal(self, first: Tensor, before: Axis, second: Tensor, after: Axis) -> None:
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

    def _name(self) -> None:
        taken: set[str] = set()
        for one in reversed(self._made):
            assert one.operation is not None
            for dim in one.operation.dims:
                root = self._root((id(one), dim))
                if root in self._names or root in self._windows:
                    continue
                name = next(n for n in (dim, *(f"{dim}{i}" for i in range(99))) if n not in taken)
                taken.add(name)
                self._names[root] = name


_IN_TWO_ROLES = (
    "the result of a product is used in two roles that no one loop nest serves, as x is in "
    "x @ transpose(x); compute it as a Spec of its own."
)

_TWO_WAYS = (
    "a tensor is read by a convolution in a way that cannot be fused with its other uses; "
    "compute it as a Spec of its own."
)
