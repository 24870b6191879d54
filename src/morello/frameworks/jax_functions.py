"""Functions of JAX that are traced, compiled and called as those of `jax.jit` are."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from types import MethodType
from typing import Any

import jax

from morello.base.errors import FallbackWarning
from morello.frameworks.jax_checking import mistake
from morello.frameworks.jax_programs import alike_kind, program_of
from morello.frameworks.jax_weights import PackedCalls, TracedCall, traced_call
from morello.graph.frameworks import JAX
from morello.models.reporting import ProgramReport
from morello.options import GraphOptions

_SHARDINGS = ("in_shardings", "out_shardings")

_OF_ARGUMENTS = ("static_argnums", "static_argnames", "donate_argnums", "donate_argnames")


class JaxOptions(GraphOptions, total=False):
    """The options of functions: those of `jax.jit`, by these names, and those of our programs."""

    static_argnums: int | Sequence[int] | None
    static_argnames: str | Iterable[str] | None
    donate_argnums: int | Sequence[int] | None
    donate_argnames: str | Iterable[str] | None
    keep_unused: bool
    inline: bool
    in_shardings: Any
    out_shardings: Any
    compiler_options: dict[str, Any] | None
    verify: bool


class JaxFunction:
    """A function with kernels for what they compute faster (see `morello.jax.jit`).

    It has the methods of functions of `jax.jit`. They are those of a class, as wrappers of
    functions, such as JAX's vmap, take on the attributes of what they wrap.
    """

    __name__: str
    __wrapped__: Callable[..., Any]

    def __init__(
        self,
        function: Callable[..., Any],
        options: GraphOptions,
        of_jax: Mapping[str, Any],
        *,
        verify: bool,
    ) -> None:
        """The options of JAX are `of_jax`."""
        functools.update_wrapper(self, function)
        self._by_jax = functools.partial(jax.jit, function, **of_jax)
        calls: list[TracedCall] = []
        self._unverified: list[TracedCall] = []
        """The traced calls that are to be compared with JAX's when they are made."""
        self.reports: list[ProgramReport] = []
        weights, is_sharded = options.get("weights"), any(name in of_jax for name in _SHARDINGS)
        verify = verify and not is_sharded

        def record(call: TracedCall) -> None:
            calls.append(call)
            if verify and call.program.is_repeatable:
                self._unverified.append(call)

        self._compiled = _compiled(function, options, of_jax, self.reports, record)
        self._packed: PackedCalls | None = None
        if not (weights == "plain" or is_sharded):
            at_once = weights is not None
            self._packed = PackedCalls(self._compiled, calls, at_once=at_once, verify=verify)

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        if jax.config.jax_disable_jit:
            return self._compiled(*args, **keywords)
        results = (self._packed or self._compiled)(*args, **keywords)
        if self._unverified and not self._verified(args, keywords, results):
            return self._compiled(*args, **keywords)
        return results

    def _verified(self, args: Any, keywords: Any, results: Any) -> bool:
        """Whether the first call of a program does what JAX does; else, the function is JAX's."""
        leaves, form = jax.tree.flatten((args, keywords))
        given = jax.tree.leaves(results)
        calls = (
            call for call in reversed(self._unverified) if call.takes(form, leaves, call.kinds)
        )
        call = next((call for call in calls if call.returns(given)), None)
        if call is None:
            return True
        with suppress(ValueError):  # another thread makes the same call
            self._unverified.remove(call)
        arrays = [leaves[number] for number in call.kinds]
        spread = any(len(each.devices()) > 1 for each in arrays if isinstance(each, jax.Array))
        graphs = call.program.graphs
        if not graphs or spread:
            return True
        try:
            why = mistake(graphs, call.program.by_jax(*arrays), arrays, given)
        except Exception:  # as of too little memory, which is no reason for a call to fail
            return True
        if why:
            call.program.leave()
            self._leave_to_jax(why)
        return not why

    def _leave_to_jax(self, why: str) -> None:
        """Let JAX compute the function from now on, and say so."""
        note = f"the kernels do not do what JAX does: {why}"
        self.clear_cache()
        self._compiled, self._packed = self._by_jax(), None
        self.reports[:] = [ProgramReport(JAX.name, (), note=note)]
        name = getattr(self, "__name__", repr(self.__wrapped__))
        warnings.warn(f"{name} is left to JAX, as {note}.", FallbackWarning, stacklevel=4)

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        """The method of an instance, if it is one of a class."""
        return self if instance is None else MethodType(self, instance)

    def __copy__(self) -> JaxFunction:
        return self

    def __deepcopy__(self, memo: object) -> JaxFunction:
        return self

    def lower(self, *args: Any, **keywords: Any) -> Any:
        return self._compiled.lower(*args, **keywords)

    def trace(self, *args: Any, **keywords: Any) -> Any:
        return self._compiled.trace(*args, **keywords)

    def eval_shape(self, *args: Any, **keywords: Any) -> Any:
        return self._compiled.eval_shape(*args, **keywords)

    def clear_cache(self) -> None:
        """Forget what was compiled, and free the weights that were packed."""
        self._compiled.clear_cache()
        self._unverified.clear()
        if self._packed is not None:
            self._packed.forget()


def _compiled(
    function: Callable[..., Any],
    options: GraphOptions,
    of_jax: Mapping[str, Any],
    reports: list[ProgramReport],
    record: Callable[[TracedCall], None],
) -> Any:
    """A function of `jax.jit` that adds to the reports, and records the call, when it is traced."""
    of_arguments = {name: of_jax[name] for name in _OF_ARGUMENTS if name in of_jax}

    @functools.wraps(function)
    def traced(*args: Any, **keywords: Any) -> Any:
        if jax.config.jax_disable_jit:
            return function(*args, **keywords)

        def trace(*args: Any, **keywords: Any) -> Any:
            @functools.wraps(function)
            def anew(*args: Any, **keywords: Any) -> Any:  # as JAX keeps what it has traced
                return function(*args, **keywords)

            return jax.jit(anew, **of_arguments).trace(*args, **keywords)

        def again() -> Any:
            alike, named = jax.tree.map(alike_kind, (args, keywords))
            return trace(*alike, **named)

        stage = trace(*args, **keywords)
        program = program_of(stage, again, options, reports)
        if program is None:
            return function(*args, **keywords)
        leaves, form = jax.tree.flatten((args, keywords))
        returned = jax.tree.structure(stage.out_info)
        record(traced_call(program, form, leaves, returned))
        given = [leaf for leaf in leaves if isinstance(leaf, jax.Array)]
        return jax.tree.unflatten(returned, program(*given))

    return jax.jit(traced, **of_jax)
