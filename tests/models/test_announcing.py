"""The line on the terminal while a model is compiled."""

import io
import sys
import time

import pytest

from morello.models import announcing


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("stream", [Terminal(), io.StringIO()])
def test_a_line_appears_on_a_terminal_alone(
    stream: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(time, "monotonic", lambda: now)
    with announcing.announced(12) as report:
        now += announcing.PATIENCE_S / 2
        report(5, 7)
        assert not stream.getvalue()
        now += announcing.PATIENCE_S
        report(1234, 7)
        report(1235, 7)
    lines = stream.getvalue().split("\r\x1b[K")
    shown = ["", "morello: compiling 12 kernels, 1,234 Specs searched, 3 s", ""]
    assert lines == (shown if stream.isatty() else [""])
