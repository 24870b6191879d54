"""Arithmetic, comparisons and bits of integers, scalars or registers.

All wraps around, as in NumPy: the `abs` of the lowest number is itself. It is computed on unsigned
integers, as C does not define the overflow of signed ones, to which it converts narrow ones, too.
Neither does C define shifts by too many bits, and a division by 0 would end the program.
"""

from __future__ import annotations

from morello.ir.functions import BITWISE
from morello.targets.helpers.scans import place_runs
from morello.targets.helpers.vectors import scalar, size, vector_types

INTEGERS = ("u8", "i8", "u16", "i16", "u32", "i32")


def integer_helpers(dtype: str, width: int) -> dict[str, str]:
    """The helpers of one dtype; a `width` of 1 stands for a scalar."""
    single, element = width == 1, scalar(dtype)
    kind, type_ = (dtype, element) if single else (f"{dtype}x{width}",) * 2
    unsigned = f"u{dtype[1:]}"
    bits, factor = ("uint32_t", "uint32_t") if single else (f"{unsigned}x{width}", scalar(unsigned))
    two, signed = (f"{type_} a", f"{type_} b"), dtype.startswith("i")
    mask = "int" if single else f"i{dtype[1:]}x{width}"  # what a comparison gives
    texts = {
        f"max_{kind}": (two, _picked(type_, "a > b", single)),
        f"min_{kind}": (two, _picked(type_, "a < b", single)),
        f"relu_{kind}": ((f"{type_} x",), f"return max_{kind}(x, ({type_}){{0}});"),
        f"add_{kind}": (two, f"return ({type_})(({bits})a + ({bits})b);"),
        f"subtract_{kind}": (two, f"return ({type_})(({bits})a - ({bits})b);"),
        f"multiply_{kind}": (two, f"return ({type_})(({bits})a * ({bits})b);"),
        f"multiply_add_{kind}": (
            (f"{type_} c", f"{element} a", f"{type_} b"),
            f"return ({type_})(({bits})c + ({factor})a * ({bits})b);",
        ),
        f"neg_{kind}": ((f"{type_} x",), f"return ({type_})(-({bits})x);"),
        f"square_{kind}": ((f"{type_} x",), f"return multiply_{kind}(x, x);"),
        f"sign_{kind}": ((f"{type_} x",), f"return {_sign(kind, type_, signed)};"),
        f"truth_{kind}": ((f"{mask} holds",), f"return ({type_})(holds & 1);"),
        f"where_{kind}": (
            (f"{type_} condition", *two),
            _picked(type_, "condition != 0", single),
        ),
        f"abs_{kind}": (
            (f"{type_} x",),
            f"return max_{kind}(x, neg_{kind}(x));" if signed else "return x;",
        ),
        f"bitwise_not_{kind}": ((f"{type_} x",), f"return ({type_})~x;"),
        **{f"{n}_{kind}": (two, f"return ({type_})(a {c} b);") for n, c in BITWISE.items()},
    }
    count = 8 * size(dtype)
    if single:
        shifted = _of_scalars(type_, count, signed)
    else:
        shifted = _of_registers(type_, bits, count, signed)
    texts |= {f"{name}_{kind}": (two, body) for name, body in shifted.items()}
    if single:
        helpers = _runs(dtype, element, scalar(unsigned))
    else:
        helpers = vector_types(dtype, width)
        helpers |= vector_types(unsigned, width) | vector_types(f"i{dtype[1:]}", width)
    for name, (parameters, body) in texts.items():
        helpers[name] = f"static inline {type_} {name}({', '.join(parameters)}) {{ {body} }}"
    return helpers


def _of_scalars(type_: str, bits: int, signed: bool) -> dict[str, str]:
    """C for shifts and quotients of two numbers of so many bits."""
    within, other = f"(uint32_t)b < {bits}", f"a >> {bits - 1}" if signed else "0"
    quotient = f"b == 0 ? ({type_})-1 : ({type_})(a / b)"
    if signed:  # of the lowest number by -1, the division would end the program as well
        quotient = f"b == -1 ? ({type_})-(uint32_t)a : {quotient}"
    return {
        "left_shift": f"return {within} ? ({type_})((uint32_t)a << b) : 0;",
        "right_shift": f"return ({type_})({within} ? a >> b : {other});",
        "quotient": f"return {quotient};",
    }


def _of_registers(type_: str, unsigned: str, bits: int, signed: bool) -> dict[str, str]:
    """C for shifts and quotients of registers; a mask has all bits of an element, or none."""
    within = f"{unsigned} n = ({unsigned})b, within = ({unsigned})(n < {bits});"
    right = f"(a >> (n & {bits - 1})) & within"
    unsafe = "none"
    if signed:
        right = f"a >> ({type_})((n & within) | (~within & {bits - 1}))"
        lowest = f"(-{2 ** (bits - 1) - 1} - 1)"
        unsafe = f"none | ({type_})((a == {lowest}) & (b == -1))"
    return {
        "left_shift": f"{within} return ({type_})((({unsigned})a << (n & {bits - 1})) & within);",
        "right_shift": f"{within} return {right};",
        "quotient": f"{type_} none = ({type_})(b == 0), unsafe = {unsafe}; "
        "return (a / ((b & ~unsafe) | (unsafe & 1))) | none;",
    }


def _runs(dtype: str, element: str, unsigned: str) -> dict[str, str]:
    """The sum and the extrema of a run of numbers beside each other, and the places of extrema.

    They are loops that compilers turn into vectors, as integers may be added in any order.
    """
    head = f"static inline {element} {{}}_run_{dtype}(const {element} *x, long n, {element} start)"
    steps = {
        "sum": f"{unsigned} total = start; for (long i = 0; i < n; ++i) total += ({unsigned})x[i]; "
        f"return ({element})total;",
        "max": "for (long i = 0; i < n; ++i) start = x[i] > start ? x[i] : start; return start;",
        "min": "for (long i = 0; i < n; ++i) start = x[i] < start ? x[i] : start; return start;",
    }
    texts = {name: f"{head.format(name)} {{ {step} }}" for name, step in steps.items()}
    runs = {f"{name}_run": text for name, text in texts.items()} | place_runs(element, dtype)
    return {f"{name}_{dtype}": text.strip() for name, text in runs.items()}


def _sign(kind: str, type_: str, signed: bool) -> str:
    """C for x, but at most 1 and at least -1."""
    at_most = f"min_{kind}(x, ({type_}){{0}} + 1)"
    return f"max_{kind}({at_most}, ({type_}){{0}} - 1)" if signed else at_most


def _picked(type_: str, comparison: str, single: bool) -> str:
    """C that returns a if the comparison holds, else b. The masks compile to one instruction."""
    if single:
        return f"return {comparison} ? a : b;"
    return f"{type_} first = ({type_})({comparison}); return (a & first) | (b & ~first);"
