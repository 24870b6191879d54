"""The memo table: solved Specs, stored as boxes of points, in memory and on disk.

Names are loaded when they are first used: pages need Numba, and programs of goals do not.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from morello.memo.page import Page as Page
    from morello.memo.store import Key as Key
    from morello.memo.table import Table as Table

_DEFINED_IN = {"Key": "store", "Page": "page", "Table": "table"}
__all__ = ["Key", "Page", "Table"]


def __getattr__(name: str) -> Any:
    if name not in _DEFINED_IN:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_DEFINED_IN[name]}"), name)
