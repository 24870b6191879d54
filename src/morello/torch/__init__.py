"""Morello for PyTorch: a backend of torch.compile, exported models, and single kernels.

    model = torch.compile(model.eval(), backend="morello")
    with torch.no_grad():
        y = model(x)
    print(morello.torch.report())

Needs PyTorch, which pip install 'morello[torch]' installs.
"""

from __future__ import annotations

try:
    import torch as _torch  # noqa: F401 (what follows needs it)
except ModuleNotFoundError as error:
    from morello.base.errors import CallError

    raise CallError("PyTorch is not installed", "pip install 'morello[torch]'") from error

from morello.torch.backend import backend, report
from morello.torch.exported import exported
from morello.torch.operation import call

__all__ = ["backend", "call", "exported", "report"]
