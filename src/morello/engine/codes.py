"""The operations of tapes, and how many rows they are run for together."""

from __future__ import annotations

from enum import IntEnum, auto

BLOCK = 32
"""The rows that are run together: `tape.c` has a bit for each in a word of 32."""


class Code(IntEnum):
    """The operations, by their names in a trace."""

    ADD = auto()
    SUBTRACT = auto()
    MULTIPLY = auto()
    FLOOR_DIVIDE = auto()
    REMAINDER = auto()
    MINIMUM = auto()
    MAXIMUM = auto()
    LEFT_SHIFT = auto()
    RIGHT_SHIFT = auto()
    EQUAL = auto()
    NOT_EQUAL = auto()
    LESS = auto()
    LESS_EQUAL = auto()
    BITWISE_AND = auto()
    BITWISE_OR = auto()
    BITWISE_XOR = auto()
    IS_ZERO = auto()
    INVERT = auto()
    WHERE = auto()
    LOOKUP_1 = auto()
    LOOKUP_2 = auto()
    LOOKUP_FLOAT = auto()
    ADD_FLOAT = auto()
    SUBTRACT_FLOAT = auto()
    MULTIPLY_FLOAT = auto()
    DIVIDE_FLOAT = auto()
    MINIMUM_FLOAT = auto()
    MAXIMUM_FLOAT = auto()
    EQUAL_FLOAT = auto()
    NOT_EQUAL_FLOAT = auto()
    LESS_FLOAT = auto()
    LESS_EQUAL_FLOAT = auto()
    TO_INT = auto()
    TO_FLOAT = auto()
    WHERE_FLOAT = auto()
    CONSTANT = auto()
    INPUT = auto()
