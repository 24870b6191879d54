"""Races of Morello against the libraries and compilers that people use; see README.md."""
