"""The memo table: solved Specs, stored as boxes of points, in memory and on disk."""

from morello.memo.page import Page
from morello.memo.store import Key
from morello.memo.table import Table

__all__ = ["Key", "Page", "Table"]
