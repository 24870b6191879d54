"""`morello.jit`: functions written in NumPy, computed by kernels.

`functions` chooses and compiles variants of a function, `program` runs one, `agreement` compares
it with NumPy, and `reporting` says what kernels compute.
"""

from morello.jitting.functions import Jitted, jit
from morello.jitting.reporting import Report, report

__all__ = ["Jitted", "Report", "jit", "report"]
