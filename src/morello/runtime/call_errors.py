"""Error messages for calls whose arrays do not match the kernel."""

from __future__ import annotations

import warnings
from typing import Any, NoReturn

import numpy as np

from morello.base.errors import CallError, quoted
from morello.runtime.argument import Argument, Array, describe, same_strides


def explain(arguments: tuple[Argument, ...], *args: Any, **keywords: Any) -> NoReturn:
    """Raises the `CallError` that says what is wrong with the call `kernel(*args, **keywords)`.

    A kernel's function calls this when its arrays do not match `arguments`, the last of which
    is the output; other outputs are passed as inputs are.
    """
    inputs, output = arguments[:-1], arguments[-1]
    labels = _labels(arguments)
    signature = f"kernel({', '.join([*(a.name for a in inputs), 'out=None'])})"
    if unknown := sorted(keywords.keys() - {"out"}):
        raise CallError(
            f"unexpected keyword {quoted(unknown[0])}; "
            f"call {signature} with the inputs by position."
        )
    if len(args) > len(inputs) and keywords:
        raise CallError(f"got {len(args)} arrays by position and out as well; call {signature}.")
    if not len(inputs) <= len(args) <= len(arguments):
        plural = "" if len(inputs) == 1 else "s"
        raise CallError(
            f"expected {len(inputs)} input{plural} and perhaps an output, "
            f"got {len(args)} arrays; call {signature}."
        )
    arrays = [*map(_check, labels, inputs, args)]
    out = keywords.get("out", args[-1] if len(args) == len(arguments) else None)
    if out is not None:
        arrays.append(_check(labels[-1], output, out))
    for written, target in enumerate(arrays):
        for other in range(written if arguments[written].output else 0):
            if np.may_share_memory(arrays[other], target):
                omitted = "" if arguments[written].updated else ", or omit it"
                raise CallError(
                    f"{labels[written]} shares memory with {labels[other]}, and the kernel uses "
                    f"one while it writes the other; pass a separate array as out{omitted}."
                )
    raise CallError(f"the arrays do not fit {signature}.")


def check_unmasked(label: str, value: object, remedy: str = "") -> None:
    """Raises `CallError` if `value` is a masked array."""
    if isinstance(value, np.ma.MaskedArray):
        name = label.removeprefix("argument ")
        remedy = remedy or f"pass {name}.filled(0), or {name}.data if its mask means nothing"
        raise CallError(f"{label} is a masked array, whose mask no kernel sees; {remedy}.")


def _labels(arguments: tuple[Argument, ...]) -> list[str]:
    """The arguments as messages name them."""
    several = sum(argument.output for argument in arguments) > 1
    return [
        f"argument {a.name}" if not a.output else f"{a.name} of out" if several else "out"
        for a in arguments
    ]


def _check(label: str, argument: Argument, value: object) -> Array:
    """`value` as an array, if it matches; raises `CallError` if it does not."""
    check_unmasked(label, value, _another_output(argument) if argument.output else "")
    array = _as_array(value)
    if array is None:
        kind = f"{getattr(type(value), '__module__', '')}.{type(value).__qualname__}"
        kind = kind.removeprefix("builtins.")
        remedy = _another_output(argument) if argument.output else _from_object(argument, value)
        raise CallError(f"{label}: expected {argument}, got an object of type {kind}; {remedy}.")
    if remedy := _remedy(argument, array):
        raise CallError(f"{label}: expected {argument}, got {_described(array)}; {remedy}.")
    if argument.output and not array.flags.writeable:
        raise CallError(f"{label} is read-only; {_another_output(argument)}.")
    return array


def _remedy(argument: Argument, array: Array) -> str:
    """How to convert `array` to one that matches; "" if it matches already."""
    name, size = argument.name, argument.dtype.bytes
    if array.dtype != argument.dtype.np:
        remedy = f"convert with {name}.astype({dtype_code(argument)})"
        if array.dtype == argument.raw:
            remedy += f", or pass {name}.view({dtype_code(argument)}) if these are its bits"
    elif array.shape != argument.shape:
        remedy = f"pass an array of shape {argument.shape}"
        if argument.in_panels:
            remedy = f"pack it once with kernel.pack({name!r}, {name})"
    elif not same_strides(argument, array.strides):
        remedy = _relayout(argument)
    elif array.ctypes.data % size:
        remedy = f"align it with {name}.copy()"
    else:
        remedy = ""
    # Converting a copy of an output is useless, as the kernel must write to the original.
    return _another_output(argument) if remedy and argument.output else remedy


def _as_array(value: object) -> Array | None:
    """`value` as an array, if it is one or supports the buffer protocol; None if not."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy warns if it has to guess a buffer's format
        try:
            # A plain array, as subclasses may override what is used here.
            return np.asarray(value if isinstance(value, np.ndarray) else memoryview(value))  # type: ignore[arg-type]
        except Exception:  # an object may raise anything when asked for its buffer
            return None


def _described(array: Array) -> str:
    name = array.dtype.name if array.dtype.isnative else f"byte-swapped {array.dtype.name}"
    text = describe(name, array.shape, array.strides, max(array.itemsize, 1))
    return text if array.flags.aligned else f"{text} at a misaligned address"


def dtype_code(argument: Argument) -> str:
    """The NumPy dtype as a Python expression."""
    known = argument.dtype.np == argument.raw
    return repr(argument.dtype.np.name) if known else f"ml_dtypes.{argument.dtype.np.name}"


def _relayout(argument: Argument) -> str:
    if argument.is_row_major:
        return f"convert with np.ascontiguousarray({argument.name})"
    if argument.is_column_major:
        return f"convert with np.asfortranarray({argument.name})"
    return "copy it into a new array from that Argument's empty()"


def _from_object(argument: Argument, value: object) -> str:
    if getattr(value, "requires_grad", False) is True:
        return f"no gradients are computed through a kernel, so pass {argument.name}.detach()"
    if any(kind.__name__ == "Tracer" for kind in type(value).__mro__):
        return "within functions that JAX traces, call morello.jax.call(kernel)"
    device = str(getattr(value, "device", "cpu"))
    if not device.startswith("cpu"):
        return f"it lies on {device}, so pass one on the CPU"
    order = ", order='F'" if argument.is_column_major and not argument.is_row_major else ""
    return f"convert with np.asarray({argument.name}, dtype={dtype_code(argument)}{order})"


def _another_output(argument: Argument) -> str:
    if argument.updated:
        return "pass the array to update"
    if argument.is_row_major:
        replacement = f"np.empty({argument.shape}, {dtype_code(argument)})"
    elif argument.is_column_major:
        replacement = f"np.empty({argument.shape}, {dtype_code(argument)}, order='F')"
    else:
        replacement = "a new array from that Argument's empty()"
    return f"pass {replacement}, or omit out"
