"""Golden files: what should only ever change on purpose. `--update-golden` rewrites them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

os.environ["MORELLO_CALIBRATION"] = "off"  # what somebody measured here is none of our business

GOLDEN = Path(__file__).parent / "golden"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="write what tests find to tests/golden"
    )


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compares a text with the golden file of a name."""

    def check(name: str, text: str) -> None:
        path = GOLDEN / name
        if request.config.getoption("--update-golden"):
            path.write_text(text)
        assert path.exists(), f"no golden file {name}; pytest --update-golden writes it"
        assert text == path.read_text(), f"{name} changed; if on purpose, pytest --update-golden"

    return check
