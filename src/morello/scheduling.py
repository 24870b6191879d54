"""Scheduling by hand: one rewrite after the other, and search for what is left."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from morello.errors import RewriteError, SearchError, SpecError, quoted
from morello.ir.compose import inputs_of, intermediates, tensor_dims
from morello.ir.dtype import DType, parse_dtype
from morello.ir.layout import Layout, fastest, panels, parse_layout, row_major
from morello.ir.spec import MAX_SIZE, Spec
from morello.rewrites import (
    Bufferize,
    Decompose,
    Move,
    MoveAll,
    Pack,
    PadFirst,
    Parallel,
    ParallelSplit,
    Pointwise,
    Rewrite,
    Select,
    Serial,
    SpatialSplit,
    Split,
    Tile,
    ToAccumulate,
)
from morello.rewrites.impl import Impl, grow, replay
from morello.rewrites.render import tree
from morello.search.budget import SECONDS, Budget
from morello.search.reconstruct import reconstruct
from morello.search.solve import search
from morello.targets.target import Target

Path = tuple[int, ...]
"""Where a node is: which child to take, from the root on."""


@dataclass(frozen=True)
class Schedule:
    """A program in the making; every method gives a new one, and raises `RewriteError`.

    Each rewrite fills the current hole, `at`. Then the rewritten body is the current hole;
    after a kernel, which leaves nothing to do, or a decomposition into steps, it is the first
    open hole in the order of `holes`: steps, copies, fills and remainders.
    """

    impl: Impl
    path: Path = ()

    @staticmethod
    def of(spec: Spec, target: Target) -> Schedule:
        """The schedule in which everything is still to do."""
        return Schedule(Impl(spec, target))

    @property
    def done(self) -> bool:
        return self.impl.complete

    @property
    def at(self) -> Spec | None:
        """What the next rewrite applies to; None when the program is complete."""
        return None if self.done else _node(self.impl, self.path).spec

    @property
    def holes(self) -> tuple[Spec, ...]:
        """What is left to do, in the order it runs."""
        return tuple(_node(self.impl, path).spec for path in _open(self.impl))

    @property
    def left(self) -> dict[str, int]:
        """What the current hole may hold of each level: lines, or registers."""
        levels = self.impl.target.levels[1:]
        limits = _limits(self.impl, self.path)
        return {level.name: limit for level, limit in zip(levels, limits, strict=True)}

    def __str__(self) -> str:
        return tree(self.impl, None if self.done else list(_open(self.impl)).index(self.path))

    # ---- rewrites

    def rewrite(self, rewrite: Rewrite) -> Schedule:
        """Apply a rewrite to the current hole."""
        _check_texts(rewrite)
        grown, _ = grow(rewrite, self._current(), self.impl.target, _limits(self.impl, self.path))
        impl = _with(self.impl, self.path, grown)
        roles = [child.role for child in grown.children]
        if "body" in roles:
            return Schedule(impl, (*self.path, roles.index("body")))
        return Schedule(impl, next(_open(impl), ()))

    def tile(self, **sizes: int) -> Schedule:
        """Loop over tiles of output dimensions, one loop each, the first outermost."""
        schedule = self
        for dim, size in sizes.items():
            schedule = schedule.rewrite(Tile(dim, _size(dim, size)))
        return schedule

    def split(self, **sizes: int) -> Schedule:
        """Loop over pieces of a reduction."""
        schedule = self
        for dim, size in sizes.items():
            schedule = schedule.rewrite(Split(dim, _size(dim, size)))
        return schedule

    def parallel(self, **sizes: int) -> Schedule:
        """Run tiles of one or two output dimensions on all cores, the first one's outermost."""
        return self.rewrite(Parallel(tuple((d, _size(d, size)) for d, size in sizes.items())))

    def serial(self) -> Schedule:
        """Run what could be spread over cores on one."""
        return self.rewrite(Serial())

    def to_accumulate(self) -> Schedule:
        """Fill the outputs with what they start at, then accumulate into them."""
        return self.rewrite(ToAccumulate())

    def move(
        self,
        operand: str,
        level: str,
        *,
        layout: str | Layout | None = None,
        packed: int = 0,
        vector: int = 0,
        along: str = "",
        dtype: str | DType | None = None,
    ) -> Schedule:
        """Bring an operand to the next nearer level.

        By itself, or copied: with a `layout`, `packed` into panels this wide along the
        operand's dimension that is not reduced, or into registers of `vector` elements
        `along` a dimension (the last, if not given). A copy may be of another `dtype`.
        """
        operation = self._current().operation
        for own, name in self.impl.spec.names_in(operation).items():
            if name == operand:
                operand = own
                break
        dims = next((o.dims for o in operation.operands if o.name == operand), ())
        chosen = self._layout(f"move of {operand}", dims, layout, packed, vector, along)
        if dtype is not None and chosen is None:
            chosen = row_major(len(dims))
        return self.rewrite(Move(operand, level, chosen, vector, _dtype(dtype)))

    def move_all(self, level: str) -> Schedule:
        """Bring every operand that is one level away nearer, by the cache itself."""
        return self.rewrite(MoveAll(level))

    def bufferize(
        self,
        component: int,
        level: str,
        *,
        layout: str | Layout | None = None,
        packed: int = 0,
        vector: int = 0,
        along: str = "",
    ) -> Schedule:
        """Cut a composition in two at what a component (by number) makes.

        That gets a place at a level, row-major unless said as for `move`. What uses it is
        scheduled first; what makes it is the first hole thereafter.
        """
        operation = self._current().operation
        component = _size("component", component, least=0)
        tensor = inputs_of(operation) + component
        known = bool(operation.components) and tensor in intermediates(operation)
        dims = tensor_dims(operation, tensor) if known else ()
        what = f"buffer of component {component}"
        chosen = self._layout(what, dims, layout, packed, vector, along)
        return self.rewrite(Bufferize(component, level, chosen or row_major(len(dims)), vector))

    def decompose(self, scheme: str, level: str) -> Schedule:
        """Do an operation in steps (see `SCHEMES`), what lies between them at a level."""
        return self.rewrite(Decompose(scheme, level))

    def parallel_split(self, dim: str, pieces: int) -> Schedule:
        """Cut what is reduced in equal pieces for all cores, and reduce what these come to."""
        return self.rewrite(ParallelSplit(dim, _size("pieces", pieces)))

    def spatial_split(self) -> Schedule:
        """Loop over the pixels of a convolution's filter; each is a matmul along one row."""
        return self.rewrite(SpatialSplit())

    def pointwise(self) -> Schedule:
        """Take a convolution of one-pixel filters for the matmul that it is."""
        return self.rewrite(Pointwise())

    def pad_first(self, level: str) -> Schedule:
        """Copy a convolution's image into a buffer at a level, with its padding around it."""
        return self.rewrite(PadFirst(level))

    def pack(self) -> Schedule:
        """Make groups of neighbours along k the elements of a matmul of narrow numbers."""
        return self.rewrite(Pack())

    def select(self, kernel: str) -> Schedule:
        """Close the current hole with a kernel."""
        return self.rewrite(Select(kernel))

    def solve(self, budget: float = SECONDS) -> Schedule:
        """Fill every hole with the cheapest program that fits the memory left there.

        Each search may take `budget` seconds, after which the best program so far is taken.
        Raises `SearchError` where there is none.
        """
        root = self.impl
        decisions = list(_solved(root, root.target.limits, Budget(budget), {}))
        return Schedule(replay(root.spec, root.target, decisions))

    def _current(self) -> Spec:
        if self.at is None:
            raise RewriteError("the program is complete; there is nothing left to rewrite.")
        return self.at

    def _layout(
        self,
        what: str,
        dims: Sequence[str],
        layout: str | Layout | None,
        packed: int,
        vector: int,
        along: str,
    ) -> Layout | None:
        """The layout that these options name, of a tensor with these dimensions.

        Without any, there is no such tensor, as the rewrite itself will say.
        """
        if packed and (layout or vector):
            raise RewriteError(f"{what}: packed already says the layout, of a copy in memory.")
        if along and (layout or not vector):
            raise RewriteError(f"{what}: along goes with vector=, and instead of a layout.")
        packed, vector = _size("packed", packed, 0), _size("vector", vector, 0)
        if isinstance(layout, Layout):
            return layout
        if not dims:
            return None
        if layout:
            return _read(str(layout), len(dims))
        if packed:
            reduced = self._current().operation.reduced
            kept = [d for d, name in enumerate(dims) if name not in reduced]
            if not kept:
                raise RewriteError(f"{what}: all its dimensions are reduced; give a layout.")
            return panels(len(dims), kept[-1], _size("packed", packed, 2))
        if along and along not in dims:
            raise RewriteError(
                f"{what}: it has no dimension {quoted(along)}; it has {', '.join(dims)}."
            )
        if vector:
            return fastest(len(dims), dims.index(along) if along in dims else len(dims) - 1)
        return None


def _read(layout: str, rank: int) -> Layout:
    try:
        return parse_layout(layout, rank)
    except SpecError as error:
        raise RewriteError(str(error)) from None


def _dtype(dtype: str | DType | None) -> DType | None:
    try:
        return parse_dtype(dtype) if isinstance(dtype, str) else dtype
    except SpecError as error:
        raise RewriteError(str(error)) from None


def _check_texts(rewrite: Rewrite) -> None:
    """Raise `RewriteError` if a field of a rewrite that is a name is not a `str`."""
    for name, kind in type(rewrite).__annotations__.items():
        value = getattr(rewrite, name)
        if kind == "str" and not isinstance(value, str):
            raise RewriteError(f"{name} is {quoted(value)}, and should be a text.")


def _size(name: str, size: int, least: int = 1) -> int:
    """`size` as an int, if it is one that a rewrite can take."""
    try:
        number = operator.index(size)
    except TypeError:
        number = least - 1
    if not least <= number <= MAX_SIZE:
        raise RewriteError(
            f"{name:.60}={quoted(size)}: a size is a whole number, at least {least}."
        )
    return number


# ---- nodes by their paths


def _node(impl: Impl, path: Path) -> Impl:
    for child in path:
        impl = impl.children[child].impl
    return impl


def _with(impl: Impl, path: Path, new: Impl) -> Impl:
    """The Impl with the node at `path` replaced."""
    if not path:
        return new
    first, *rest = path
    old = impl.children[first]
    branch = replace(old, impl=_with(old.impl, tuple(rest), new))
    return replace(impl, children=(*impl.children[:first], branch, *impl.children[first + 1 :]))


def _open(impl: Impl, path: Path = ()) -> Iterator[Path]:
    """The paths of all holes, in pre-order."""
    if impl.rewrite is None:
        yield path
    for index, child in enumerate(impl.children):
        yield from _open(child.impl, (*path, index))


def _limits(impl: Impl, path: Path) -> tuple[int, ...]:
    """How much of each level but the farthest is left at the node at `path`."""
    limits = impl.target.limits
    for child in path:
        limits = _inside(impl, limits)
        impl = impl.children[child].impl
    return limits


def _inside(impl: Impl, limits: tuple[int, ...]) -> tuple[int, ...]:
    """What a node leaves to its children."""
    held = impl.allocation or {}
    return tuple(limit - held.get(level, 0) for level, limit in enumerate(limits, start=1))


def _solved(
    impl: Impl,
    limits: tuple[int, ...],
    budget: Budget,
    known: dict[tuple[Spec, tuple[int, ...]], list[Rewrite]],
) -> Iterator[Rewrite]:
    """The decisions of an Impl in pre-order, its holes filled by search, equal ones once."""
    if impl.rewrite is None:
        query = impl.spec, limits
        if query not in known:
            known[query] = _searched(impl.spec, impl.target, limits, budget)
        yield from known[query]
        return
    yield impl.rewrite
    for child in impl.children:
        yield from _solved(child.impl, _inside(impl, limits), budget, known)


def _searched(spec: Spec, target: Target, limits: tuple[int, ...], budget: Budget) -> list[Rewrite]:
    farthest, *nearer = target.levels
    left = [replace(one, capacity=n) for one, n in zip(nearer, limits, strict=True)]
    smaller = replace(target, levels=(farthest, *left))
    try:
        decisions = search(spec, smaller, budget=budget).decisions
    except SearchError as error:
        amounts = ", ".join(f"{one.capacity} of {one.name}" for one in left)
        raise SearchError(f"{error} The schedule leaves it {amounts}.") from None
    return reconstruct(spec, smaller, decisions).decisions()
