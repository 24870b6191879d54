"""Compositions: several primitives as one operation, so that they can be fused.

A composition's tensors are numbered: its inputs first, then the results of its components,
in order; the last component computes the output. Its dimensions are those of its components,
where the output dimensions of a producer are input dimensions of its consumers. Intermediate
tensors have no memory until a rewrite buffers one, which splits the composition in two.
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

    `tensors` are the numbers of its operands in the composition, and `dims` maps each of its
    dimensions to one of the composition, or to a window.
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
        None,
        tuple(dims),
        operands,
        tuple(d for d in dims if d in reduced),
        tuple(d for d in dims if d in whole),
        components=tuple(components),
    )


def inputs_of(composition: Operation) -> int:
    """The number of a composition's inputs."""
    return len(composition.operands) - 1


def intermediates(composition: Operation) -> range:
    """The numbers of the tensors that are neither inputs nor the output."""
    first = inputs_of(composition)
    return range(first, first + len(composition.components) - 1)


def producer(composition: Operation, tensor: int) -> Component:
    """The component that computes a tensor."""
    return composition.components[tensor - inputs_of(composition)]


def tensor_dims(composition: Operation, tensor: int) -> tuple[str, ...]:
    first = inputs_of(composition)
    if tensor < first:
        return composition.operands[tensor].dims
    return producer(composition, tensor).result_dims


@cache
def part(composition: Operation, wanted: int, given: tuple[int, ...] = ()) -> Part:
    """The part that computes the tensor `wanted` from the inputs and the `given` tensors."""
    first, known = inputs_of(composition), set(given)
    needed: dict[int, None] = {}
    todo = [wanted]
    while todo:
        tensor = todo.pop()
        needed[tensor] = None
        sources = producer(composition, tensor).inputs
        todo += [t for t in sources if t >= first and t not in known | {*needed}]
    order = sorted(needed)
    used = [t for tensor in order for t in producer(composition, tensor).inputs if t not in needed]
    sources = tuple(sorted(set(used)))
    if len(order) == 1:
        return _primitive(composition, wanted)
    rename = _window_names([producer(composition, t) for t in order])
    numbers = {t: i for i, t in enumerate([*sources, *order])}
    components = [
        Component(
            component.operation,
            tuple(numbers[t] for t in component.inputs),
            tuple(_folded(d, rename) for d in component.dims),
            component.dtype,
        )
        for component in (producer(composition, t) for t in order)
    ]
    back = {new: old for old, new in rename.items()}
    names = _operand_names(composition, sources)
    inputs = [
        Operand(name, tuple(_folded(d, rename) for d in tensor_dims(composition, t)))
        for name, t in zip(names, sources, strict=True)
    ]
    computed = compose(inputs, components)
    if composition.accumulates and wanted == first + len(composition.components) - 1:
        computed = accumulating(computed)
    return Part(computed, (*sources, wanted), tuple(back.get(d, d) for d in computed.dims))


def _operand_names(composition: Operation, tensors: Sequence[int]) -> list[str]:
    """The names of tensors as operands: inputs keep theirs, intermediates get unused ones."""
    first = inputs_of(composition)
    taken = {composition.operands[t].name for t in tensors if t < first}
    names = []
    for tensor in tensors:
        if tensor < first:
            names.append(composition.operands[tensor].name)
            continue
        # an input may have such a name from an earlier split of a larger composition
        name = next(n for n in (f"t{i}" for i in count(tensor - first)) if n not in taken)
        taken.add(name)
        names.append(name)
    return names


def _primitive(composition: Operation, wanted: int) -> Part:
    """The part of a single component; its operands have the dimension orders of the tensors."""
    component = producer(composition, wanted)
    primitive = component.operation
    tensors = (*component.inputs, wanted)
    final = wanted == inputs_of(composition) + len(composition.components) - 1
    if final and composition.accumulates:
        primitive = accumulating(primitive)
    own = dict(zip(component.dims, primitive.dims, strict=True))
    orders = []
    for operand, tensor in enumerate(tensors):
        dims = tensor_dims(composition, tensor)
        order = primitive.operands[operand].dims
        if component.operand_dims(operand) != dims:
            order = tuple(own[d] for d in dims)
        orders.append(order)
    return Part(reordered(primitive, orders), tensors, component.dims)


def _window_names(components: Sequence[Component]) -> dict[str, str]:
    """The dimensions that replace windows, by window.

    A window is replaced if none of its dimensions is a plain dimension of some component; the
    new dimension takes the name of one of them.
    """
    plain = {d for component in components for d in component.dims if axis(d).plain}
    names: dict[str, str] = {}
    for component in components:
        for text in component.dims:
            if text not in names and not axis(text).plain and not plain & set(axis(text).names):
                names[text] = next(n for n in axis(text).names if n not in names.values())
    return names


def _folded(text: str, names: Mapping[str, str]) -> str:
    """The axis with each window in `names`, also within a longer window, replaced by its name."""
    folded = axis(text)
    for window, name in names.items():
        inner, steps = axis(window), dict(folded.terms)
        factors = {steps.get(n, 0) / step for n, step in inner.terms}
        if len(factors) == 1 and (factor := factors.pop()) == int(factor) > 0:
            first = inner.names[0]
            terms = [
                (name, int(factor)) if n == first else (n, step)
                for n, step in folded.terms
                if n == first or n not in inner.names
            ]
            folded = Axis(tuple(terms), folded.padding - int(factor) * inner.padding)
    return str(folded)


# ---- building

MAX_COMPONENTS = 64
"""The largest number of primitives in a composition."""


@dataclass(frozen=True)
class Tensor:
    """A tensor of a composition being built: the result of an operation, or an input.

    An input's `operation` is None. An array that is read in several incompatible ways is
    several inputs: the later ones are `of` the first.
    """

    shape: tuple[int, ...]
    dtype: DType
    operation: Operation | None = None
    inputs: tuple[Tensor, ...] = ()
    name: str = ""
    of: Tensor | None = None

    @property
    def array(self) -> Tensor:
        """The input that represents all inputs of the same array."""
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
        """The operands' names: the names given to inputs, else unused ones; one name per array."""
        *own, output = (operand.name for operand in self.operation.operands)
        default = dict(zip((t.array for t in reversed(self.inputs)), reversed(own), strict=True))
        given = {t.name for t in default}
        kept = {name for t, name in default.items() if not t.name} - given
        free = (n for n in map(letter, range(99)) if n not in given | kept)
        names: dict[Tensor, str] = {}
        for t in (t.array for t in self.inputs):
            if t not in names:
                names[t] = t.name or (default[t] if default[t] in kept else next(free))
        inputs = [names[t.array] for t in self.inputs]
        return (*inputs, next(n for n in (output, "out", *free) if n not in inputs))


def build(result: Tensor) -> Built:
    """The operation that computes a tensor: a primitive, or a composition of several.

    Inputs are in the order of their first use, from left to right. A tensor with a use that
    cannot share a loop nest with its other uses is duplicated for it: an input becomes another
    input of the same array, any other tensor is recomputed. Raises `SpecError` if that would
    recompute a matmul or a convolution, or if there are more than `MAX_COMPONENTS` primitives.
    """
    computed, inputs = in_order(result)
    _check_count(computed)
    names = _Unification(computed)
    while names.conflict:
        result = _duplicated(computed, *names.conflict)
        computed, inputs = in_order(result)
        _check_count(computed)
        names = _Unification(computed)
    numbers = {id(t): i for i, t in enumerate([*inputs, *computed])}
    components = []
    sizes: dict[str, int] = {}
    for tensor in computed:
        assert tensor.operation is not None
        dims = tuple(names.dim(tensor, d) for d in tensor.operation.dims)
        sources = tuple(numbers[id(t)] for t in tensor.inputs)
        components.append(Component(tensor.operation, sources, dims, tensor.dtype))
        for dim, size in zip(dims, primitive_sizes(tensor), strict=True):
            if axis(dim).plain:
                sizes[dim] = size
    if len(components) == 1:
        tensor, given = computed[0], computed[0].inputs
        each = (t if t not in given[:i] else replace(t, of=t.array) for i, t in enumerate(given))
        return Built(components[0].operation, primitive_sizes(tensor), tuple(each))
    first_use = {
        t: component.operand_dims(position)
        for component in reversed(components)
        for position, t in enumerate(component.inputs)
    }
    operands = [Operand(letter(i), first_use[i]) for i in range(len(inputs))]
    composition = compose(operands, components)
    return Built(composition, tuple(sizes[d] for d in composition.dims), tuple(inputs))


def _check_count(computed: Sequence[Tensor]) -> None:
    if len(computed) > MAX_COMPONENTS:
        raise SpecError(
            f"this takes {len(computed)} primitive operations, and a Spec may have "
            f"{MAX_COMPONENTS}; compute a part of it as a Spec of its own."
        )


def _duplicated(computed: Sequence[Tensor], user: Tensor, operand: int) -> Tensor:
    """The result, rebuilt so that the `user` has a duplicate of the tensor at this operand."""
    source = user.inputs[operand]
    if any(t.operation and t.operation.is_product for t in in_order(source)[0]):
        raise SpecError(_IN_TWO_ROLES)
    duplicate = replace(source) if source.operation else replace(source, of=source.array)
    new: dict[Tensor, Tensor] = {}
    for tensor in computed:
        inputs = [new.get(t, t) for t in tensor.inputs]
        if tensor is user:
            inputs[operand] = duplicate
        if tuple(inputs) != tensor.inputs:
            new[tensor] = replace(tensor, inputs=tuple(inputs))
    return new[computed[-1]]


def primitive_sizes(tensor: Tensor) -> tuple[int, ...]:
    """The dimension sizes of the primitive that computes a tensor, from its operands' shapes."""
    primitive = tensor.operation
    assert primitive is not None
    known: dict[str, int] = {}
    shapes = [t.shape for t in tensor.inputs] + [tensor.shape]
    for axes, shape in zip(primitive.axes, shapes, strict=True):
        for along, size in zip(axes, shape, strict=True):
            if along.plain:
                known[along.names[0]] = size
    return tuple(known.get(d, 1) for d in primitive.dims)


def letter(index: int) -> str:
    """The default name of the input with this index."""
    return chr(ord("a") + index) if index < 14 else f"a{index}"


def in_order(result: Tensor) -> tuple[list[Tensor], list[Tensor]]:
    """The computed tensors in topological order, and the inputs in the order of first use."""
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
"""A dimension of a primitive: the id of the tensor that it computes, and the name."""


class _Unification:
    """Which dimensions of the components are the same (by union-find), and their names."""

    conflict: tuple[Tensor, int] | None = None
    """The first use of a tensor that is incompatible with its other uses: the user, the operand."""

    def __init__(self, computed: Sequence[Tensor]) -> None:
        self._computed = computed
        self._parents: dict[_Item, _Item] = {}
        self._windows: dict[_Item, tuple[Tensor, Axis]] = {}
        self._names: dict[_Item, str] = {}
        self._join()
        if self.conflict is None:
            self._name()

    def dim(self, tensor: Tensor, name: str) -> str:
        """The composition's dimension or window for a dimension of the primitive of `tensor`."""
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
        """Unify the dimensions of first uses, which are always compatible, then of later ones."""
        seen: dict[Tensor, tuple[Tensor, tuple[Axis, ...]]] = {}
        for tensor in self._computed:
            assert tensor.operation is not None
            seen[tensor] = tensor, tensor.operation.axes[tensor.operation.output]
        used: set[Tensor] = set()
        later = []
        for tensor in self._computed:
            assert tensor.operation is not None
            for operand, source in enumerate(tensor.inputs):
                axes = tensor.operation.axes[operand]
                if source in used:
                    later.append((tensor, operand, axes))
                elif source in seen:
                    self._unify_axes(*seen[source], tensor, axes)
                else:
                    seen[source] = tensor, axes
                used.add(source)
        for tensor, operand, axes in later:
            before = dict(self._parents), dict(self._windows)
            try:
                self._unify_axes(*seen[tensor.inputs[operand]], tensor, axes)
                compatible = self._distinct()
            except SpecError:
                compatible = False
            if not compatible:
                self._parents, self._windows = before
                self.conflict = tensor, operand
                return

    def _distinct(self) -> bool:
        """Whether the dimensions of every primitive are still distinct after unification."""
        for tensor in self._computed:
            assert tensor.operation is not None
            leaves = [leaf for d in tensor.operation.dims for leaf in self._leaves((id(tensor), d))]
            if len(set(leaves)) < len(leaves):
                return False
        return True

    def _leaves(self, item: _Item) -> list[_Item]:
        """The representative of a dimension, or those of all dimensions of its window."""
        root = self._root(item)
        if root not in self._windows:
            return [root]
        user, window = self._windows[root]
        return [leaf for name in window.names for leaf in self._leaves((id(user), name))]

    def _unify_axes(
        self, first: Tensor, before: tuple[Axis, ...], second: Tensor, after: tuple[Axis, ...]
    ) -> None:
        """Unify the axes by which two primitives index the same tensor."""
        for first_axis, second_axis in zip(before, after, strict=True):
            self._unify_axis(first, first_axis, second, second_axis)

    def _unify_axis(self, first: Tensor, before: Axis, second: Tensor, after: Axis) -> None:
        """Unify two axes of the same dimension of a tensor; raises `SpecError` if impossible."""
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
        for tensor in reversed(self._computed):
            assert tensor.operation is not None
            for dim in tensor.operation.dims:
                root = self._root((id(tensor), dim))
                if root in self._names or root in self._windows:
                    continue
                name = next(n for n in (dim, *(f"{dim}{i}" for i in range(99))) if n not in taken)
                taken.add(name)
                self._names[root] = name


_IN_TWO_ROLES = (
    "the result of a product is used in two roles that no single loop nest serves, as x is in "
    "x @ transpose(x); compute it as a Spec of its own."
)

_TWO_WAYS = (
    "a tensor is read by a convolution in a way that cannot be fused with its other uses; "
    "compute it as a Spec of its own."
)
