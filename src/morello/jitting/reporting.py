"""Reports of functions: the parts that kernels compute, and those left to NumPy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from morello.base.errors import CallError
from morello.jitting.functions import VARIANTS, Jitted
from morello.models.reporting import ProgramReport


@dataclass(frozen=True)
class Report:
    """The programs made of a function: one for each set of argument types."""

    name: str
    programs: tuple[ProgramReport, ...]

    def __str__(self) -> str:
        if not self.programs:
            return f"{self.name} was not called yet."
        lines = [str(program) for program in self.programs]
        if len(self.programs) >= VARIANTS:
            lines.append(f"NumPy computes {self.name} for all other arguments.")
        return "\n".join(lines)

    def html(self) -> str:
        """The page of the program for the first types of arguments that have kernels.

        Each of the `programs` has a page, with measured times if it was measured (see
        `ProgramReport.html`). Raises `CallError` if none has kernels.
        """
        if not self.programs:
            raise CallError(f"{self.name} was not called yet.")
        return max(self.programs, key=lambda program: bool(program.kernels)).html()


def report(function: Callable[..., Any]) -> Report:
    """The programs made of a function that `jit` returned; print it.

    Raises `CallError` for any other.
    """
    if not isinstance(function, Jitted):
        other = "morello.jax.report and morello.torch.report tell of programs of these"
        raise CallError(f"{function!r} was not made by morello.jit", other)
    variants = function.variants.values()
    return Report(function.title, tuple(variant.report(function.title) for variant in variants))
