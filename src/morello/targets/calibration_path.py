"""Where the measured costs of a machine are kept."""

from __future__ import annotations

import os
import re
from pathlib import Path

from morello.base.errors import TargetError
from morello.base.files import config_folder
from morello.targets.cpu import HostCPU

VARIABLE = "MORELLO_CALIBRATION"
OFF = "off"


def default_path(cpu: HostCPU) -> Path:
    """Where the calibration of a CPU is kept: a file for each model.

    In `$XDG_CONFIG_HOME/morello`, else `~/.config/morello`. Raises `TargetError` if that takes
    a home directory and there is none.
    """
    name = re.sub(r"[^a-z0-9]+", "-", cpu.name.lower()).strip("-")
    try:
        return config_folder() / f"{name}.json"
    except RuntimeError:
        raise TargetError(
            "~/.config is in no known home directory; set XDG_CONFIG_HOME, "
            f"or {VARIABLE} to a file or to {OFF!r}."
        ) from None


def chosen_path(cpu: HostCPU) -> Path | None:
    """The file that `$MORELLO_CALIBRATION` names, else that of this CPU, if there is one.

    Also None if the variable is "off". Raises `TargetError` as `default_path` does.
    """
    named = os.environ.get(VARIABLE, "")
    if named:
        return None if named == OFF else Path(named)
    path = default_path(cpu)
    return path if path.exists() else None
