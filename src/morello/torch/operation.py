"""Kernels as operations of torch, for those who call them one by one."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import torch

from morello.base.errors import CallError
from morello.importers.aten_calls import DTYPES
from morello.kernel import Kernel
from morello.runtime.argument import Argument, check_functional

_library = torch.library.Library("morello", "DEF")
_known: dict[int, tuple[Kernel, Callable[..., Any]]] = {}


def call(kernel: Kernel) -> Callable[..., Any]:
    """A kernel as an operation on tensors, which torch.compile and torch.export keep whole.

        product = morello.torch.call(morello.compile("f32[16,32] @ f32[32,64]"))
        y = product(x, w)

    It takes tensors of the types that the kernel has as arguments, and returns a new one. Raises
    `CallError`, as the kernel does, for tensors of other types, and for a kernel whose inputs are
    packed, or whose output is not row-major; and `SpecError` for one that updates its output, or
    has several.
    """
    if id(kernel) not in _known:
        _known[id(kernel)] = kernel, _operation(kernel)
    return _known[id(kernel)][1]


def _operation(kernel: Kernel) -> Callable[..., Any]:
    check_functional(kernel.arguments, "torch")
    *inputs, output = kernel.arguments
    if not output.is_row_major:
        raise CallError(f"the output is {output}, and torch makes row-major tensors.")
    name = f"{re.sub(r'[^a-zA-Z0-9_]', '_', kernel.symbol)}_{len(_known)}"
    dtypes = {dtype: torch_dtype for torch_dtype, dtype in DTYPES.items()}
    shape, dtype, bare = output.shape, dtypes[output.dtype.np], kernel.bare
    taking = [_taking(argument, dtypes[argument.dtype.np]) for argument in inputs]

    def run(*tensors: torch.Tensor) -> torch.Tensor:
        laid = [take(tensor) for take, tensor in zip(taking, tensors, strict=True)]
        result = torch.empty(shape, dtype=dtype)
        bare(*[tensor.data_ptr() for tensor in laid], result.data_ptr())
        return result

    def typed(*tensors: torch.Tensor) -> torch.Tensor:
        return torch.empty(shape, dtype=dtype, device=tensors[0].device)

    parameters = ", ".join(f"Tensor x{n}" for n in range(len(inputs)))
    _library.define(f"{name}({parameters}) -> Tensor")
    _library.impl(name, run, "CPU")
    torch.library.register_fake(f"morello::{name}", typed, lib=_library)
    torch.library.register_autograd(f"morello::{name}", _no_gradient, lib=_library)
    operation: Callable[..., Any] = getattr(torch.ops.morello, name)
    return operation


def _no_gradient(context: Any, *_: Any) -> Any:
    raise CallError("a kernel has no gradient; call it on tensors that need none, or give it one.")


def _taking(argument: Argument, dtype: torch.dtype) -> Callable[[torch.Tensor], torch.Tensor]:
    """A function that checks a tensor's type, and copies it if its strides are others."""
    strides = tuple(step // argument.dtype.bytes for step in argument.strides)

    def take(tensor: torch.Tensor) -> torch.Tensor:
        if tensor.shape != argument.shape or tensor.dtype is not dtype:
            given = f"{tensor.dtype}{list(tensor.shape)}"
            raise CallError(f"{argument.name} is {given}; it should be {argument}.")
        if tensor.stride() == strides:
            return tensor.resolve_neg()
        return torch.empty_strided(argument.shape, strides, dtype=dtype).copy_(tensor)

    return take
