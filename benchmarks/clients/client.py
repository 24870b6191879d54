"""A client: a model that a framework runs, and how the same is compiled by Morello."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from morello.models.reporting import ProgramReport

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Fast:
    """A compiled model: calls without arguments, and what makes the reports of its programs."""

    call: Callable[[], Any]
    programs: Callable[[], tuple[ProgramReport, ...]]
    left: int
    """How many nodes the framework computes."""


@dataclass(frozen=True)
class Contest:
    """A model with its inputs: `theirs` runs it in its framework, `compile` compiles it.

    Compiling ends with the first result. `agreement` says how far two results are apart, and
    raises `AssertionError` if they differ by more than the client allows. `others` are further
    programs that run the model, by their names: each is made when it is called, and then is a call
    that returns what `theirs` does.
    """

    theirs: Callable[[], Any]
    compile: Callable[[], Fast]
    agreement: Callable[[Any, Any], str]
    others: Mapping[str, Callable[[], Callable[[], Any]]] = field(default_factory=dict)
    trace: Callable[[], Any] | None = None
    """The framework's part of compiling: its tracing, with a first result that it computes."""


@dataclass(frozen=True)
class Client:
    """A model that somebody runs, in a framework that is called `rival`.

    `bar` is how many times as fast as the fastest of all programs that run it Morello has to be.
    """

    name: str
    what: str
    rival: str
    packages: tuple[str, ...]
    """The names of the modules that must be installed."""
    contest: Callable[[int], Contest]
    """The contest on this many threads."""
    bar: float = 1.0


def same_values(theirs: Sequence[Array], ours: Sequence[Array], allowed: float) -> str:
    """The largest difference, relative to the largest element of each result."""
    error = max(differences(theirs, ours))
    assert error <= allowed, f"results differ by {error:.1e} of the largest element"
    return f"error {error:.0e}"


def differences(theirs: Sequence[Array], ours: Sequence[Array]) -> list[float]:
    """The largest difference of each result, relative to its largest element."""
    assert len(theirs) == len(ours), "the numbers of results differ"
    errors = []
    for expected, result in zip(theirs, ours, strict=True):
        assert expected.shape == result.shape, "the shapes differ"
        wide = expected.astype(np.float64)
        size = float(np.abs(wide).max(initial=0.0)) or 1.0
        errors.append(float(np.abs(result.astype(np.float64) - wide).max(initial=0.0)) / size)
    return errors


def same_directions(expected: Array, result: Array, least: float = 0.9999) -> str:
    """The least cosine between the vectors of two results, along the last dimension."""
    cosine = float(cosines(expected, result).min())
    assert cosine >= least, f"the cosine is {cosine:.6f}"
    return f"cosine 1 - {max(0.0, 1 - cosine):.0e}"


def cosines(expected: Array, result: Array) -> Array:
    """The cosines between the vectors of two results, along the last dimension."""
    a, b = expected.astype(np.float64), result.astype(np.float64)
    lengths = np.linalg.norm(a, axis=-1) * np.linalg.norm(b, axis=-1)
    return np.asarray((a * b).sum(axis=-1) / lengths)
