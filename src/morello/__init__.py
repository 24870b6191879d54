"""Morello: from a tensor-program Spec to the fastest CPU kernel, by exhaustive search.

    import morello, numpy as np
    matmul = morello.compile("f32[512,512] @ f32[512,512]")
    c = matmul(a, b)

Names are loaded when they are first used, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module

from morello.base.lazy import loader
from morello.base.version import __version__

TYPE_CHECKING = False  # as in typing, which takes most of the time of an import of this package
if TYPE_CHECKING:
    from typing import Any

    from morello import errors as errors
    from morello.api import alternatives as alternatives
    from morello.api import compile as compile
    from morello.api import compile_all as compile_all
    from morello.api import implement as implement
    from morello.api import matmul as matmul
    from morello.api import schedule as schedule
    from morello.base.errors import MorelloError as MorelloError
    from morello.base.errors import SearchWarning as SearchWarning
    from morello.frontends.quantizing import from_gguf as from_gguf
    from morello.frontends.quantizing import quantize as quantize
    from morello.frontends.text import parse as parse
    from morello.jitting import jit as jit
    from morello.jitting import report as report
    from morello.kernel import Kernel as Kernel
    from morello.measure import quality as quality
    from morello.memo import Table as Table
    from morello.program import TextProgram as TextProgram


_DEFINED_IN = {
    "Kernel": "morello.kernel",
    "MorelloError": "morello.base.errors",
    "SearchWarning": "morello.base.errors",
    "Table": "morello.memo",
    "TextProgram": "morello.program",
    "alternatives": "morello.api",
    "compile": "morello.api",
    "compile_all": "morello.api",
    "from_gguf": "morello.frontends.quantizing",
    "implement": "morello.api",
    "jit": "morello.jitting",
    "matmul": "morello.api",
    "parse": "morello.frontends.text",
    "quantize": "morello.frontends.quantizing",
    "report": "morello.jitting",
    "schedule": "morello.api",
}
_MODULES = {
    "errors": "morello.errors",
    "quality": "morello.measure.quality",
}
__all__ = ["__version__", *_DEFINED_IN, *_MODULES]

_load = loader(__name__, _DEFINED_IN)


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(_MODULES[name])
    return _load(name)


def __dir__() -> list[str]:
    return sorted(__all__)
