"""The panel layouts of goals' operands, which affect their search space."""

from __future__ import annotations

from dataclasses import dataclass

from morello.ir.spec import Spec


@dataclass(frozen=True)
class Panels:
    """The widths of the panels of goals, and whether any of them are `odd_even`.

    Tiles may be cut to these widths. Odd-even operands are copied to row-major, as few kernels
    read them.
    """

    widths: frozenset[int] = frozenset()
    odd_even: bool = False

    @staticmethod
    def of(*goals: Spec) -> Panels:
        layouts = [placement.layout for goal in goals for placement in goal.placements]
        widths = frozenset(layout.panel[1] for layout in layouts if layout.panel is not None)
        return Panels(widths, any(layout.odd_even for layout in layouts))


NO_PANELS = Panels()
