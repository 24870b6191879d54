"""Functions of JAX as programs of kernels and of what is left to JAX.

A program is one operation of JAX until it is lowered: only then are kernels searched for, as under
derivatives none is needed.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
from jax.extend.core import Primitive, jaxpr_as_fun
from jax.interpreters import batching, mlir

from morello.base.errors import GraphError, MorelloError
from morello.frameworks.jax_models import JaxModel, model_of
from morello.graph.frameworks import JAX
from morello.graph.graph import Graph
from morello.importers.stablehlo import from_module
from morello.models.reporting import ProgramReport
from morello.options import GraphOptions

Function = Callable[..., list[Any]]


@dataclass(frozen=True, eq=False)
class JaxProgram:
    """A traced function, the options that its kernels are compiled with, and where it reports."""

    traced: Any
    options: GraphOptions
    reports: list[ProgramReport]

    @functools.cached_property
    def plain(self) -> Function:
        """The function as JAX computes it."""
        function: Function = jaxpr_as_fun(self.traced)
        return function

    @functools.cached_property
    def model(self) -> JaxModel | None:
        """The kernels, and what is left to JAX; None, with a note, if JAX computes all of it."""
        arguments = _types_of(self.traced)
        try:
            model = model_of(graph_of(self.traced), self.options)
            reports = model.reports(arguments)
        except GraphError as error:
            note = str(error)
        except MorelloError:  # of wrong options, or without a C compiler
            raise
        except Exception as error:  # a mistake of this package is no reason for a function to fail
            note = f"the compiler failed with {error!r}"
        else:
            self.reports.extend(reports)
            return model if model.has_kernels else None
        self.reports.append(ProgramReport(JAX.name, arguments, note=note))
        return None

    def __call__(self, *arrays: Any) -> list[Any]:
        """The results, as one operation of JAX, whose derivatives are those of the function."""

        run = jax.custom_jvp(functools.partial(_program.bind, program=self))
        run.defjvp(functools.partial(jax.jvp, self.plain))
        results: list[Any] = run(*arrays)
        return results

    def evaluated(self, *arrays: Any) -> list[Any]:
        """The results in operations of JAX: calls of segments, and what is left."""
        return (self.model or self.plain)(*arrays)


def traced_program(
    function: Function, arrays: Sequence[Any], options: GraphOptions, reports: list[ProgramReport]
) -> JaxProgram | None:
    """A function of arrays as a program; None, with a note, if only JAX can compute it."""
    traced = _traced(function, arrays)
    obstacle = _obstacle(traced)
    if obstacle:
        reports.append(ProgramReport(JAX.name, _types_of(traced), note=obstacle))
        return None
    return JaxProgram(traced, options, reports)


def _types_of(traced: Any) -> tuple[str, ...]:
    """The types of the arguments of a traced function, as texts."""
    return tuple(str(kind) for kind in traced.in_avals)


def graph_of(traced: Any) -> Graph:
    """The graph of a traced function; raises `GraphError` if there is none."""
    types = [jax.ShapeDtypeStruct(kind.shape, kind.dtype) for kind in traced.in_avals]
    try:
        lowered = jax.jit(jaxpr_as_fun(traced), keep_unused=True).lower(*types)
    except Exception as error:  # of whatever kind: JAX has traced it, and does not lower it alone
        raise GraphError(f"JAX does not lower it alone: {error}") from error
    graph = from_module(lowered.compiler_ir("stablehlo"))
    if len(graph.inputs) != len(types):
        raise GraphError(f"JAX made it a function of {len(graph.inputs)} arrays.")
    return graph


def _traced(function: Function, arrays: Sequence[Any]) -> Any:
    types = [
        jax.ShapeDtypeStruct(array.shape, array.dtype, weak_type=getattr(array, "weak_type", False))
        for array in arrays
    ]
    return jax.make_jaxpr(function)(*types)


def _obstacle(traced: Any) -> str:
    """Why no program can be made of a function; "" if nothing is known against it."""
    if jax.default_backend() != "cpu":
        return f"the programs are for {jax.default_backend()}, the kernels for CPUs."
    for kind in (*traced.in_avals, *traced.out_avals):
        if jax.dtypes.issubdtype(kind.dtype, jax.dtypes.extended):
            return f"no graph holds {kind}."
    if any(isinstance(constant, jax.core.Tracer) for constant in traced.consts):
        return "it reads arrays of the function around it; pass them as arguments."
    if traced.effects:
        return "it has side effects, as printing."
    return ""


def _evaluate(*arrays: Any, program: JaxProgram) -> list[Any]:
    return program.evaluated(*arrays)


def _types(*_: Any, program: JaxProgram) -> list[Any]:
    return list(program.traced.out_avals)


def _batched(
    arrays: Sequence[Any], axes: Sequence[int | None], *, program: JaxProgram
) -> tuple[list[Any], list[int]]:
    """A batch is a program of its own, compiled as a whole."""
    together = jax.vmap(program.plain, tuple(axes))
    whole = JaxProgram(_traced(together, arrays), program.options, program.reports)
    results = whole(*arrays)
    return results, [0] * len(results)


_program = Primitive("morello")
_program.multiple_results = True
_program.def_impl(_evaluate)
_program.def_abstract_eval(_types)
mlir.register_lowering(_program, mlir.lower_fun(_evaluate, multiple_results=True))
batching.primitive_batchers[_program] = _batched
