"""Impl -> C: one readable function, with its helpers."""

from morello.codegen.source import Source, generate

__all__ = ["Source", "generate"]
