"""Other frameworks that compute an expression of the language: what kernels are raced against.

Each is a module, which imports its framework; `rivals.racing` imports the modules when asked.
"""
