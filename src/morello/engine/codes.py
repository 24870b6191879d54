"""The operations of tapes, and how many rows they are run for together."""

from __future__ import annotations

from enum import IntEnum, auto

BLOCK = 64
"""The rows that are run together: tape.c has a bit for each in a word of 64."""


class Code(IntEnum):
    """The operations, by their names in a trace.

    Those from `EQUAL` on are conditions, which have a bit for each row. Operations named `BITS`
    take conditions: a `Tape` has them in place of others of its trace.
    """

    ADD = auto()
    SUBTRACT = auto()
    MULTIPLY = auto()
    FLOOR_DIVIDE = auto()
    REMAINDER = auto()
    MINIMUM = auto()
    MAXIMUM = auto()
    LEFT_SHIFT = auto()
    RIGHT_SHIFT = auto()
    BITWISE_AND = auto()
    BITWISE_OR = auto()
    BITWISE_XOR = auto()
    INVERT = auto()
    WHERE = auto()
    WHERE_BITS = auto()
    LOOKUP_1 = auto()
    LOOKUP_2 = auto()
    LOOKUP_FLOAT = auto()
    ADD_FLOAT = auto()
    SUBTRACT_FLOAT = auto()
    MULTIPLY_FLOAT = auto()
    DIVIDE_FLOAT = auto()
    MINIMUM_FLOAT = auto()
    MAXIMUM_FLOAT = auto()
    TO_INT = auto()
    TO_FLOAT = auto()
    WHERE_FLOAT = auto()
    WHERE_FLOAT_BITS = auto()
    CONSTANT = auto()
    INPUT = auto()
    EQUAL = auto()
    NOT_EQUAL = auto()
    LESS = auto()
    LESS_EQUAL = auto()
    IS_ZERO = auto()
    LOOKUP_BOOL = auto()
    EQUAL_FLOAT = auto()
    NOT_EQUAL_FLOAT = auto()
    LESS_FLOAT = auto()
    LESS_EQUAL_FLOAT = auto()
    BITWISE_AND_BITS = auto()
    BITWISE_OR_BITS = auto()
    BITWISE_XOR_BITS = auto()
    IS_ZERO_BITS = auto()
