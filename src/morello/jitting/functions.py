"""Functions of NumPy, traced and compiled when they are called."""

from __future__ import annotations

import sys
import warnings
import weakref
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from functools import partial, update_wrapper
from inspect import signature
from threading import RLock
from types import MethodType
from typing import Any, Unpack, overload

import numpy as np

from morello.base.errors import FallbackWarning, MorelloError
from morello.graph.frameworks import NUMPY
from morello.graph.graph import Array, TensorType
from morello.importers.numpy_tracing import CONSTANTS, TracedArray, leaves, mapped, trace
from morello.jitting.agreement import differing
from morello.jitting.program import NumPyProgram
from morello.models import compile_graph
from morello.models.checking import tolerance_of
from morello.models.reporting import ProgramReport, note_of, program_report
from morello.models.rounding import Rounding, share_of
from morello.options import OPTION_ERRORS, GraphOptions, check_function, check_known

VARIANTS = 8
"""How often a function is compiled, for arguments of different types; then NumPy computes it."""


@overload
def jit(function: Callable[..., Any], /, **options: Unpack[GraphOptions]) -> Jitted: ...


@overload
def jit(**options: Unpack[GraphOptions]) -> Callable[[Callable[..., Any]], Jitted]: ...


def jit(
    function: Callable[..., Any] | None = None, /, **options: Unpack[GraphOptions]
) -> Jitted | Callable[[Callable[..., Any]], Jitted]:
    """A function written in NumPy that kernels compute; as a decorator, with options or without.

        layer = morello.jit(lambda x, w: np.maximum(x @ w, 0))
        y = layer(x, w)  # compiled at the first call, for arrays of these types and shapes

    The first call for arrays of other types traces the function, compiles its graph, compares the
    results with NumPy's, and returns these. The options are those of `morello.compile`; each
    search ends at a gap of 2 %, or after 3 seconds, unless they say otherwise. With `fuse_seconds`,
    other kernels than those of the simple rule are tried for so long, and `winograd` is the tiles
    of convolutions in fewer multiplications (see `compile_graph`).

    The function must depend on nothing but its arguments: what else it reads is constant from then
    on. It is compiled once for each set of types and strides of its arrays and of values of its
    other arguments. `morello.report` tells what is left to NumPy, and why: that is the
    whole function if what it does depends on the elements of its arrays.
    An option that does not exist raises `SearchError`; one of a wrong value is a
    `FallbackWarning` at the first call.
    """
    if function is None:
        return partial(Jitted, options)
    return Jitted(options, function)


@dataclass(frozen=True)
class Variant:
    """A function for arguments of certain types.

    Without a `program`, NumPy computes all of it; `why` says so. A `builtin` is the fastest way
    to call the program.
    """

    arguments: tuple[str, ...]
    program: NumPyProgram | None
    why: str = ""
    builtin: Callable[..., Any] | None = None

    def report(self, name: str) -> ProgramReport:
        """The report of the program, as that of a function with this name."""
        if self.program is None:
            return ProgramReport(NUMPY.name, self.arguments, note=self.why, name=name)
        return replace(program_report(self.program.compiled, self.arguments), name=name)


class Jitted:
    """The result of `jit`: call it as the function itself."""

    __slots__ = ("__call__", "__dict__", "__weakref__")

    __call__: Callable[..., Any]
    """The builtin function of the last variant, whose check of arrays tells whether they are of
    the same types; or what chooses the variant. A slot, as that of a kernel."""

    def __init__(self, options: GraphOptions, function: Callable[..., Any]) -> None:
        check_function(function, "morello.jit")
        check_known(options, GraphOptions.__annotations__)
        update_wrapper(self, function)
        self.variants: dict[Hashable, Variant] = {}
        self._function, self._options = function, options
        self._lock = RLock()
        self.__call__ = self._choose

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<morello.jit of {self._function!r}>"

    def __copy__(self) -> Jitted:
        return self  # as a function is no other when it is copied

    def __deepcopy__(self, memo: object) -> Jitted:
        return self

    def __reduce__(self) -> str | tuple[Any, ...]:
        """Pickled by name, as functions are, or else as made of its function and options."""
        named = getattr(sys.modules.get(self.__module__), self.title, None)
        return self.title if named is self else (Jitted, (self._options, self._function))

    @property
    def title(self) -> str:
        """The name of the function."""
        return getattr(self._function, "__qualname__", repr(self._function))

    def _choose(self, *args: Any, **keywords: Any) -> Any:
        """The result of the function, by the variant for these arguments."""
        if keywords:
            args, keywords = self._by_position(args, keywords)
        given = leaves((args, keywords))
        if any(type(each) is TracedArray for each in given):
            return self._function(*args, **keywords)  # a function that is traced calls it
        key = _key((args, keywords))
        variant = self.variants.get(key)
        if variant is None:
            with self._lock:
                if key not in self.variants:
                    return self._first(key, args, keywords)
                variant = self.variants[key]
        if variant.program is None:
            return self._function(*args, **keywords)
        if variant.builtin is not None:
            self.__call__ = variant.builtin
        try:
            return variant.program(_arrays(given))
        except Exception as error:
            result = self._function(*args, **keywords)  # raises what NumPy raises
            self.variants[key] = Variant(variant.arguments, None, _told(error))
            return result

    def _by_position(self, args: Any, keywords: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """The arguments with as many by position as can be, so that they are always the same."""
        try:
            bound = signature(self._function).bind(*args, **keywords)
        except (TypeError, ValueError):  # the function itself raises it, or is written in C
            return args, keywords
        return bound.args, bound.kwargs

    def _first(self, key: Hashable, args: Any, keywords: Any) -> Any:
        """The result of NumPy for arguments of new types, after a variant is made for them."""
        if len(self.variants) == VARIANTS:
            self._warn(f"was compiled {VARIANTS} times; NumPy computes it for other arguments.")
            return self._function(*args, **keywords)
        described = tuple(map(_described, leaves((args, keywords))))
        computed = None
        try:
            variant = self._compiled(described, args, keywords)
            if variant.program is not None:
                computed = variant.program(_arrays(leaves((args, keywords))))
        except Exception as error:
            variant = Variant(described, None, _told(error))
            if isinstance(error, OPTION_ERRORS):
                self._warn(f"is left to NumPy: {error}")
        expected = self._function(*args, **keywords)  # if it raises, there is no variant
        if variant.program is not None:
            rounding = self._rounding(variant.program, args, keywords)
            if difference := differing(computed, expected, rounding):
                what = f"kernels computed {difference}"
                self._warn(f"is left to NumPy, as {what}.")
                variant = Variant(described, None, what)
        self.variants[key] = variant
        return expected

    def _rounding(self, program: NumPyProgram, args: Any, keywords: Any) -> Rounding:
        """How rounding may change the results of a program for these arguments."""

        def again(change: Callable[[Array], Array]) -> list[Array]:
            def changed(each: Any) -> Any:
                return change(each) if type(each) is np.ndarray else each

            given, named = mapped(changed, (args, keywords))
            return [np.asarray(leaf) for leaf in leaves(self._function(*given, **named))]

        share = share_of(tolerance_of(program.compiled.graph))
        return Rounding(program.changes(), again, share)

    def _compiled(self, described: tuple[str, ...], args: Any, keywords: Any) -> Variant:
        """The variant for such arguments, unless tracing or compiling raises an exception."""
        traced = trace(self._function, args, keywords)
        compiled = compile_graph(traced.graph, **self._options)
        program = NumPyProgram(traced, compiled)
        if not compiled.segments:
            return Variant(described, None, note_of(compiled))
        builtin = None
        if args and all(type(each) is np.ndarray for each in args) and not keywords:
            builtin = program.builtin(args, _otherwise(self))
        return Variant(described, program, builtin=builtin)

    def _warn(self, what: str) -> None:
        warnings.warn(f"{self.title} {what}", FallbackWarning, stacklevel=4)


def _otherwise(jitted: Jitted) -> Callable[..., Any]:
    """A function that chooses another variant, without keeping the jitted function alive."""
    reference = weakref.ref(jitted)

    def choose(*args: Any, **keywords: Any) -> Any:
        function = reference()
        assert function is not None
        return function._choose(*args, **keywords)

    return choose


def _told(error: Exception) -> str:
    return str(error) if isinstance(error, MorelloError) else f"it raised {error!r}"


def _arrays(given: list[Any]) -> list[Array]:
    return [each for each in given if type(each) is np.ndarray]


def _key(tree: Any) -> Hashable:
    """Equal for arguments that one variant takes."""
    if type(tree) is np.ndarray:
        return tree.dtype, tree.shape, tree.strides
    if type(tree) in (list, tuple):
        return type(tree), *map(_key, tree)
    if type(tree) is dict:
        return dict, *((key, _key(value)) for key, value in tree.items())
    if isinstance(tree, float):
        return type(tree), tree.hex()  # of 0.0 and -0.0, and a nan, which equals none
    if isinstance(tree, np.generic):
        return type(tree), tree.tobytes()
    if isinstance(tree, slice):
        return slice, tree.start, tree.stop, tree.step
    return (type(tree), tree if isinstance(tree, CONSTANTS) else None)


def _described(value: Any) -> str:
    if type(value) is np.ndarray:
        return str(TensorType(value.shape, value.dtype))
    return repr(value) if isinstance(value, bool | int | float | str) else type(value).__name__
