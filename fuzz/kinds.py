"""All kinds of adversaries, by name."""

from __future__ import annotations

from collections.abc import Mapping

from fuzz.adversary import Adversary
from fuzz.programs import Programs
from fuzz.texts import Texts

KINDS: Mapping[str, Adversary] = {one.name: one for one in (Programs(), Texts())}
