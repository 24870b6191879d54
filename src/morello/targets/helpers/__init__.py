"""C that kernels call: mathematical functions of registers, and loops over runs in cache."""
