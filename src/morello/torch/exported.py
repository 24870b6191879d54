"""Exported programs of torch, compiled ahead, whose weights are constants for good."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Unpack

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind
from torch.utils._pytree import tree_flatten, tree_unflatten

from morello.base.errors import CallError, GraphError, VerificationError
from morello.base.wording import counted
from morello.importers.aten import changed_inputs
from morello.importers.aten_calls import type_of
from morello.models.reporting import ProgramReport
from morello.options import GraphOptions, check_known
from morello.torch.checking import Expected
from morello.torch.program import TorchProgram, program_of
from morello.torch.tracing import traced


def exported(program: ExportedProgram, **options: Unpack[GraphOptions]) -> ExportedModel:
    """An exported program as a function for arguments of the shapes that it was exported with.

        fast = morello.torch.exported(torch.export.export(model.eval(), (x,)))
        y = fast(x)

    Its weights are constants, which must not change afterwards: nothing is compared before a call.
    What no kernel computes is left to torch. The results for the arguments that it was exported
    with are compared with those of torch. Options are those of `compile`, and `fuse_seconds` and
    `winograd` (see `compile_graph`).

    Raises `GraphError` for programs that change tensors, or are not on the CPU, and
    `VerificationError` for results that are wrong.
    """
    check_known(options, GraphOptions.__annotations__)
    if not isinstance(program, ExportedProgram):
        raise CallError(f"{program!r} is no exported program; torch.export.export makes them.")
    if program.example_inputs is None:
        raise GraphError("the program was saved without the arguments that it was exported with")
    if any(s.kind is not OutputKind.USER_OUTPUT for s in program.graph_signature.output_specs):
        raise _changes()
    given = tree_flatten(program.example_inputs)[0]
    rest, specs = iter(given), program.graph_signature.input_specs
    own = [spec.kind is not InputKind.USER_INPUT for spec in specs]
    arguments = [
        _weight(program, spec.target) if mine else next(rest)
        for spec, mine in zip(specs, own, strict=True)
    ]
    tensors = [(a, mine) for a, mine in zip(arguments, own, strict=True) if torch.is_tensor(a)]
    for tensor, _ in tensors:
        type_of(tensor)
    with torch.no_grad(), torch.autocast("cpu", enabled=False):
        trace = traced(program.graph_module, arguments)
        if changed_inputs(trace):
            raise _changes()
        places = trace.graph.find_nodes(op="placeholder")
        both = zip(places, tensors, strict=True)
        weights = {place.name: tensor for place, (tensor, mine) in both if mine}
        compiled = program_of(trace, weights, options)
        expected = Expected(program.graph_module, arguments, ())
        results = compiled([each for each in given if torch.is_tensor(each)])
        why = expected.mistake(compiled, results, arguments)
    if why:
        raise VerificationError(f"it does not compute what PyTorch does: {why}.")
    return ExportedModel(program, compiled, given)


class ExportedModel:
    """The function that `exported` makes; it takes and returns what the program does."""

    def __init__(
        self, program: ExportedProgram, compiled: TorchProgram, given: Sequence[Any]
    ) -> None:
        """`given` are the arguments, flat, that the program was exported with."""
        self._compiled = compiled
        self._inputs, self._outputs = program.call_spec.in_spec, program.call_spec.out_spec
        self._names = (*program.example_inputs[1],)
        self._types = [_type(each) for each in given]
        flat = tree_flatten(((*given,), {}))[1] == self._inputs
        self._count = len(given) if flat else -1
        """How many tensors it takes, if it takes nothing else."""
        self._single = bool(self._outputs.is_leaf())

    @cached_property
    def report(self) -> ProgramReport:
        """Which kernels there are, and what was left to torch, and why."""
        return self._compiled.report_later()()

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """The results; raises `CallError` for arguments of other types."""
        given: Sequence[Any] = arguments
        if named or len(arguments) != self._count:
            given = self._flat(arguments, named)
        if [_type(each) for each in given] != self._types:
            raise self._wrong(given)
        tensors = [each for each in given if isinstance(each, torch.Tensor)]
        if torch.is_grad_enabled() and any(each.requires_grad for each in tensors):
            raise CallError("it has no gradient; call it under torch.no_grad().")
        results = self._compiled(tensors)
        return results[0] if self._single else tree_unflatten(results, self._outputs)

    def _flat(self, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> list[Any]:
        """The arguments without their containers; those with names may come in any order."""
        if {*named} == {*self._names}:
            named = {name: named[name] for name in self._names}
        given: list[Any]
        given, form = tree_flatten((arguments, named))
        if form == self._inputs:
            return given
        if len(given) != len(self._types):
            takes = counted(len(self._types), "argument")
            raise CallError(f"it takes {takes}, not {len(given)}.")
        raise CallError(f"it takes arguments as {self._inputs}, not {form}.")

    def _wrong(self, given: Sequence[Any]) -> CallError:
        """The error for arguments of other types."""
        types = [_type(each) for each in given]
        number = next(n for n, each in enumerate(types) if each != self._types[n])
        return CallError(
            f"argument {number} is {_said(types[number])}; the program was exported for "
            f"{_said(self._types[number])}."
        )


def _type(argument: Any) -> tuple[Any, ...]:
    """The shape and dtype of a tensor, and whether kernels may read it; else type and value."""
    if isinstance(argument, torch.Tensor):
        readable = argument.is_cpu and argument.layout is torch.strided
        return argument.shape, argument.dtype, readable
    return type(argument), argument


def _said(kind: tuple[Any, ...]) -> str:
    if len(kind) == 2:
        return repr(kind[1])
    shape, dtype, readable = kind
    return f"{dtype}{[*shape]}{'' if readable else ' that is not dense on the CPU'}"


def _weight(program: ExportedProgram, name: str | None) -> Any:
    """A parameter, buffer or constant of a program; None if it has no such one."""
    return program.state_dict.get(name, program.constants.get(name))


def _changes() -> GraphError:
    return GraphError(
        "the program changes its parameters, buffers or inputs",
        "torch.compile(model, backend='morello') takes such models",
    )
