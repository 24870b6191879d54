"""The memo table: solved Specs, stored as boxes of points, in memory and on disk."""

from morello.table.page import Page
from morello.table.store import Key
from morello.table.table import Table

__all__ = ["Key", "Page", "Table"]
