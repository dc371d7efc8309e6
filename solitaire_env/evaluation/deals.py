"""Deals named in text, and the sets of deals reserved for evaluation."""

import re
from collections.abc import Sequence
from typing import Final

from solitaire_env.util.messages import shown

STANDARD: Final = range(1000)
"""The standard evaluation set of every game."""
HELD_OUT: Final = range(100_000, 101_000)
"""The final test set, never used for choosing anything."""
MAX_DEALS: Final = 1_000_000
"""Maximum number of deals in a text."""


def parse_deals(text: str) -> list[int | str]:
    """Deals from text: ``0:1000`` (without the last), ``7``, ``ms:11982``, or several with commas.

    Raises
    ------
    ValueError
        If a part of the text names no deals, a deal is named twice, or there are more than :data:`MAX_DEALS`.
    """
    deals: list[int | str] = []
    for part in text.split(","):
        part = part.strip()
        names: Sequence[int | str] = ()
        if match := re.fullmatch("([0-9]{1,19})(?::([0-9]{1,19}))?", part):
            first = int(match[1])
            end = int(match[2]) if match[2] else first + 1
            names = range(first, min(end, first + MAX_DEALS + 1))
        elif re.fullmatch("(ms|pysol):[0-9]{1,20}", part):
            names = (part,)
        if not names:
            raise ValueError(
                f"unknown deals {shown(part)}, allowed: N, FIRST:END, ms:N, pysol:N, or several with commas"
            )
        if len(deals) + len(names) > MAX_DEALS:
            raise ValueError(f"deals {shown(part)} are too many, allowed: at most {MAX_DEALS:,} in total")
        deals.extend(names)
    if len(set(deals)) != len(deals):
        raise ValueError(f"deals {shown(text)} name a deal twice, allowed: each deal once")
    return deals
