"""The ways to specify a computation: text expressions, and calls from Python."""

from morello.frontends.calls import matmul
from morello.frontends.text import parse, parse_type

__all__ = ["matmul", "parse", "parse_type"]
