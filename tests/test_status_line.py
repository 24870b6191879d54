"""Progress of long commands: the status that is reported, and the line that shows it."""

import io
import sys
from math import inf
from types import SimpleNamespace

import pytest
from rich.console import Console

import morello
from morello import status_line as module
from morello.base.status import Status, listening, tell
from morello.cli.hints import hint
from morello.measure.timing import measure_runners
from morello.options import requested
from morello.status_line import StatusLine, shown


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def terminal() -> Console:
    return Console(file=io.StringIO(), force_terminal=True, width=120)


def written(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.fixture(autouse=True)
def _still(monkeypatch: pytest.MonkeyPatch) -> None:
    """No time passes on the clock of the line."""
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: 100.0))


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The line appears at once."""
    monkeypatch.setattr(module, "PATIENCE_S", 0.0)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("no_color", ["", "1"])
def test_the_line_says_how_far_the_work_is(monkeypatch: pytest.MonkeyPatch, no_color: str) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    if no_color:
        monkeypatch.setenv("NO_COLOR", no_color)
    console = terminal()
    with StatusLine(console) as line:
        tell(phase="bound", done=2, count=12, ends=30.0, now=10.0)
        line(803910, 7)
        assert (
            "finding a lower bound  0 s  2 of 12  803,910 relaxed Specs  20 s left" in line.text()
        )
        tell(phase="search", cost=4.92e6, gap=0.032)
        line(3, 7)
        line.draw()
        best = "best 4.92M cycles, at most 3.2% above the cheapest"
        assert f"searching  0 s  2 of 12  {best}  3 Specs  20 s left" in line.text()
        tell(phase="build", cost=4.92e6, gap=0.0, done=0, count=1)
        assert "building  0 s  best 4.92M cycles, proven cheapest" in line.text().plain
        assert str(line.text()).endswith("cheapest")
    text = written(console)
    assert "searching" in text and best in text
    assert ("\x1b[36m" in text) != bool(no_color)
    assert text.endswith("\x1b[2K")  # the line is gone


def test_what_takes_no_second_says_nothing() -> None:
    console = terminal()
    with StatusLine(console) as line:
        tell(phase="time")
        line.draw()
    assert not written(console)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("stream", [Terminal(), io.StringIO()])
def test_a_line_is_for_terminals(stream: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    with requested("f32[2] + f32[2]", target="avx2", table="off", progress=True) as request:
        assert request.progress is not None
        tell(phase="time", note="something")  # drawn by who tells it, as threads disturb timing
        request.progress(1, 1)
    assert ("timing" in stream.getvalue()) == stream.isatty()
    with shown(False) as report:
        assert report is None


def test_all_phases_of_a_kernel_are_told() -> None:
    heard: list[Status] = []
    with listening(heard.append):
        kernel = morello.compile("f32[7,5] @ f32[5,3]", table="off", budget=600.0)
        measure_runners({"nothing": lambda count: 10**6 * count}, seconds=1e-9)
    phases = dict.fromkeys(status.phase for status in heard)
    assert [*phases] in (
        [None, "bound", "search", "build", "verify", "time"],
        [None, "bound", "search", "build", "time"],  # verified in an earlier run
    )
    last = [status for status in heard if status.phase == "search"][-1]
    assert last.cost == pytest.approx(kernel.cost) and last.gap == 0.0
    assert 0 < last.left < 600.0 and heard[-1].left < inf
    count = len(heard)
    tell(phase="bound")
    assert len(heard) == count


@pytest.mark.parametrize(
    ("out", "errors", "no_color", "said"),
    [
        (Terminal(), Terminal(), "", "\x1b[2mnext\x1b[0m\n"),
        (Terminal(), Terminal(), "1", "next\n"),
        (io.StringIO(), Terminal(), "", ""),
        (Terminal(), io.StringIO(), "", ""),
    ],
)
def test_hints_are_for_terminals(
    out: io.StringIO,
    errors: io.StringIO,
    no_color: str,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", no_color)
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", errors)
    hint("next")
    assert (out.getvalue(), errors.getvalue()) == ("", said)
