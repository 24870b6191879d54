"""NumPy archives without pickles, for corpora, graphs and models: reading one runs no code."""

from __future__ import annotations

import json
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from morello.base.errors import CorpusError
from morello.base.files import make_folder, write_bytes

Array = npt.NDArray[Any]


def write_arrays(path: Path, arrays: Mapping[str, Array], about: Mapping[str, Any]) -> None:
    """Write an archive atomically; `about` becomes an array of JSON. Raises `FileError`."""
    text = np.frombuffer(json.dumps(about).encode(), np.uint8)
    content = BytesIO()
    np.savez_compressed(content, allow_pickle=False, **arrays, about=text)
    make_folder(path)
    write_bytes(path, content.getvalue())


def read_arrays(path: Path, damaged: str) -> dict[str, Array]:
    """All arrays of an archive.

    Raises `CorpusError` if the file cannot be read, or if it is no archive: with text `damaged`.
    """
    try:
        with np.load(path, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except OSError as error:
        raise CorpusError(f"cannot read {path}: {error.strerror or error}.") from None
    except Exception:  # of a damaged file: whatever zip, zlib, and the parser of headers raise
        raise CorpusError(f"{path} {damaged}") from None


def read_about(arrays: Mapping[str, Array]) -> Any:
    """The data in an archive's `about`. Raises `KeyError` if it has none, `ValueError` if bad."""
    return json.loads(arrays["about"].tobytes())
