"""Compiling C with the compiler that is there, and loading what it makes."""
