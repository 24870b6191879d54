"""Graphs of tensors: what an expression computes, and its Spec.

A `Tensor` is an input, or the result of an operation on other tensors. `computation` merges the
operations that lead to a tensor into one: a primitive, or a composition.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from morello.base.errors import SpecError
from morello.ir.axes import Axis, axis
from morello.ir.casts import converts
from morello.ir.compose import compose
from morello.ir.dtype import F32, DType
from morello.ir.functions import Function
from morello.ir.layout import Layout
from morello.ir.operation import Component, Operand, Operation
from morello.ir.rounding import narrow
from morello.ir.spec import Spec, Strides, goal

MAX_COMPONENTS = 64
"""The largest number of primitives in a composition."""


@dataclass(frozen=True)
class Tensor:
    """The result of an operation on other tensors, or an input, whose `operation` is None.

    An input or a result may have a `layout` and `strides`, in elements; it is row-major, without
    gaps, if they are None. An array that is read in several incompatible ways is several inputs:
    the later ones are `of` the first. The last of several results of an operation has the `others`,
    which come before it.
    """

    shape: tuple[int, ...]
    dtype: DType
    operation: Operation | None = None
    inputs: tuple[Tensor, ...] = ()
    name: str = ""
    of: Tensor | None = None
    layout: Layout | None = None
    strides: Strides = None
    others: tuple[Tensor, ...] = ()

    @property
    def array(self) -> Tensor:
        """The input that represents all inputs of the same array."""
        return self.of or self

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other


@dataclass(frozen=True)
class Computation:
    """A tensor as the last result of an operation, with these sizes of dimensions and inputs."""

    result: Tensor
    operation: Operation
    sizes: tuple[int, ...]
    inputs: tuple[Tensor, ...]

    @cached_property
    def spec(self) -> Spec:
        """The Spec of the computation, with the layouts and strides of its inputs and results."""
        tensors = [*self.inputs, *self.result.others, self.result]
        return goal(
            self.operation,
            self.sizes,
            [t.dtype for t in tensors],
            layouts=[t.layout for t in tensors],
            strides=[t.strides for t in tensors],
            names=self.names,
        )

    @property
    def arrays(self) -> tuple[Tensor, ...]:
        """The distinct arrays that are read, in the order of the inputs."""
        return tuple(dict.fromkeys(t.array for t in self.inputs))

    @property
    def names(self) -> tuple[str, ...]:
        """The operands' names: the names given to inputs, else unused ones; one name per array."""
        operands = [operand.name for operand in self.operation.operands]
        own, outputs = operands[: len(self.inputs)], operands[len(self.inputs) :]
        default = dict(zip((t.array for t in reversed(self.inputs)), reversed(own), strict=True))
        results = (*self.result.others, self.result)
        given = {t.name for t in (*default, *results)}
        kept = {name for t, name in default.items() if not t.name} - given
        free = (n for n in map(letter, range(99)) if n not in given | kept)
        names: dict[Tensor, str] = {}
        for t in (t.array for t in self.inputs):
            if t not in names:
                names[t] = t.name or (default[t] if default[t] in kept else next(free))
        used = [names[t.array] for t in self.inputs]
        for result, name in zip(results, outputs, strict=True):
            unused = (n for n in (name, "out", *free) if n not in used and n not in given)
            used.append(result.name or next(unused))
        return tuple(used)


def computation(result: Tensor) -> Computation:
    """The operation that computes a tensor: a primitive, or a composition of several.

    Inputs are in the order of their first use, from left to right. A tensor with a use that
    cannot share a loop nest with its other uses is duplicated for it: an input becomes another
    input of the same array, any other tensor is recomputed. Raises `SpecError` if that would
    recompute a matmul or a convolution, or if there are more than `MAX_COMPONENTS` primitives.
    """
    result = _without_casts(_with_absorbed(result))
    computed, inputs = in_order(result)
    _check_count(computed)
    if result.others and len(computed) > 1:
        raise SpecError(
            "an operation with several results takes only inputs",
            "compute what it takes as a Spec of its own",
        )
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
        return Computation(result, components[0].operation, primitive_sizes(tensor), tuple(each))
    first_use = {
        t: component.operand_dims(position)
        for component in reversed(components)
        for position, t in enumerate(component.inputs)
    }
    operands = [Operand(letter(i), first_use[i]) for i in range(len(inputs))]
    composition = compose(operands, components)
    dim_sizes = tuple(sizes[d] for d in composition.dims)
    return Computation(result, composition, dim_sizes, tuple(inputs))


def _with_absorbed(result: Tensor) -> Tensor:
    """The result, by operations that absorb maps of their inputs, whose results are not stored.

    What else reads such a result computes it again.
    """
    new: dict[Tensor, Tensor] = {}
    for tensor in in_order(result)[0]:
        inputs = tuple(new.get(source, source) for source in tensor.inputs)
        whole = _absorbing(tensor if inputs == tensor.inputs else replace(tensor, inputs=inputs))
        if whole is not tensor:
            new[tensor] = whole
    return new.get(result, result)


def _absorbing(tensor: Tensor) -> Tensor:
    """The tensor by an operation that computes its input too, if there is one, in f32."""
    primitive = tensor.operation and tensor.operation.primitive
    if not (tensor.operation and primitive and primitive.absorbs):
        return tensor
    name, make = primitive.absorbs
    whole, (source, *_) = make(tensor.operation), tensor.inputs
    *inputs, _ = (operand.dims for operand in whole.operands)
    mapped = source.operation
    if mapped is None or mapped.function != Function(name) or source.dtype is not F32:
        return tensor
    if [operand.dims for operand in mapped.operands] != [*inputs, inputs[0]]:
        return tensor
    if not converts(whole) and any(_before_widening(x) is not x for x in source.inputs):
        return tensor  # the map converts 16-bit floats itself
    return _absorbing(replace(tensor, operation=whole, inputs=source.inputs))


def _without_casts(result: Tensor) -> Tensor:
    """The result, by operations that convert 16-bit floats themselves, where they do.

    A cast to 16 bits becomes part of what computes its source, if nothing else reads that.
    """
    computed, _ = in_order(result)
    uses = Counter(source for tensor in computed for source in tensor.inputs)
    new: dict[Tensor, Tensor] = {}
    for tensor in computed:
        inputs = [new.get(source, source) for source in tensor.inputs]
        if _converts(tensor):
            inputs = [_before_widening(source) for source in inputs]
        elif _is_cast(tensor) and narrow(tensor.dtype) and uses[tensor.inputs[0]] == 1:
            (source,) = inputs
            if _converts(source) and source.dtype is F32:
                new[tensor] = replace(tensor, operation=source.operation, inputs=source.inputs)
                continue
        if tuple(inputs) != tensor.inputs:
            new[tensor] = replace(tensor, inputs=tuple(inputs))
    return new.get(result, result)


def _converts(tensor: Tensor) -> bool:
    return tensor.operation is not None and not tensor.others and converts(tensor.operation)


def _before_widening(tensor: Tensor) -> Tensor:
    """The 16-bit floats that a tensor is a cast of, or else the tensor itself."""
    cast = _is_cast(tensor) and tensor.dtype is F32 and narrow(tensor.inputs[0].dtype)
    return tensor.inputs[0] if cast else tensor


def _is_cast(tensor: Tensor) -> bool:
    """Whether a tensor is a copy of another in another dtype, but in the same order."""
    operation = tensor.operation
    if operation is None or not operation.copies or len(tensor.inputs) != 1:
        return False
    source, copy = operation.operands
    return source.dims == copy.dims and tensor.inputs[0].dtype is not tensor.dtype


def _check_count(computed: Sequence[Tensor]) -> None:
    if len(computed) > MAX_COMPONENTS:
        raise SpecError(
            f"this takes {len(computed)} primitive operations, and a Spec may have "
            f"{MAX_COMPONENTS}",
            "compute a part of it as a Spec of its own",
        )


def _duplicated(computed: Sequence[Tensor], user: Tensor, operand: int) -> Tensor:
    """The result, rebuilt so that the `user` has a duplicate of the tensor at this operand."""
    source = user.inputs[operand]
    if any(t.operation and t.operation.is_product for t in in_order(source)[0]):
        raise _in_two_roles()
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
    shapes = [t.shape for t in (*tensor.inputs, *tensor.others, tensor)]
    extents = [
        (along, size)
        for axes, shape in zip(primitive.axes, shapes, strict=True)
        for along, size in zip(axes, shape, strict=True)
    ]
    for along, size in sorted(extents, key=lambda extent: len(extent[0].terms)):
        if along.plain:
            known[along.names[0]] = size
        elif len({*along.names} - {*known}) == 1:
            known |= along.solved(known, size)
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
        self._results: set[_Item] = set()
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
            before = dict(self._parents), dict(self._windows), set(self._results)
            try:
                self._unify_axes(*seen[tensor.inputs[operand]], tensor, axes)
                compatible = self._distinct()
            except SpecError:
                compatible = False
            if not compatible:
                self._parents, self._windows, self._results = before
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
                self._join_window(a, b)
            else:
                self._parents[a] = b
        elif after.plain and _is_of_result(first, before):
            root = self._root((id(second), after.names[0]))
            leaves = [leaf for name in before.names for leaf in self._leaves((id(first), name))]
            known = self._windows.get(root, (first, before))
            if known != (first, before) or root in leaves:
                raise _read_in_two_ways()
            self._windows[root] = first, before
            self._results.add(root)
        elif before.plain:
            root = self._root((id(first), before.names[0]))
            if root in self._windows or after.padded:
                raise _read_in_two_ways()
            self._windows[root] = second, after
        else:
            raise _read_in_two_ways()

    def _join_window(self, a: _Item, b: _Item) -> None:
        """Unify two dimensions, of which one at least is a window; raises `SpecError`.

        That is possible where the window is that of a result, whose elements it numbers.
        """
        alike = a == b or self._windows.get(a) == self._windows.get(b)
        if alike and a in self._results and b in self._results:
            return
        window, other = (a, b) if a in self._windows else (b, a)
        if other in self._windows or window not in self._results or other in self._leaves(window):
            raise _read_in_two_ways()
        self._parents[other] = window

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


def _is_of_result(tensor: Tensor, axis: Axis) -> bool:
    """Whether an axis is one of the tensor, rather than of an input that it is computed from."""
    assert tensor.operation is not None
    return axis in tensor.operation.axes[tensor.operation.output]


def _in_two_roles() -> SpecError:
    return SpecError(
        "the result of a product is used in two roles that no single loop nest serves, as x is in "
        "x @ transpose(x)",
        "compute it as a Spec of its own",
    )


def _read_in_two_ways() -> SpecError:
    return SpecError(
        "a tensor is read by a convolution in a way that cannot be fused with its other uses",
        "compute it as a Spec of its own",
    )
