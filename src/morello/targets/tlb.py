"""The first TLB of a core, and what its misses cost."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TLB:
    """The first TLB (translation lookaside buffer) of a core, and costs of rows on many pages."""

    pages: int = 64
    """The pages of 4 KiB that it holds; 0 if that is unknown."""
    hidden: float = 0.5
    """The share that a tile of sums hides of the transfer of its rows from memory, on few pages.

    It is nearly all of it where prefetches reach lines on other pages in time, but a second
    transfer is no cheaper than one without a tile.
    """
    output_pages: float = 0.75
    """The share of the pages that rows of an output may be on before `returning` is paid."""
    output_steps: int = 512
    """The steps of a sum in which its line of the output is prefetched."""
    returning: float = 0.25
    """The share of the start of a run that each line of an output costs if a loop returns to it."""
    interleaved: float = 0.0
    """The cycles more of a line where a loop walks rows of several pages side by side, if they come
    from memory.
    """


UNKNOWN_TLB = TLB(pages=0, returning=0.0)
