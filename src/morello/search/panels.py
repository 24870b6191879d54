"""What the layouts of a goal's operands say of its search."""

from __future__ import annotations

from dataclasses import dataclass

from morello.ir.spec import Spec


@dataclass(frozen=True)
class Panels:
    """The widths of a goal's panels, to which tiles are cut, and whether any are `odd_even`:
    these are copied to rows, as few kernels read them.
    """

    widths: frozenset[int] = frozenset()
    odd_even: bool = False

    @staticmethod
    def of(goal: Spec) -> Panels:
        layouts = [form.layout for form in goal.forms if form.layout.panel is not None]
        widths = frozenset(one.panel[1] for one in layouts if one.panel is not None)
        return Panels(widths, any(one.odd_even for one in layouts))


NO_PANELS = Panels()
