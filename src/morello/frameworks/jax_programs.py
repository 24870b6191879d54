"""Functions of JAX as programs of kernels and of what is left to JAX.

A program is one operation of JAX until it is lowered: only then are kernels searched for, as under
derivatives none is needed.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import jax
from jax.extend.core import Primitive, jaxpr_as_fun, subjaxprs
from jax.interpreters import ad, batching, mlir

from morello.base.errors import GraphError, MorelloError
from morello.frameworks.jax_models import JaxModel, model_of
from morello.graph.frameworks import JAX
from morello.graph.graph import Graph
from morello.importers.stablehlo import from_module
from morello.models.reporting import ProgramReport
from morello.options import GraphOptions

Function = Callable[..., list[Any]]

_OTHERWISE_AGAIN = frozenset({"pure_callback", "rng_uniform"})
"""The operations of JAX without effects that may compute something else when they are repeated."""

_by_jax: ContextVar[bool] = ContextVar("by JAX", default=False)
"""Whether what is lowered is to be computed by JAX alone."""


@dataclass(frozen=True, eq=False)
class JaxProgram:
    """A traced function, the options that its kernels are compiled with, and where it reports.

    Kernels are made of `alike`: the same function, traced for arrays that do not vary along axes of
    a mesh. JAX may write to the arguments whose numbers are `donated`.
    """

    traced: Any
    alike: Any
    options: GraphOptions
    reports: list[ProgramReport]
    donated: frozenset[int] = frozenset()

    @functools.cached_property
    def plain(self) -> Function:
        """The function as JAX computes it."""
        function: Function = jaxpr_as_fun(self.traced)
        return function

    @property
    def graph(self) -> Graph:
        """The graph of the function; raises `GraphError` if there is none."""
        types = [*map(alike_kind, self.alike.in_avals)]
        try:
            lowered = jax.jit(jaxpr_as_fun(self.alike), keep_unused=True).lower(*types)
        except Exception as error:  # of whatever kind: JAX traced it, and does not lower it alone
            raise GraphError(f"JAX does not lower it alone: {error}") from error
        graph = from_module(lowered.compiler_ir("stablehlo"), self.donated)
        if len(graph.inputs) != len(types):
            raise GraphError(f"JAX made it a function of {len(graph.inputs)} arrays.")
        return graph

    @functools.cached_property
    def model(self) -> JaxModel | None:
        """The kernels, and what is left to JAX; None, with a note, if JAX computes all of it."""
        arguments = _types_of(self.alike)
        try:
            model = model_of(self.graph, self.options)
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

    @property
    def kernels(self) -> JaxModel | None:
        """The kernels of what is being lowered; None if JAX is to compute all of it."""
        return None if _by_jax.get() else self.model

    def evaluated(self, *arrays: Any) -> list[Any]:
        """The results in operations of JAX: calls of segments, and what is left."""
        return (self.kernels or self.plain)(*arrays)

    def by_jax(self, *arrays: Any) -> Function:
        """The function as JAX alone compiles it for such arrays, with the programs within it."""
        token = _by_jax.set(True)
        try:
            compiled: Function = jax.jit(jaxpr_as_fun(self.traced)).lower(*arrays).compile()
        finally:
            _by_jax.reset(token)
        return compiled

    @property
    def is_repeatable(self) -> bool:
        """Whether a call may be made twice, and its results are the same."""
        names = {e.primitive.name for each in self.every for e in _equations(each.traced.jaxpr)}
        return not self.donated and names.isdisjoint(_OTHERWISE_AGAIN)

    @property
    def every(self) -> Iterator[JaxProgram]:
        """The program, and those within it, which are functions of `morello.jax.jit`, too."""
        yield self
        for equation in _equations(self.traced.jaxpr):
            if equation.primitive is _program:
                yield from equation.params["program"].every

    @property
    def graphs(self) -> list[Graph]:
        """The graphs that kernels compute, wholly or in part, as far as they were lowered."""
        models = (vars(program).get("model") for program in self.every)
        return [compiled.graph for model in models if model for compiled in model.every]

    def leave(self) -> None:
        """Let JAX compute it, and programs within, wherever it is lowered from now on."""
        for program in self.every:
            vars(program)["model"] = None


def program_of(
    stage: Any, again: Callable[[], Any], options: GraphOptions, reports: list[ProgramReport]
) -> JaxProgram | None:
    """The program of what JAX has traced; None, with a note, if only JAX can compute it.

    JAX traces it `again` if arrays vary along axes of a mesh, for some that do not.
    """
    traced, obstacle = stage.jaxpr, _obstacle(stage)
    alike = traced
    if not obstacle and any(map(_varies, traced.in_avals)):
        try:
            alike = again().jaxpr
        except Exception as error:  # of whatever kind
            obstacle = f"JAX does not trace it for arrays that do not vary: {error}"
    if obstacle:
        reports.append(ProgramReport(JAX.name, _types_of(traced), note=obstacle))
        return None
    arguments = enumerate(jax.tree.leaves(stage.args_info))
    donated = frozenset(number for number, argument in arguments if argument.donated)
    return JaxProgram(traced, alike, options, reports, donated)


def _varies(kind: Any) -> bool:
    """Whether arrays of a type vary along axes of a mesh, as in programs for several devices."""
    kind = getattr(kind, "manual_axis_type", kind)  # since JAX 0.10
    return bool(getattr(kind, "varying", getattr(kind, "vma", ())))


def alike_kind(kind: Any) -> Any:
    """The type, without axes of a mesh, of an array or a type; anything else as it is."""
    if isinstance(kind, jax.Array | jax.core.ShapedArray):
        return jax.ShapeDtypeStruct(kind.shape, kind.dtype, weak_type=kind.weak_type)
    return kind


def _types_of(traced: Any) -> tuple[str, ...]:
    """The types of the arguments of a traced function, as texts."""
    return tuple(str(kind) for kind in traced.in_avals)


def _obstacle(stage: Any) -> str:
    """Why no program can be made of a function; "" if nothing is known against it."""
    traced = stage.jaxpr
    if jax.default_backend() != "cpu":
        return f"the programs are for {jax.default_backend()}, the kernels for CPUs."
    for kind in (*traced.in_avals, *traced.out_avals):
        if jax.dtypes.issubdtype(kind.dtype, jax.dtypes.extended):
            return f"no graph holds {kind}."
    outside = any(isinstance(constant, jax.core.Tracer) for constant in traced.consts)
    if outside or len(traced.in_avals) > len(jax.tree.leaves(stage.args_info)):
        return "it reads arrays of the function around it; pass them as arguments."
    if traced.effects:
        return "it has side effects, as printing, or communicates, as lax.psum does."
    if _spans_devices(traced.jaxpr):
        return "it runs on several devices; put jax.shard_map around functions of morello.jax.jit."
    return ""


def _spans_devices(jaxpr: Any) -> bool:
    """Whether a part of what JAX has traced is for several devices."""
    for equation in _equations(jaxpr):
        mesh, sharding = (equation.params.get(name) for name in ("mesh", "sharding"))
        is_within = getattr(getattr(sharding, "mesh", None), "are_all_axes_manual", False)
        spread = getattr(sharding, "num_devices", 1) > 1 and not is_within
        if getattr(mesh, "size", 1) > 1 or spread:
            return True
    return False


def _equations(jaxpr: Any) -> Iterator[Any]:
    """The operations of what JAX has traced, and of all parts of it."""
    yield from jaxpr.eqns
    for part in subjaxprs(jaxpr):
        yield from _equations(part)


def _evaluate(*arrays: Any, program: JaxProgram) -> list[Any]:
    return program.evaluated(*arrays)


def _types(*_: Any, program: JaxProgram) -> list[Any]:
    return list(program.traced.out_avals)


def _lowered(context: Any, *arrays: Any, program: JaxProgram) -> Any:
    """The results in operations of XLA: for a program with kernels, of arrays that do not vary."""
    if program.kernels:

        def alike(kinds: Any) -> list[Any]:
            return [jax.core.ShapedArray(k.shape, k.dtype, k.weak_type) for k in kinds]

        given, returned = alike(context.avals_in), alike(context.avals_out)
        context = context.replace(avals_in=given, avals_out=returned)
    return mlir.lower_fun(_evaluate, multiple_results=True)(context, *arrays, program=program)


def _batched(
    arrays: Sequence[Any], axes: Sequence[int | None], *, program: JaxProgram
) -> tuple[list[Any], list[int]]:
    """A batch is a program of its own, compiled as a whole."""

    def together(traced: Any, given: Sequence[Any]) -> Any:
        batched = jax.jit(jax.vmap(jaxpr_as_fun(traced), tuple(axes)))
        return batched.trace(*given).jaxpr

    traced = together(program.traced, arrays)
    is_same = program.alike is program.traced
    alike = traced if is_same else together(program.alike, [*map(alike_kind, arrays)])
    results = JaxProgram(traced, alike, program.options, program.reports)(*arrays)
    return results, [0] * len(results)


def _transposed(cotangents: Sequence[Any], *arrays: Any, program: JaxProgram) -> list[Any]:
    """The cotangents of the arrays that the function is linear in, which are not known."""
    linear = [number for number, array in enumerate(arrays) if ad.is_undefined_primal(array)]

    def of_linear(*given: Any) -> list[Any]:
        every = dict(enumerate(arrays)) | dict(zip(linear, given, strict=True))
        return program.plain(*every.values())

    back = jax.linear_transpose(of_linear, *(arrays[number].aval for number in linear))
    results = dict(zip(linear, back([*map(ad.instantiate_zeros, cotangents)]), strict=True))
    return [results.get(number) for number in range(len(arrays))]


_program = Primitive("morello")
_program.multiple_results = True
_program.def_impl(_evaluate)
_program.def_abstract_eval(_types)
mlir.register_lowering(_program, _lowered)
batching.primitive_batchers[_program] = _batched
ad.primitive_transposes[_program] = _transposed
