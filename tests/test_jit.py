"""Compiled functions, and interrupts that come out of them in disguise."""

from __future__ import annotations

import pytest

import morello
from morello.jit import interruptible


def disguised(cause: BaseException | None) -> int:
    if cause is None:
        return 3
    raise SystemError("<built-in method> returned a result with an exception set") from cause


def test_an_interrupt_is_an_interrupt() -> None:
    call = interruptible(disguised)
    assert call(None) == 3
    with pytest.raises(KeyboardInterrupt):
        call(KeyboardInterrupt())
    with pytest.raises(SystemError):
        call(ValueError())


@pytest.mark.parametrize("place", ["search.session.deepen", "search.session.candidates"])
def test_whatever_is_being_searched(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"morello.{place}", lambda *_, **__: disguised(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        morello.compile("f32[4,4] @ f32[4,4]", measure=2)
