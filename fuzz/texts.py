"""Random and malformed texts for the parser.

A case is a Python expression: a string or bytes, or for repetitive texts, a sum of products of
them.
"""

from __future__ import annotations

import ast
import time
from collections.abc import Iterator
from random import Random

import morello
from fuzz.adversary import PASSED, REFUSED, Adversary, FaultError
from fuzz.grammar import Grammar
from fuzz.shrink import without_runs
from morello.base.errors import SpecError

SLOW_S = 1.0
LONGEST = 2000
"""The most characters of an error message."""

_MANY = """
    @ * / + - ( ) [ ] { } , ; = -> : . _ ' \" \\ # ! ? % & | ^ ~ < > f32 bf16 f16 u8 i8 u16 i16
    u32 i32 f64 i64 S T E x y w k 0 1 2 3 16 -1 1e9 1e400 1.5 .5 f32[3,4] f32[4] u8[4,4]
    f32[2,2]{0,1} f32[4,4]{0,1:T(4,1)} f32[4,4]{1,0:E(4)} f32[4,4]S(5,1) axis=0 axis=-1
    keepdims=True order=[1,0] stride=2 padding=1 dilation=2 groups=2 window=2 layout=NHWC
    matmul linear conv max_pool attention sum max mean softmax layer_norm rms_norm cast
    move transpose expand_dims broadcast one_prefix fill_zero exp relu maximum
    99999999999999999999 2147483647 2147483648 4294967296 0x10 1_000
    inf nan True None
"""
_WORDS = tuple(_MANY.split())
_CHARACTERS = (
    "\0\t\n\r\x0b\x1b \x7f\x85\u00a0\u0660\u0967\u00b2\u2028\u202e\ufeff\ud800\uffff"
    "\U0001f600\u017f\u212a\u00df\u0130\u221e\u00d7\u2212"
)


class Texts(Adversary):
    """Any text is parsed or refused, quickly and with a short message."""

    name = "text"
    what = "any text is read or refused with a short SpecError, within a second"
    patience_s = 30.0

    def case(self, random: Random) -> str:
        if random.random() < 0.02:
            return _long(random)
        return ascii(_text(random))

    def check(self, case: str) -> str:
        given = _value(ast.parse(case, mode="eval").body)
        began = time.perf_counter()
        try:
            morello.parse(given)
        except SpecError as error:
            message = str(error)
        else:
            message = ""
        seconds = time.perf_counter() - began
        if len(message) > LONGEST:
            raise FaultError("a long message", f"{len(message)} characters: {message[:200]}")
        if seconds > SLOW_S:
            raise FaultError("slow", f"{seconds:.1f} s for {len(given)} characters")
        return REFUSED if message else PASSED

    def smaller(self, case: str) -> Iterator[str]:
        tree = ast.parse(case, mode="eval").body
        if isinstance(tree, ast.Constant) and isinstance(tree.value, str):
            yield from (ascii("".join(kept)) for kept in without_runs(tree.value))
        if isinstance(tree, ast.Constant) and isinstance(tree.value, bytes):
            yield from (ascii(bytes(kept)) for kept in without_runs(tree.value))
        for node in ast.walk(tree):
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
                yield from (ascii_of(node.left), ascii_of(node.right))
            if isinstance(node, ast.Constant) and isinstance(node.value, int) and node.value > 1:
                before = node.value
                for less in (1, before // 4, before // 2):
                    node.value = less
                    yield ascii_of(tree)
                node.value = before


def ascii_of(tree: ast.expr) -> str:
    """An expression of a case as ASCII text."""
    match tree:
        case ast.BinOp(left=left, op=op, right=right):
            return f"{ascii_of(left)} {'*' if isinstance(op, ast.Mult) else '+'} {ascii_of(right)}"
        case ast.Constant(value=value):
            return ascii(value)
    raise SyntaxError(ast.unparse(tree))


def _value(tree: ast.expr) -> str:
    """The value of a case's expression."""
    match tree:
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _value(left) + _value(right)
        case ast.BinOp(left=left, op=ast.Mult(), right=ast.Constant(value=int() as count)):
            return _value(left) * count
        case ast.Constant(value=str() | bytes() as value):
            return value  # type: ignore[return-value]  # bytes are to be refused
    raise SyntaxError(ast.unparse(tree))


def _text(random: Random) -> str | bytes:
    how = random.random()
    if how < 0.55:
        return _mutated(random, Grammar(random).goal())
    if how < 0.85:
        return random.choice(("", " ")).join(random.choices(_WORDS, k=random.randrange(1, 25)))
    if how < 0.95:
        return "".join(random.choices(_CHARACTERS + "f32[4,]@()=;", k=random.randrange(1, 60)))
    data = random.randbytes(random.randrange(1, 60))
    return data if random.random() < 0.05 else data.decode("latin-1")


def _mutated(random: Random, text: str) -> str:
    for _ in range(random.choice((1, 1, 1, 2, 3, 8))):
        at = random.randrange(len(text) + 1)
        end = min(len(text), at + random.choice((0, 1, 1, 2, 10)))
        new = random.choice(
            ("", random.choice(_WORDS), random.choice(_CHARACTERS), text[at:end] * 2,
             str(random.choice((0, -1, 7, 2**31, 2**63, 10**30))))
        )  # fmt: skip
        text = text[:at] + new + text[end:]
    return text


def _long(random: Random) -> str:
    """A text that repeats one piece many times."""
    piece = random.choice(
        (*_WORDS, "(", "-", "f32[4] + ", "relu(", "x = f32[4]; ", "a", "9", " ", "[", "1,", "f32[")
    )
    many = f"{piece!a} * {random.choice((10, 60, 101, 1000, 20000))}"
    return random.choice(
        (many, f"{many} + ')' * 60", f"'f32[' + {many} + ']'", f"'f32[4,4]{{' + {many} + '}}'",
         f"'sum(' + {many}", f"'f32[2,2] + ' + {many}")
    )  # fmt: skip
