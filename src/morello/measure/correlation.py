"""Kendall's tau: how well predictions order programs."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def kendall_tau(predicted: npt.ArrayLike, measured: npt.ArrayLike, noise: float = 0.0) -> float:
    """Kendall's tau-b of two columns (n,): 1 if they are in the same order, -1 if in the opposite.

    Pairs that are equal in one column count for neither; nan if there are no others. With
    `noise`, pairs whose measured logarithms differ by at most that are left out.
    """
    columns = [np.asarray(column, np.float64) for column in (predicted, measured)]
    signs = [np.sign(np.subtract.outer(column, column)) for column in columns]
    if noise:
        logs = np.log(columns[1])
        counted = np.abs(np.subtract.outer(logs, logs)) > noise
        signs = [sign * counted for sign in signs]
    pairs = np.sqrt(np.prod([np.abs(sign).sum() for sign in signs]))
    return float((signs[0] * signs[1]).sum() / pairs) if pairs else float("nan")
