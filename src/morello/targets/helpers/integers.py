"""Comparisons of integers, scalars or registers: `max`, `min`, `relu` and `abs`.

As in NumPy, the `abs` of the lowest number is itself.
"""

from __future__ import annotations

from morello.targets.helpers.vectors import scalar, vector_types

INTEGERS = ("u8", "i8", "u16", "i16", "u32", "i32")


def integer_helpers(dtype: str, width: int) -> dict[str, str]:
    """The helpers of one dtype; a `width` of 1 stands for a scalar."""
    single = width == 1
    kind, type_ = (dtype, scalar(dtype)) if single else (f"{dtype}x{width}",) * 2
    negative = f"({type_})(0u - x)" if single else "-x"  # overflow of a scalar would be undefined
    signed = dtype.startswith("i")
    texts = {
        f"max_{kind}": (("a", "b"), _select_body(type_, ">", single)),
        f"min_{kind}": (("a", "b"), _select_body(type_, "<", single)),
        f"relu_{kind}": (("x",), f"return max_{kind}(x, ({type_}){{0}});"),
        f"abs_{kind}": (("x",), f"return max_{kind}(x, {negative});" if signed else "return x;"),
    }
    helpers = {} if single else vector_types(dtype, width)
    for name, (arguments, body) in texts.items():
        parameters = ", ".join(f"{type_} {argument}" for argument in arguments)
        helpers[name] = f"static inline {type_} {name}({parameters}) {{ {body} }}"
    return helpers


def _select_body(type_: str, sign: str, single: bool) -> str:
    """C that returns a if the comparison holds, else b. The masks compile to one instruction."""
    if single:
        return f"return a {sign} b ? a : b;"
    return f"{type_} first = ({type_})(a {sign} b); return (a & first) | (b & ~first);"
