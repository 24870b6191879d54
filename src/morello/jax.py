"""Functions of JAX that run on Morello's kernels, and kernels as functions of JAX.

    import morello.jax

    @morello.jax.jit
    def layer(x, w, b):
        return jax.nn.gelu(x @ w + b)

`jit` is used as `jax.jit` is; `call` makes one compiled kernel a function of arrays of JAX.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Unpack, cast, overload

from morello.base.choices import WEIGHTS
from morello.base.errors import CallError, MorelloError, SpecError, quoted
from morello.graph.graph import TensorType, apply
from morello.graph.operators import Input
from morello.ir.spec import Spec
from morello.kernel import Kernel
from morello.models import Segment
from morello.models.reporting import ProgramReport
from morello.models.schedule import PlacedCall, PlacedStage, whole
from morello.options import GraphOptions, Options, check_function, check_known
from morello.runtime.argument import Argument, check_functional

try:
    import jax.numpy as jnp

    from morello.frameworks.jax_functions import JaxFunction, JaxOptions
    from morello.frameworks.xla import SegmentCall
except ImportError as error:
    raise MorelloError(
        f"morello.jax needs JAX 0.5 or newer, which is not installed ({error}); run "
        "`pip install 'morello[jax]'`."
    ) from None

Function = Callable[..., Any]


@overload
def jit(function: Function, /, **options: Unpack[JaxOptions]) -> JaxFunction: ...


@overload
def jit(
    function: None = None, /, **options: Unpack[JaxOptions]
) -> Callable[[Function], JaxFunction]: ...


def jit(function: Function | None = None, /, **options: Unpack[JaxOptions]) -> Any:
    """A function of JAX, compiled as `jax.jit` would, with kernels for what they compute faster.

    It is traced once for each set of shapes, dtypes and static arguments. What no kernel computes
    stays with JAX, in the same program; `report` says what that is. JAX computes all of it for
    gradients and other derivatives; of a batch (JAX's vmap), the function of the whole batch is
    compiled. The options are those of `jax.jit`, but its device and backend, of
    `morello.compile`, and `fuse_seconds` and `winograd` (see `compile_graph`). Weights that are
    passed again, the very arrays, are packed for the kernels that read them, by one more
    compilation: by another thread when calls with them have taken as long as that is expected to
    take, in the second call with `weights="constant"`, never with `weights="plain"` or shardings.
    The first call of each program is compared with JAX's, unless `verify` is false: where results
    differ by more than rounding, JAX computes the function from then on, with a `FallbackWarning`.
    Also a decorator, with or without arguments.
    """
    if function is None:
        return functools.partial(jit, **options)
    check_function(function, "morello.jax.jit")
    check_known(options, JaxOptions.__annotations__)
    weights = options.get("weights")
    if weights is not None and weights not in WEIGHTS:
        raise SpecError(f"weights are {' or '.join(WEIGHTS)}, not {quoted(weights)}.")
    ours = {name: value for name, value in options.items() if name in GraphOptions.__annotations__}
    verify = options.get("verify", True)
    of_jax = {name: value for name, value in options.items() if name not in {*ours, "verify"}}
    return JaxFunction(function, cast(GraphOptions, ours), of_jax, verify=verify)


def report(function: Function) -> tuple[ProgramReport, ...]:
    """The programs made of a function of `jit`, one for each set of arguments it was traced for.

    Those of loops and branches that JAX controls come after the one that contains them. Raises
    `CallError` for other functions.
    """
    if not isinstance(function, JaxFunction):
        raise CallError(f"{function!r} is no function of morello.jax.jit; it has no report.")
    return tuple(function.reports)


def call(kernel: Kernel | Spec | str, **options: Unpack[Options]) -> Function:
    """One kernel as a function of arrays of JAX, for its jit and its vmap.

        product = morello.jax.call("f32[16,32] @ f32[32,64]")
        y = jax.jit(product)(x, w)

    Of an expression or a Spec, the kernel is compiled with these options. The arrays have the
    shapes and dtypes of the kernel's arguments; an input that the kernel takes in another order of
    dimensions than row-major is transposed in each call. It has no derivative: JAX's custom_vjp
    gives it one. Raises `CallError` for a kernel whose arrays have gaps, and `SpecError` for one
    that updates its output, or has several.
    """
    if not isinstance(kernel, Kernel):
        from morello.api import compile as compile_kernel

        kernel = compile_kernel(kernel, **options)
    check_functional(kernel.arguments, "JAX")
    arguments = kernel.arguments[:-1]
    *inputs, output = map(_Stored.of, kernel.arguments)
    *sources, result = (
        apply(Input(TensorType(stored.shape, argument.dtype.np)))
        for stored, argument in zip((*inputs, output), kernel.arguments, strict=True)
    )
    computing = PlacedCall(tuple(map(whole, sources)), whole(result))
    segment = SegmentCall(Segment(PlacedStage((computing,), tuple(sources), (result,)), [kernel]))

    def called(*arrays: Any) -> Any:
        if len(arrays) != len(inputs):
            raise CallError(f"{len(arrays)} arrays are given; the kernel takes {len(inputs)}.")
        given = [jnp.asarray(array) for array in arrays]
        for array, argument in zip(given, arguments, strict=True):
            if array.shape != argument.shape or array.dtype != argument.dtype.np:
                what = f"{array.dtype}{list(array.shape)}"
                raise CallError(f"{what} is given for {argument.name}, which is {argument}.")
        (computed,) = segment(*(d.store(a) for a, d in zip(given, inputs, strict=True)))
        return output.load(computed)

    return called


@dataclass(frozen=True)
class _Stored:
    """How a kernel stores an array: in row-major order, once its dimensions are in an order."""

    shape: tuple[int, ...]
    order: tuple[int, ...]

    @classmethod
    def of(cls, argument: Argument) -> _Stored:
        every = range(len(argument.shape))
        order = tuple(sorted(every, key=lambda d: (-argument.strides[d], d)))
        if argument.extent != argument.size * argument.dtype.bytes:
            raise CallError(f"{argument.name}: {argument} has gaps, which no array of JAX has.")
        return cls(tuple(argument.shape[d] for d in order), order)

    def store(self, array: Any) -> Any:
        return jnp.transpose(array, self.order)

    def load(self, stored: Any) -> Any:
        return jnp.transpose(stored, sorted(range(len(self.order)), key=self.order.__getitem__))
