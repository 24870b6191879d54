"""Comparisons of integers, of one or of a register: `max`, `min`, `relu` and `abs`.

As in NumPy, the `abs` of the least number is itself.
"""

from __future__ import annotations

from morello.targets.helpers.vectors import scalar, vector_types

INTEGERS = ("u8", "i8", "u16", "i16", "u32", "i32")


def integer_helpers(dtype: str, width: int) -> dict[str, str]:
    """Those of one dtype; a `width` of 1 stands for one integer."""
    one = width == 1
    kind, type_ = (dtype, scalar(dtype)) if one else (f"{dtype}x{width}",) * 2
    negative = f"({type_})(0u - x)" if one else "-x"  # of one, an overflow would be undefined
    signed = dtype.startswith("i")
    texts = {
        f"max_{kind}": (("a", "b"), _picked(type_, ">", one)),
        f"min_{kind}": (("a", "b"), _picked(type_, "<", one)),
        f"relu_{kind}": (("x",), f"return max_{kind}(x, ({type_}){{0}});"),
        f"abs_{kind}": (("x",), f"return max_{kind}(x, {negative});" if signed else "return x;"),
    }
    made = {} if one else vector_types(dtype, width)
    for name, (arguments, body) in texts.items():
        parameters = ", ".join(f"{type_} {argument}" for argument in arguments)
        made[name] = f"static inline {type_} {name}({parameters}) {{ {body} }}"
    return made


def _picked(type_: str, sign: str, one: bool) -> str:
    """What the comparison holds of. Compilers make one instruction of the masks."""
    if one:
        return f"return a {sign} b ? a : b;"
    return f"{type_} first = ({type_})(a {sign} b); return (a & first) | (b & ~first);"
