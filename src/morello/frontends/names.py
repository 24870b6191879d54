"""Names of inputs, by which Specs and schedules have them."""

from __future__ import annotations

import re

_NAME = re.compile(r"(?!(?:out|t\d+)$)[A-Za-z_]\w{0,60}", re.ASCII)
"""Not what compositions call their results, nor what lies between their parts."""


def kept(name: str) -> str:
    """The name if a Spec may have it, or else none."""
    return name if _NAME.fullmatch(name) else ""
