"""Scheduling by hand: applying rewrites one by one, with search for the remaining holes."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from morello.base.errors import RewriteError, SearchError, SpecError, quoted
from morello.impl.printing import tree
from morello.impl.reconstruct import reconstruct
from morello.impl.tree import Impl, grow, replay
from morello.ir.compose import inputs_of, intermediates, tensor_dims
from morello.ir.dtype import DType, parse_dtype
from morello.ir.layout import Layout, fastest, panels, parse_layout, row_major
from morello.ir.spec import MAX_SIZE, Spec
from morello.request.warning import warn
from morello.rewrites import (
    REWRITES,
    Bufferize,
    Crop,
    Decompose,
    GroupRows,
    Join,
    LastGroup,
    Move,
    MoveAll,
    Overlap,
    Pack,
    PadFirst,
    Parallel,
    ParallelSplit,
    Peel,
    Pointwise,
    Rewrite,
    Select,
    Serial,
    SpatialSplit,
    Split,
    Tile,
    ToAccumulate,
    Ungroup,
)
from morello.search.budget import SECONDS, Budget
from morello.targets.target import Target

Path = tuple[int, ...]
"""The path of a node: the index of the child to take, from the root on."""


@dataclass(frozen=True)
class Schedule:
    """A partial program. Its methods return a new one, or raise `RewriteError`.

    Each rewrite is applied to the current hole, `at`. Its body is then the current hole. If
    there is no body, as for a leaf kernel or a decomposition into steps, the next one is the
    first of `holes`: a step, copy, fill or remainder.
    """

    impl: Impl
    path: Path = ()

    @staticmethod
    def of(spec: Spec, target: Target) -> Schedule:
        """The schedule to which no rewrite was applied yet."""
        return Schedule(Impl(spec, target))

    @property
    def done(self) -> bool:
        return self.impl.complete

    @property
    def at(self) -> Spec | None:
        """The current hole, which the next rewrite applies to; None if the program is complete."""
        return None if self.done else _node(self.impl, self.path).spec

    @property
    def holes(self) -> tuple[Spec, ...]:
        """The Specs that are not implemented yet, in the order they run."""
        return tuple(_node(self.impl, path).spec for path in _open(self.impl))

    @property
    def left(self) -> dict[str, int]:
        """The capacity left at the current hole, by level: in cache lines, or registers."""
        levels = self.impl.target.levels[1:]
        limits = _limits(self.impl, self.path)
        return {level.name: limit for level, limit in zip(levels, limits, strict=True)}

    def __str__(self) -> str:
        return tree(self.impl, None if self.done else list(_open(self.impl)).index(self.path))

    # ---- rewrites

    def rewrite(self, rewrite: Rewrite) -> Schedule:
        """Apply `rewrite`, such as `Tile("m", 8)`, to the current hole."""
        _check_texts(rewrite)
        grown, _ = grow(rewrite, self._current(), self.impl.target, _limits(self.impl, self.path))
        impl = _with(self.impl, self.path, grown)
        roles = [child.role for child in grown.children]
        if "body" in roles:
            return Schedule(impl, (*self.path, roles.index("body")))
        return Schedule(impl, next(_open(impl), ()))

    def tile(self, **sizes: int) -> Schedule:
        """Loop over tiles of output dimensions, one loop each, the first outermost.

        `sizes` are the elements of a tile by dimension: `tile(m=8, n=32)`. Each is at least 1 and
        smaller than the dimension. If it does not divide the dimension, the remainder is a
        further hole.
        """
        return self._each(Tile, sizes)

    def overlap(self, **sizes: int) -> Schedule:
        """Loop over tiles of output dimensions that do not divide them, without a remainder.

        `sizes` are limited as those of `tile`. The last tile begins so that it ends with the
        dimension: what it shares with the one before is computed twice. For operations that
        overwrite their outputs: apply it before `to_accumulate`.
        """
        return self._each(Overlap, sizes)

    def split(self, **sizes: int) -> Schedule:
        """Loop over pieces of a reduction that accumulates (see `to_accumulate`).

        `sizes` are the elements of a piece by reduced dimension: `split(k=64)`. They are limited,
        and leave a remainder, as those of `tile`.
        """
        return self._each(Split, sizes)

    def parallel(self, **sizes: int) -> Schedule:
        """Run tiles of one or two output dimensions on all cores; each tile is serial.

        `sizes` are the elements of a tile by dimension, the outermost first; those of two must
        divide their dimensions. For schedules of more than one thread.
        """
        return self.rewrite(Parallel(tuple((d, _size(d, size)) for d, size in sizes.items())))

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
        """Move `operand`, such as "b", to the next nearer `level`, such as "L2" or "registers".

        Without options, the cache does this as the operand is used. Else it is copied: to a
        `layout`, such as "{0,1}"; `packed` into panels of this width along the operand's last
        dimension that is not reduced; or into registers of `vector` elements `along` a dimension
        (by default the last). The copy may have another `dtype`, such as "f32".
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
        """Split a composition in two at the output of a `component`, given by its number.

        The output gets a buffer at `level`, row-major unless `layout`, `packed`, or `vector` and
        `along` say otherwise, as for `move`. The consumer is the next hole; the producer is the
        first one after that.
        """
        operation = self._current().operation
        component = _size("component", component, least=0)
        tensor = inputs_of(operation) + component
        known = bool(operation.components) and tensor in intermediates(operation)
        dims = tensor_dims(operation, tensor) if known else ()
        what = f"buffer of component {component}"
        chosen = self._layout(what, dims, layout, packed, vector, along)
        return self.rewrite(Bufferize(component, level, chosen or row_major(len(dims)), vector))

    def parallel_split(self, dim: str, pieces: int) -> Schedule:
        """Split a reduction over all cores, then reduce the partial results.

        `dim` is the reduced dimension, and `pieces`, at least 2, the number of equal parts that it
        is split into. For schedules of more than one thread.
        """
        return self.rewrite(ParallelSplit(dim, _size("pieces", pieces)))

    def join(self, groups: Sequence[Sequence[str]], units: Sequence[str] = ()) -> Schedule:
        """Join dimensions that are neighbours in all operands that have any of them.

        Each of the `groups` becomes one dimension, and `units`, of size 1, are left out. A
        convolution by filters of one pixel becomes a product of matrices.
        """
        return self.rewrite(Join(tuple(map(tuple, groups)), tuple(units)))

    def serial(self) -> Schedule:
        """Run the current hole on one core, in a schedule of more than one thread."""
        return self.rewrite(Serial())

    def to_accumulate(self) -> Schedule:
        """Fill the outputs with initial values, such as zeros for sums, then accumulate in them."""
        return self.rewrite(ToAccumulate())

    def move_all(self, level: str) -> Schedule:
        """Move all operands that are one level away into the cache `level`, as `move` does."""
        return self.rewrite(MoveAll(level))

    def decompose(self, scheme: str, level: str) -> Schedule:
        """Do softmax, or a part of it, in steps, with the tensors between them in memory.

        `scheme` says which steps: one of `morello.rewrites.SCHEMES`, such as "to_softmax_parts",
        which computes every exponential once. `level` is where the tensors between the steps are.
        """
        return self.rewrite(Decompose(scheme, level))

    def spatial_split(self) -> Schedule:
        """Loop over the pixels of the filter of a convolution, each of which is a matmul.

        For a convolution that accumulates one row of one image.
        """
        return self.rewrite(SpatialSplit())

    def pointwise(self) -> Schedule:
        """Do a convolution by filters of one pixel as a matmul over all pixels of an image."""
        return self.rewrite(Pointwise())

    def pad_first(self, level: str, layout: str | Layout | None = None) -> Schedule:
        """Copy the image of a convolution, with its padding, to a buffer in the cache `level`.

        It is row-major there, or in another `layout` without panels, such as "{1,3,2,0}".
        """
        image = self._current().operation.operands[0]
        chosen = self._layout("pad_first", image.dims, layout, 0, 0, "")
        return self.rewrite(PadFirst(level, chosen))

    def peel(self, dim: str) -> Schedule:
        """Cut the dimension `dim`, of padded windows or of their pixels, so as to read no padding.

        Windows, along x or y, are cut where they begin or end to reach into the padding. Pixels,
        along q or p, are cut where they are in the padding of some windows.
        """
        return self.rewrite(Peel(dim))

    def crop(self) -> Schedule:
        """Leave out the last rows and columns of an image, which are in no window."""
        return self.rewrite(Crop())

    def ungroup(self) -> Schedule:
        """Do a convolution of a single group as one without groups."""
        return self.rewrite(Ungroup())

    def group_rows(self, most: int) -> Schedule:
        """Multiply rows that choose the same matrix in blocks of 1, 2, 4, ... or `most` rows.

        For `grouped_matmul`; `most` is a power of two, and each kind of block is a further hole.
        """
        return self.rewrite(GroupRows(most))

    def pack(self, layout: Layout | None = None, level: str = "") -> Schedule:
        """Pack neighbours along k into groups, which one instruction of the target multiplies.

        For products of narrow numbers, such as bf16 or u8 by i8. An input whose groups are
        contiguous already is read where it is; any other is copied, to a row-major buffer or one
        with the `layout`, at its own level or at a `level` that is nearer.
        """
        return self.rewrite(Pack(layout, level))

    def last_group(self) -> Schedule:
        """Pack whole groups, then the last one, which is filled up with zeros."""
        return self.rewrite(LastGroup())

    def select(self, kernel: str) -> Schedule:
        """Implement the current hole with a `kernel` of the target, given by its name.

        `morello explain` shows the kernels of a program.
        """
        return self.rewrite(Select(kernel))

    if not TYPE_CHECKING:  # a typing error in a method's name is one

        def __getattr__(self, name: str) -> Callable[..., Schedule]:
            """The method for a rewrite that has none above: it takes the rewrite's fields."""
            if name not in REWRITES:
                known = ", ".join(sorted({*REWRITES, "solve"}))
                raise AttributeError(f"a Schedule has no {name}; there are: {known}.", name=name)

            def method(*args: Any, **keywords: Any) -> Schedule:
                return self.rewrite(REWRITES[name](*args, **keywords))

            method.__doc__ = REWRITES[name].__doc__
            return method

        def __dir__(self) -> list[str]:
            return sorted({*super().__dir__(), *REWRITES})

    def solve(self, budget: float = SECONDS, gap: float = 0.0) -> Schedule:
        """Fill every hole with the cheapest program that fits the capacity left there.

        All searches together may take `budget` seconds, after which the best programs so far are
        taken; each ends once its program is proven to cost at most the fraction `gap` more than
        the cheapest. Raises `SearchError` where there is none.
        """
        root = self.impl
        holes = dict.fromkeys((_node(root, path).spec, _limits(root, path)) for path in _open(root))
        shares = Budget(budget, gap=gap).shares(len(holes))
        solved = {
            hole: _searched(*hole, root.target, share)
            for hole, share in zip(holes, shares, strict=True)
        }
        decisions = list(_filled(root, root.target.limits, solved))
        return Schedule(replay(root.spec, root.target, decisions))

    def _each(self, rewrite: Callable[[str, int], Rewrite], sizes: Mapping[str, int]) -> Schedule:
        """Apply a rewrite for each of some dimensions, the outermost first."""
        schedule = self
        for dim, size in sizes.items():
            schedule = schedule.rewrite(rewrite(dim, _size(dim, size)))
        return schedule

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
        """The layout that these options give to a tensor with these dimensions, if any.

        Without dimensions there is no such tensor, which the rewrite itself will report.
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
    """Raise `RewriteError` if a `str` field of a rewrite has another type."""
    for field in fields(rewrite):
        value = getattr(rewrite, field.name)
        if field.type == "str" and not isinstance(value, str):
            raise RewriteError(f"{field.name} is {quoted(value)}, and should be a text.")


def _size(name: str, size: int, least: int = 1) -> int:
    """`size` as an int; raises `RewriteError` if it is no integer in range."""
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
    """The capacity of each level but the farthest that is left at the node at `path`."""
    limits = impl.target.limits
    for child in path:
        limits = _inside(impl, limits)
        impl = impl.children[child].impl
    return limits


def _inside(impl: Impl, limits: tuple[int, ...]) -> tuple[int, ...]:
    """The capacity that a node leaves to its children."""
    held = impl.allocation or {}
    return tuple(limit - held.get(level, 0) for level, limit in enumerate(limits, start=1))


Hole = tuple[Spec, tuple[int, ...]]
"""A Spec that is left to do, and the capacity of each level but the farthest that is left there."""


def _filled(
    impl: Impl, limits: tuple[int, ...], solved: Mapping[Hole, Sequence[Rewrite]]
) -> Iterator[Rewrite]:
    """The decisions of an Impl in pre-order, with those of its solved holes."""
    if impl.rewrite is None:
        yield from solved[impl.spec, limits]
        return
    yield impl.rewrite
    for child in impl.children:
        yield from _filled(child.impl, _inside(impl, limits), solved)


def _searched(spec: Spec, limits: tuple[int, ...], target: Target, budget: Budget) -> list[Rewrite]:
    from morello.search.session import search  # slow to import, and often not needed

    farthest, *nearer = target.levels
    left = [replace(level, capacity=n) for level, n in zip(nearer, limits, strict=True)]
    smaller = replace(target, levels=(farthest, *left))
    try:
        result = search(spec, smaller, budget=budget)
    except SearchError as error:
        amounts = ", ".join(f"{level.capacity} of {level.name}" for level in left)
        raise SearchError(f"{error} The schedule leaves it {amounts}.") from None
    warn(spec, target, result.statistics, budget)
    return reconstruct(spec, smaller, result.decisions).decisions()
