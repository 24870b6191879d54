"""Operations of StableHLO that are left to JAX, as functions of its arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import jax
from jax.extend.core import Primitive
from jax.interpreters import mlir
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import func

from morello.base.errors import GraphError
from morello.graph.graph import TensorType
from morello.importers.mlir import captured, type_of, within


@dataclass(frozen=True)
class StableCall:
    """An operation alone in a module, as bytecode, and the types of its results."""

    name: str
    module: bytes
    results: tuple[TensorType, ...]

    def __call__(self, *arrays: Any) -> list[Any]:
        """The results for the operands, then the values that its regions read from outside."""
        results: list[Any] = _operation.bind(*arrays, call=self)
        return results


def alone(operation: Any) -> StableCall:
    """An operation, with the functions that it calls, in a module of its own.

    Raises `GraphError` if it needs more of its module than that.
    """
    outside = [*operation.operands, *captured(operation)]
    with operation.context, ir.Location.unknown():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            for function in _called(operation):
                function.clone()
            types = [value.type for value in outside], [each.type for each in operation.results]
            main = func.FuncOp("main", types)
            with ir.InsertionPoint(main.add_entry_block()):
                copy = operation.clone()
                _replace(copy, dict(zip(outside, main.arguments, strict=True)))
                func.ReturnOp(copy.operation.results)
    try:
        module.operation.verify()
    except ir.MLIRError as error:
        raise GraphError(f"{operation.name} cannot stand alone: {error}") from None
    bytecode = BytesIO()
    module.operation.write_bytecode(bytecode)
    results = tuple(type_of(result) for result in operation.results)
    return StableCall(operation.name.rpartition(".")[2], bytecode.getvalue(), results)


def _replace(operation: Any, values: dict[Any, Any]) -> None:
    """Let an operation, and those within, read other values."""
    for each in (operation.operation, *within(operation.operation)):
        for number, operand in enumerate(each.operands):
            if operand in values:
                each.operands[number] = values[operand]


def _called(operation: Any) -> Iterator[Any]:
    """The functions of the module that an operation names, and those that these name."""
    module = operation
    while module.name != "builtin.module":
        module = module.parent.operation
    functions = {
        each.operation.attributes["sym_name"].value: each.operation
        for each in module.regions[0].blocks[0].operations
        if "sym_name" in each.operation.attributes
    }
    todo, seen = [operation], set()
    while todo:
        named = todo.pop()
        for each in (named, *within(named)):
            for name in _symbols(each):
                if name in functions and name not in seen:
                    seen.add(name)
                    todo.append(functions[name])
                    yield functions[name]


def _symbols(operation: Any) -> Iterator[str]:
    """The names of functions in the attributes of an operation."""
    attributes = operation.attributes
    todo = []
    for number in range(len(attributes)):
        with suppress(TypeError):  # the bindings give no complex numbers; `.attr` ends the process
            todo.append(attributes[attributes[number].name])
    while todo:
        attribute = todo.pop()
        if isinstance(attribute, ir.ArrayAttr):
            todo += list(attribute)
        elif isinstance(attribute, ir.FlatSymbolRefAttr):
            yield attribute.value


def _types(*_: Any, call: StableCall) -> Sequence[Any]:
    return [jax.core.ShapedArray(kind.shape, kind.dtype) for kind in call.results]


def _lowered(context: Any, *operands: Any, call: StableCall) -> Any:
    to = context.module_context
    module = ir.Module.parse(call.module)
    types = ir.SymbolTable(module.operation)["main"].type.results
    name = mlir.merge_mlir_modules(to.module, call.name, module, dst_symtab=to.symbol_table)
    return func.CallOp(types, ir.FlatSymbolRefAttr.get(name), operands).results


_operation = Primitive("stablehlo")
_operation.multiple_results = True
_operation.def_abstract_eval(_types)
mlir.register_lowering(_operation, _lowered)
