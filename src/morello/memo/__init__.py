"""The memo table: solved Specs, stored as boxes of points, in memory and on disk.

Names are loaded when they are first used: pages need NumPy, and programs of goals do not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from morello.base.lazy import loader

if TYPE_CHECKING:
    from morello.memo.page import Page as Page
    from morello.memo.store import Key as Key
    from morello.memo.table import Table as Table

__all__ = ["Key", "Page", "Table"]

__getattr__ = loader(
    __name__,
    {"Key": "morello.memo.store", "Page": "morello.memo.page", "Table": "morello.memo.table"},
)
