"""Segments and leftover nodes of graphs inside of frameworks' own programs."""
