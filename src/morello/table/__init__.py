"""The memo table: solved Specs as boxes of points, compressed in space, in memory and on disk."""

from morello.table.page import Page
from morello.table.store import Key
from morello.table.table import Table

__all__ = ["Key", "Page", "Table"]
