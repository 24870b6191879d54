"""A compiled kernel: what a user calls."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np

from morello.base.errors import BuildError, CallError
from morello.ir.dtype import BF16
from morello.native.toolchain import Compiler, find_compiler
from morello.runtime.argument import CACHE_LINE, Argument, Array
from morello.runtime.call_errors import explain
from morello.runtime.dlpack import call_on_arrays
from morello.runtime.load import MAX_ARGUMENTS, MAX_RANK, Library, NewArrays, make_function

if TYPE_CHECKING:
    from inspect import Signature

# From this size on, aligning an output to a cache line is worth the time it takes.
_ALIGN_BYTES = 1 << 16


class _Signature:
    """The signature of a kernel for `inspect.signature`; that of the class is of `__init__`."""

    def __get__(self, kernel: CompiledKernel | None, owner: type) -> Signature:
        if kernel is None:
            raise AttributeError("__signature__")
        from inspect import Parameter, Signature  # slow to import

        inputs = [a.name for a in kernel.arguments if not a.output]
        given = any(a.updated for a in kernel.arguments)
        return Signature([
            *(Parameter(name, Parameter.POSITIONAL_ONLY) for name in inputs),
            Parameter(
                "out", Parameter.POSITIONAL_OR_KEYWORD, default=Parameter.empty if given else None
            ),
        ])  # fmt: skip


class CompiledKernel:
    """A kernel in memory. `kernel(*inputs, out=None)` runs it and returns the output.

    One with several outputs takes and returns tuples of them; one that updates its output, such as
    that of `f32[8] += sum(f32[8,64])`, has to be given `out`.

    The arrays are NumPy arrays, or support the buffer protocol or DLPack, as those of JAX and
    PyTorch in the memory of the CPU do. Masked arrays are refused, as
    kernels ignore masks. Arrays must have the dtypes, shapes and strides of `arguments`, the
    last of which is the output; a dimension of size 1 may have any stride. Those of bfloat16
    are of `ml_dtypes.bfloat16`; raw bits in uint16 have to be viewed as it. Without `out`, which
    may also be passed by position, the output is a new array. Raises `CallError` if an array does
    not match, or `out` shares memory with an input.
    """

    # A slot, so that Python finds a builtin function in `__call__` and never runs a frame of
    # its own: a method here would double the 0.15 us that a call costs.
    __slots__ = (
        "__call__", "__weakref__", "address", "arguments", "fast", "library", "releases_gil",
        "symbol",
    )  # fmt: skip

    __signature__ = _Signature()
    __call__: Callable[..., Any]
    fast: Callable[..., Array]
    """The builtin function behind `__call__`; calling it directly saves 10 ns.

    It takes and returns bfloat16 arrays only as uint16, which saves a microsecond for them. It
    takes several outputs by position, after the inputs, and returns the last.
    """
    arguments: tuple[Argument, ...]
    library: Library
    symbol: str
    releases_gil: bool
    """Whether other Python threads run during calls."""
    address: int
    """The address of the C function, valid as long as this object lives."""

    def __init__(
        self,
        path: Path,
        symbol: str,
        arguments: tuple[Argument, ...],
        *,
        compiler: Compiler | None = None,
        release_gil: bool = False,
    ) -> None:
        """Loads the C function `symbol` from the shared object at `path`.

        It takes one pointer per argument, in order, and returns nothing. `compiler` is
        for the trampoline, built once. `release_gil` lets other Python threads run during calls,
        which costs about 50 ns per call. Raises `BuildError` if the function cannot be loaded or
        has arguments that no kernel can have.
        """
        _validate(arguments)
        self.arguments, self.releases_gil = arguments, release_gil
        self.library = Library(path)
        self.symbol = symbol
        self.address = self.library.address(symbol)
        self.fast = make_function(
            self.library,
            symbol,
            arguments,
            results=new_arrays(arguments[-1]),
            compiler=compiler or find_compiler(),
            release_gil=release_gil,
        )
        hidden = any(a.raw != a.dtype.np for a in arguments)
        self.__call__ = _as_raw_bits(self.fast, arguments) if hidden else self.fast
        if sum(a.output for a in arguments) > 1:
            self.__call__ = _with_several_outputs(self.__call__, arguments)

    def __copy__(self) -> Self:
        return self  # immutable, like a function

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError(
            f"{self!r} cannot be pickled, as it does not know what it was made of; pickle a "
            "morello.Kernel, which is compiled again where it is read."
        )

    def __repr__(self) -> str:
        inputs, outputs = (
            ", ".join(f"{a.name}: {a}" for a in self.arguments if a.output is written)
            for written in (False, True)
        )
        return f"<CompiledKernel {self.symbol}({inputs}) -> {outputs}>"

    @property
    def bare(self) -> Callable[..., None]:
        """The C function through ctypes, unchecked: it takes addresses as integers.

        Keep this object alive as long as the function is used.
        """
        prototype = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(self.arguments))
        return prototype(self.address)


def _as_raw_bits(
    function: Callable[..., Array], arguments: tuple[Argument, ...]
) -> Callable[..., Array]:
    """A function that takes bfloat16 arrays, and passes them on as views of uint16."""
    count = len(arguments) - 1
    hidden = [a.raw != a.dtype.np for a in arguments]

    def call(*args: Any, **keywords: Any) -> Array:
        try:
            views = [_raw(x) if hides else x for hides, x in zip(hidden, args, strict=False)]
            views += args[len(hidden) :]
            named = {name: _raw(x) if hidden[-1] else x for name, x in keywords.items()}
            result = function(*views, **named)
        except CallError:
            result = None
        if result is None:
            exchanged = call_on_arrays(call, args, keywords, count)
            if exchanged is not None:
                return exchanged
            explain(arguments, *args, **keywords)  # about what was passed, not the views
        out = keywords.get("out") if keywords else args[count] if len(args) > count else None
        if out is not None:
            return cast(Array, out)
        return result.view(_BFLOAT16) if hidden[-1] else result

    return call


def _with_several_outputs(
    function: Callable[..., Array], arguments: tuple[Argument, ...]
) -> Callable[..., tuple[Any, ...]]:
    """A function whose `out` is a tuple, of one that takes several outputs by position."""
    outputs = [a for a in arguments if a.output]
    count = len(arguments) - len(outputs)
    signature = f"kernel({', '.join(a.name for a in arguments[:count])}, out=None)"
    results = ", ".join(a.name for a in outputs)
    makers = [functools.partial(_refuse_new, a) if a.updated else a.empty for a in outputs]

    def call(*args: Any, out: Any = None, **unknown: Any) -> tuple[Any, ...]:
        if out is None and len(args) == count + 1:
            out = args[count]
            args = args[:count]
        listed = out is None or (isinstance(out, tuple | list) and len(out) == len(outputs))
        if unknown or not listed or len(args) != count:
            raise CallError(f"call {signature}, where out is a tuple ({results}).")
        arrays = tuple(make() for make in makers) if out is None else tuple(out)
        function(*args, *arrays)
        return arrays

    return call


def _refuse_new(output: Argument) -> Array:
    raise CallError(f"{output.name} is updated by the kernel; pass the array as out.")


_BFLOAT16, _BITS = BF16.np, np.dtype(np.uint16)


def _raw(value: Any) -> Any:
    """The bits of a bfloat16 array, or None; raises `CallError` for anything else."""
    if value is None:
        return None
    if isinstance(value, np.ndarray) and value.dtype == _BFLOAT16:
        return value.view(_BITS)
    raise CallError("it is no array of bfloat16.")  # `explain` says more


def _validate(arguments: tuple[Argument, ...]) -> None:
    if not 1 <= len(arguments) <= MAX_ARGUMENTS:
        raise BuildError(f"a kernel takes 1 to {MAX_ARGUMENTS} arrays, this one {len(arguments)}.")
    roles = [a.output for a in arguments]
    if roles != sorted(roles) or not roles[-1]:
        raise BuildError("a kernel's outputs must be its last arguments.")
    for a in arguments:
        if len(a.shape) != len(a.strides) or len(a.shape) > MAX_RANK:
            raise BuildError(
                f"argument {a.name} has {len(a.shape)} dimensions and {len(a.strides)} strides; "
                f"a kernel takes arrays of up to {MAX_RANK} dimensions."
            )
        if min(a.shape, default=0) < 0 or min(a.strides, default=0) < 0:
            raise BuildError(f"argument {a.name} has a negative size or stride: {a}.")


def new_arrays(output: Argument) -> NewArrays:
    """The fastest way to make a new array for an output.

    It raises `CallError` for an output that is updated, which must be given.
    """
    if output.updated:
        return NewArrays(functools.partial(_refuse_new, output))
    if output.is_row_major and output.extent < _ALIGN_BYTES:
        return NewArrays(functools.partial(np.empty, output.shape, output.raw))
    memory = functools.partial(np.empty, CACHE_LINE + output.extent, np.dtype(np.uint8))
    array: Callable[..., Array] = np.ndarray
    strides = {} if output.is_row_major else {"strides": output.strides}
    return NewArrays(memory, functools.partial(array, output.shape, output.raw, **strides))
