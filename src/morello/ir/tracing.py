"""Tracing functions of columns: what they compute is recorded, to be run again on other columns.

Conditions, costs and children of rewrites are NumPy code. NumPy takes as long to begin an
operation as to do it for hundreds of rows, and a search rewrites a few Specs at a time. So such
code is called once with `Traced` columns, which record the operations in a `Trace`, and these
are then run without NumPy (see `engine.tape`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from functools import cache, reduce
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from morello.base.errors import MorelloError

UNKNOWN = -(2**31)
"""An entry of a lookup that is not worked out yet, and what is looked up with an unknown index."""


class UntraceableError(MorelloError):
    """Code that a trace cannot record: what it does depends on the values in columns."""


class Lookup:
    """A table that columns of indices are looked up in, of one or two dimensions.

    It may be replaced by a larger one, and integers may be `UNKNOWN` until they are needed. Tables
    that are not the same for all goals have a `role`; a trace with those of one goal may be run
    with those that have the same roles for another.
    """

    __slots__ = ("array", "kind", "role", "values")

    def __init__(self, table: npt.ArrayLike = (), role: Hashable = None) -> None:
        self.role = role
        self.set(table)

    def set(self, table: npt.ArrayLike) -> None:
        """Replace the table."""
        self.array: npt.NDArray[Any] = np.asarray(table)
        dtype = np.float64 if self.array.dtype.kind == "f" else np.int32
        self.values: npt.NDArray[Any] = np.ascontiguousarray(self.array, dtype)
        """The table as integers of 32 bits, or as floats."""
        self.kind = str(self.array.dtype.kind)
        """The type of its entries: Boolean ("b"), integer ("i"), or floating-point ("f")."""

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, np.ndarray):  # nearly always
            return self.array[index]
        indices = index if isinstance(index, tuple) else (index,)
        for column in indices:
            if isinstance(column, Traced):
                return column.trace.lookup(self, indices)
        return self.array[index]


Recording = tuple[str, int, int, int, int]
"""An operation: its name, the numbers of up to three operands, and that of a table.

A constant has its place among the constants in place of an operand, and an input its own.
"""


class Trace:
    """Operations on columns, numbered in order. Equal operations are recorded once.

    Tables are numbered as in `lookups`, and `constants` has the values of constants.
    """

    def __init__(self) -> None:
        self.lookups: list[Lookup] = []
        self.constants: list[float] = []
        self._operations: dict[Recording, int] = {}
        self._inputs = 0
        self._constants: dict[tuple[type, float], int] = {}
        self._tables: dict[Lookup, int] = {}
        self._known: dict[tuple[Lookup, int], Any] = {}
        self._looked_up: dict[int, tuple[Lookup, Any]] = {}

    @property
    def operations(self) -> Collection[Recording]:
        """All operations, in the order of their numbers."""
        return self._operations.keys()

    def input(self) -> Traced:
        """A column of integers that is given when the trace is run."""
        self._inputs += 1
        return self._recorded("i", ("input", self._inputs - 1, 0, 0, 0))

    def number(self, value: Any) -> int:
        """The number of the operation that has this value: a column, or a constant."""
        value = _operand(value)
        if type(value) is Traced:
            return value.number
        key = type(value), value
        number = self._constants.get(key)
        if number is None:
            place = len(self.constants)
            self.constants.append(value)
            number = self._recorded("i", ("constant", place, 0, 0, 0)).number
            self._constants[key] = number
        return number

    def constant(self, value: Any) -> Traced:
        """A column that has the same integer in all rows."""
        return Traced(self, self.number(value), "i")

    def apply(
        self, name: str, kind: str, x: Any, y: Any = None, z: Any = None, table: int = 0
    ) -> Traced:
        """The column of an operation on up to three others or numbers.

        Its elements are Boolean ("b"), integer ("i"), or floating-point ("f").
        """
        first = x.number if type(x) is Traced else self.number(x)
        second = y.number if type(y) is Traced else 0 if y is None else self.number(y)
        third = z.number if type(z) is Traced else 0 if z is None else self.number(z)
        return self._recorded(kind, (name, first, second, third, table))

    def assume(self, table: Lookup, index: Traced, entry: Any) -> None:
        """Take what is looked up in a table at an index for known: a column of one row or any."""
        self._known[table, index.number] = entry

    def lookup(self, table: Lookup, indices: Sequence[Any]) -> Any:
        """The entries of a table at these indices."""
        index = indices[0]
        if len(indices) == 1 and isinstance(index, Traced) and (table, index.number) in self._known:
            return self._known[table, index.number]
        number = self._tables.get(table)
        if number is None:
            number = self._tables[table] = len(self.lookups)
            self.lookups.append(table)
        first, second = (*indices, None)[:2]
        name = f"lookup_{len(indices)}"
        if second is None:
            name = {"f": "lookup_float", "b": "lookup_bool"}.get(table.kind, name)
        result = self.apply(name, table.kind, first, second, table=number)
        if second is None:
            self._looked_up[result.number] = table, index
        return result

    def looked_up(self, column: Traced) -> tuple[Lookup, Any]:
        """The table and the index, if a column is looked up in a table; else an empty table."""
        return self._looked_up.get(column.number, _NOWHERE)

    def depending(self, column: Traced) -> list[tuple[int, Recording]]:
        """The operations that need a column, directly or not, by their numbers."""
        numbers, result = {column.number}, []
        later = islice(self._operations, column.number + 1, None)
        for number, operation in enumerate(later, column.number + 1):
            if operation[0] not in _NULLARY and not numbers.isdisjoint(operation[1:4]):
                numbers.add(number)
                result.append((number, operation))
        return result

    def replaced(
        self, column: Traced, other: Any, depending: Sequence[tuple[int, Recording]]
    ) -> dict[int, int]:
        """Record operations that need a column again, with another in its place.

        Gives the new number of each, and of the column.
        """
        operations, numbers = self._operations, {column.number: self.number(other)}
        new = numbers.get
        for number, (name, x, y, z, table) in depending:
            operation = name, new(x, x), new(y, y), new(z, z), table
            numbers[number] = operations.setdefault(operation, len(operations))
        return numbers

    def _recorded(self, kind: str, operation: Recording) -> Traced:
        operations = self._operations
        return Traced(self, operations.setdefault(operation, len(operations)), kind)


_NOWHERE: tuple[Lookup, Any] = Lookup(), None

_NULLARY = {"constant", "input"}
"""The operations whose operands are not numbers of others."""


@cache
def _dtype_kind(dtype: Any) -> str:
    kind: str = np.dtype(dtype).kind.replace("u", "i")
    return kind


class Chosen:
    """The rows of a traced column that hold. A column at these is itself: others do not matter."""

    def __init__(self, holds: Any) -> None:
        self.holds = holds

    def __len__(self) -> int:
        return 1

    def __array__(self, dtype: Any = None, copy: Any = None) -> npt.NDArray[Any]:
        return np.zeros(1, np.int64)  # as constants are arrays of one row


def _operators(ufunc: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The methods of an operator, for a column on the left and on the right of it."""
    return (
        lambda left, right: _UFUNCS[ufunc](ufunc, left, _operand(right)),
        lambda right, left: _UFUNCS[ufunc](ufunc, _operand(left), right),
    )


class Traced:
    """A column of a trace. NumPy's functions and operators give others."""

    __slots__ = ("kind", "number", "trace")

    def __init__(self, trace: Trace, number: int, kind: str) -> None:
        self.trace, self.number, self.kind = trace, number, kind

    def __len__(self) -> int:
        return 1  # as constants are arrays of one row

    def __bool__(self) -> bool:
        raise UntraceableError("a decision depends on a column.")

    def __getitem__(self, rows: Any) -> Traced:
        if not isinstance(rows, Chosen):
            raise UntraceableError("rows are chosen that a trace does not know.")
        return self

    def tolist(self) -> list[Any]:
        raise UntraceableError("a decision depends on the values of a column.")

    def nonzero(self) -> tuple[Chosen]:
        return (Chosen(self),)

    def astype(self, dtype: Any) -> Traced:
        """The column as another dtype; integers are not wrapped, so they must fit."""
        kind = _dtype_kind(dtype)
        if kind == self.kind:
            return self
        if kind == "b":
            return self.trace.apply("not_equal", "b", self, 0)
        if kind == "f" or self.kind == "f":
            return self.trace.apply("to_float" if kind == "f" else "to_int", kind, self)
        return Traced(self.trace, self.number, kind)

    # ---- NumPy's functions

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **keywords: Any) -> Any:
        if method != "__call__" or ufunc.__name__ not in _UFUNCS:
            raise UntraceableError(f"{ufunc.__name__}.{method} cannot be traced.")
        return _UFUNCS[ufunc.__name__](ufunc.__name__, *map(_operand, inputs))

    def __array_function__(self, function: Any, types: Any, args: Any, keywords: Any) -> Any:
        if function.__name__ not in _FUNCTIONS or keywords:
            raise UntraceableError(f"{function.__name__} cannot be traced.")
        return _FUNCTIONS[function.__name__](*args)

    __add__, __radd__ = _operators("add")
    __sub__, __rsub__ = _operators("subtract")
    __mul__, __rmul__ = _operators("multiply")
    __floordiv__, __rfloordiv__ = _operators("floor_divide")
    __mod__, __rmod__ = _operators("remainder")
    __truediv__, __rtruediv__ = _operators("divide")
    __lshift__, __rlshift__ = _operators("left_shift")
    __rshift__, __rrshift__ = _operators("right_shift")
    __and__, __rand__ = _operators("bitwise_and")
    __or__, __ror__ = _operators("bitwise_or")
    __xor__, __rxor__ = _operators("bitwise_xor")
    __lt__, __gt__ = _operators("less")  # x > y is y < x
    __le__, __ge__ = _operators("less_equal")

    def __eq__(self, other: object) -> Any:
        return _comparison("equal", self, _operand(other))

    def __ne__(self, other: object) -> Any:
        return _comparison("not_equal", self, _operand(other))

    def __invert__(self) -> Any:
        return _inverted("invert", self)

    def __neg__(self) -> Any:
        return _negative("negative", self)

    __hash__ = None  # type: ignore[assignment]  # as `==` gives a column


def _operand(value: Any) -> Any:
    """A column, or the number that a constant is: arrays of one row are constants, too."""
    if type(value) in _OPERANDS:
        return value
    column = np.asarray(value)
    if column.size != 1 or column.dtype.kind not in "biuf":
        raise UntraceableError(f"{value!r} is no constant.")
    return column.reshape(-1)[0].item()


_OPERANDS = {Traced, bool, int, float}
_KINDS = {bool: "b", int: "i", float: "f"}


def _kind(operand: Any) -> str:
    return operand.kind if type(operand) is Traced else _KINDS[type(operand)]


def _trace(left: Any, right: Any) -> Trace:
    """The trace of two operands, at least one of which is a column."""
    return left.trace if type(left) is Traced else right.trace


def _as_float(operand: Any) -> Any:
    return operand.astype(np.float64) if type(operand) is Traced else float(operand)


def _arithmetic(name: str, left: Any, right: Any) -> Any:
    first, second = _kind(left), _kind(right)
    if first == "f" or second == "f":
        trace = _trace(left, right)
        return trace.apply(f"{name}_float", "f", _as_float(left), _as_float(right))
    if first == second == "b":
        return _logical({"add": "bitwise_or", "multiply": "bitwise_and"}[name], left, right)
    if type(right) is not Traced:
        if right == _NEUTRAL.get(name):
            return left.astype(np.int64)
        if right == 0 and name == "multiply":
            return np.zeros(1, np.int64)
    elif type(left) is not Traced and name in ("add", "multiply"):
        return _arithmetic(name, right, left)
    return _trace(left, right).apply(name, "i", left, right)


_NEUTRAL = {"add": 0, "subtract": 0, "multiply": 1, "floor_divide": 1, "left_shift": 0}
"""The right identity element of operations on integers."""


def _division(name: str, left: Any, right: Any) -> Any:
    trace = _trace(left, right)
    return trace.apply("divide_float", "f", _as_float(left), _as_float(right))


def _comparison(name: str, left: Any, right: Any) -> Any:
    if name in _MIRRORED:
        name, left, right = _MIRRORED[name], right, left
    if _kind(left) == "f" or _kind(right) == "f":
        trace = _trace(left, right)
        return trace.apply(f"{name}_float", "b", _as_float(left), _as_float(right))
    return _trace(left, right).apply(name, "b", left, right)


_MIRRORED = {"greater": "less", "greater_equal": "less_equal"}


def _logical(name: str, left: Any, right: Any) -> Any:
    if type(left) is not Traced:
        left, right = right, left
    kind = "b" if _kind(left) == _kind(right) == "b" else "i"
    if kind == "b" and type(right) is not Traced and name != "bitwise_xor":
        return np.full(1, right) if right is (name == "bitwise_or") else left
    return left.trace.apply(name, kind, left, right)


def _inverted(name: str, operand: Traced) -> Any:
    name, kind = ("is_zero", "b") if operand.kind == "b" else ("invert", "i")
    return operand.trace.apply(name, kind, operand)


def _negative(name: str, operand: Traced) -> Any:
    return _arithmetic("subtract", 0.0 if operand.kind == "f" else 0, operand)


_UFUNCS: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(
        ("add", "subtract", "multiply", "floor_divide", "remainder", "minimum", "maximum",
         "left_shift", "right_shift"),
        _arithmetic,
    ),
    **dict.fromkeys(
        ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"), _comparison
    ),
    **dict.fromkeys(("bitwise_and", "bitwise_or", "bitwise_xor"), _logical),
    "divide": _division,
    "invert": _inverted,
    "negative": _negative,
}  # fmt: skip


def _where(condition: Any, holds: Any, fails: Any) -> Any:
    condition = _operand(condition)
    if type(condition) is not Traced:
        return holds if condition else fails
    holds, fails = _operand(holds), _operand(fails)
    kinds = {_kind(holds), _kind(fails)}
    if "f" in kinds:
        holds, fails = _as_float(holds), _as_float(fails)
        return condition.trace.apply("where_float", "f", condition, holds, fails)
    return condition.trace.apply("where", "b" if kinds == {"b"} else "i", condition, holds, fails)


def _choose(which: Any, columns: Sequence[Any]) -> Any:
    which = _operand(which)
    if type(which) is not Traced:
        return columns[which]
    result = columns[-1]
    for number in range(len(columns) - 2, -1, -1):
        result = _where(which == number, columns[number], result)
    return result


def _is_in(column: Traced, values: Sequence[int]) -> Any:
    return reduce(np.bitwise_or, [column == value for value in values])


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "where": _where,
    "choose": _choose,
    "isin": _is_in,
    "flatnonzero": Chosen,
}
