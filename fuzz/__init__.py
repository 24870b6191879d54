"""Fuzzers: each checks one property of Morello on random cases, and shrinks those that fail."""
