"""Kinds of fuzzers take turns."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuzz.adversary import Adversary
from fuzz.campaign import Campaign, Finding
from fuzz.kinds import KINDS


def test_workers_begin_with_different_kinds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So each has a turn, even in the time that a worker takes for half of them."""
    turns: dict[int, list[str]] = {0: [], 1: []}
    kinds = [*KINDS.values()]
    campaign = Campaign(kinds, 0, tmp_path, {}, seconds=60.0, workers=2)
    places = campaign._next

    def turn(kind: Adversary, slot: int, seconds: float) -> list[Finding]:
        turns[slot].append(kind.name)
        if len(turns[slot]) == (len(kinds) + 1) // 2:
            campaign._next = dict.fromkeys(places, campaign._last)  # all cases are done
        return []

    monkeypatch.setattr(campaign, "_turn", turn)
    for slot in turns:
        campaign._next = places
        campaign._work(slot)
    assert {*turns[0], *turns[1]} == {kind.name for kind in kinds}
