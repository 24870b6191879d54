"""C helpers that kernels call: functions of registers, and loops over runs in cache."""
