"""All kinds of adversaries, by name."""

from __future__ import annotations

from collections.abc import Mapping

from fuzz.adversary import Adversary
from fuzz.arguments import Arguments
from fuzz.caches import Caches
from fuzz.certificates import Certificates
from fuzz.commands import Commands
from fuzz.kills import Interrupts, Kills
from fuzz.models import Models
from fuzz.nodes import Nodes
from fuzz.programs import Programs
from fuzz.schedules import Schedules
from fuzz.tables import Tables
from fuzz.texts import Texts

KINDS: Mapping[str, Adversary] = {
    kind.name: kind
    for kind in (
        Programs(), Texts(), Schedules(), Tables(), Caches(), Kills(), Interrupts(), Arguments(),
        Commands(), Models(), Nodes(), Certificates(),
    )
}  # fmt: skip
