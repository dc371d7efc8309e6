"""Sets of deals: the named ones, those in texts, and those that environments draw from."""

import base64
import re
from collections.abc import Container, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from solitaire_env.core.deals import ANY_DEAL, MAX_DEAL, RESERVED_DEALS, Deal
from solitaire_env.core.variant import Variant
from solitaire_env.registration import resolve_variant
from solitaire_env.util.arguments import check_choice
from solitaire_env.util.files import read_json
from solitaire_env.util.messages import shown
from solitaire_env.util.numbers import whole_numbers
from solitaire_env.variants import get_variant

STANDARD: Final = range(1000)
"""The standard evaluation set of every game."""
FINAL_TEST: Final = range(100_000, 101_000)
"""The final test set, never used for choosing anything."""
MAX_DEALS: Final = 1_000_000
"""Maximum number of deals in a text."""
MAX_CHOSEN: Final = 10_000_000
"""Maximum number of deals that an environment draws from."""


class Split(NamedTuple):
    """A named set of deals."""

    deals: range
    use: str
    """What it is for."""


_FIRST_1K: Final = range(RESERVED_DEALS, RESERVED_DEALS + 1_000)
_FIRST_20K: Final = range(RESERVED_DEALS, RESERVED_DEALS + 20_000)

SPLITS: Final = {
    "train": Split(range(RESERVED_DEALS, MAX_DEAL + 1), "training: what a reset without a deal picks from"),
    "train-1k": Split(_FIRST_1K, "the gap between seen and unseen deals"),
    "train-100k": Split(
        range(RESERVED_DEALS, RESERVED_DEALS + 100_000), "the gap between seen and unseen deals"
    ),
    "train-winnable": Split(_FIRST_1K, "training on deals of train-1k that can be won"),
    "dev": Split(STANDARD, "choices and ablations"),
    "test": Split(FINAL_TEST, "once, at the end"),
    "llm-100": Split(range(100), "language models: calls and tokens are reported"),
    "winnable": Split(STANDARD, "the deals of dev that were won by a stored line: every one can be won"),
    "train-easy": Split(_FIRST_20K, "training on deals that the policy greedy wins"),
    "train-medium": Split(_FIRST_20K, "training on deals that the shipped network wins, and greedy does not"),
    "train-hard": Split(_FIRST_20K, "training on deals of train-winnable that neither of them wins"),
    "dev-easy": Split(STANDARD, "the deals of dev that greedy wins"),
    "dev-medium": Split(STANDARD, "the deals of dev that the shipped network wins, and greedy does not"),
    "dev-hard": Split(STANDARD, "the deals of winnable that neither of them wins"),
}
"""The splits by name. Those of :data:`BY_GAME` are subsets of their ranges, others for each game."""

WINNABLE: Final = ("winnable", "train-winnable")
"""The splits of deals that can be won."""
LEVELS: Final = ("easy", "medium", "hard")
"""The levels of deals that can be won, by who wins them; in a clone, ``python -m agents levels`` decides."""
BY_GAME: Final = (*WINNABLE, *(f"{part}-{level}" for part in ("train", "dev") for level in LEVELS))
"""The splits that are other deals for each game."""
FINITE: Final = tuple(name for name, split in SPLITS.items() if len(split.deals) <= MAX_DEALS)
"""The splits that can be played in full."""
DATA: Final = Path(__file__).with_name("splits.json")
"""The deals of :data:`WINNABLE`. In a clone of the repository, ``python -m agents leaderboard write`` makes
it from stored results."""
LEVELS_DATA: Final = DATA.with_name("levels.json")
"""The deals of the levels, which ``python -m agents levels`` makes in a clone."""

Chosen = str | Sequence[int] | npt.NDArray[np.integer[Any]] | None
"""The deals that an environment draws from: the name of a split, a text, numbers, or None for ``train``."""


@cache
def packed_splits() -> dict[str, dict[str, str]]:
    """The deals of the splits :data:`BY_GAME`, for each game a text of :func:`pack_deals`."""
    return {**read_json(DATA), **read_json(LEVELS_DATA)}


def games_of_split(split: str) -> list[str]:
    """The names of the games that have one of the splits :data:`BY_GAME`."""
    return sorted(packed_splits()[check_choice("split", split, BY_GAME)])


def split_deals(split: str, game: str | Variant) -> Sequence[int]:
    """The deals of a split, in order; those of :data:`BY_GAME` are other sets for each game.

    Raises
    ------
    ValueError
        If there is no such split, it is the endless ``train``, or the game has none by its rules.
    """
    deals = SPLITS[check_choice("split", split, SPLITS)].deals
    if len(deals) > MAX_DEALS:
        raise ValueError(f"split {split!r} has too many deals to list, allowed: {', '.join(FINITE)}")
    if split not in BY_GAME:
        return deals
    variant = resolve_variant(game)
    if variant.name not in packed_splits()[split]:
        raise ValueError(
            f"game {shown(variant.name)} has no split {split!r}, allowed: {', '.join(games_of_split(split))}"
        )
    published = get_variant(variant.name)
    if variant.with_rules(moves=published.moves) != published:
        raise ValueError(
            f"split {split!r} is of {variant.name} by its published rules, allowed with house rules: "
            f"{', '.join(name for name in FINITE if name not in BY_GAME)}"
        )
    packed = np.frombuffer(base64.b64decode(packed_splits()[split][variant.name]), dtype=np.uint8)
    return [deals[place] for place in np.flatnonzero(np.unpackbits(packed)).tolist()]


def pack_deals(deals: range, chosen: Container[int | str]) -> str:
    """The text from which :func:`split_deals` reads those of some deals that are chosen."""
    bits = np.packbits([deal in chosen for deal in deals])
    return base64.b64encode(bits.tobytes()).decode()


def parse_deals(text: str) -> list[Deal]:
    """Deals from text: ``0:1000`` (without the last), ``7``, ``ms:11982``, or several with commas.

    Raises
    ------
    ValueError
        If a part of the text names no deals, a deal is named twice, or there are more than :data:`MAX_DEALS`.
    """
    deals: list[Deal] = []
    for part in text.split(","):
        part = part.strip()
        names: Sequence[Deal] = ()
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


def chosen_deals(deals: Chosen, games: Sequence[Variant]) -> npt.NDArray[np.int64]:
    """The numbers of the deals that an environment of some games draws from, int64 ``[n]``, in order; none
    for all that are not reserved.

    Raises
    ------
    ValueError
        If they are no deal numbers, each once, or reserved for evaluation and not named as a split.
    """
    if deals is None or (isinstance(deals, str) and deals == "train"):
        return ANY_DEAL
    if isinstance(deals, str) and deals in SPLITS:
        if deals in BY_GAME and len(games) > 1:
            raise ValueError(
                f"deals is {deals!r}, another set for each game, allowed with several games: "
                f"{', '.join(name for name in SPLITS if name not in BY_GAME)}, or numbers"
            )
        return _numbers(split_deals(deals, games[0])).astype(np.int64)
    return _check_numbers(_numbers(deals))


def _numbers(deals: Any) -> npt.NDArray[Any]:
    """The numbers that a user passed, or named in a text."""
    if isinstance(deals, str):
        try:
            deals = parse_deals(deals)
        except ValueError as error:
            raise ValueError(f"{error}; or a split: {', '.join(SPLITS)}") from None
        if names := [deal for deal in deals if isinstance(deal, str)]:
            raise ValueError(f"deals name {shown(names[0])}, allowed: numbers from {RESERVED_DEALS}")
    if isinstance(deals, range):
        if len(deals[: MAX_CHOSEN + 1]) > MAX_CHOSEN:
            raise ValueError(f"deals are {shown(deals)}, allowed: at most {MAX_CHOSEN:,}")
        if max(map(abs, (deals.start, deals.stop))) <= MAX_DEAL:
            # np.asarray would read a range number by number.
            return np.arange(deals.start, deals.stop, deals.step, dtype=np.int64)
    return whole_numbers("deals", deals)


def _check_numbers(given: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """The numbers in order; an error if they are not allowed."""
    if not 0 < len(given) <= MAX_CHOSEN:
        raise ValueError(f"deals are {len(given):,} numbers, allowed: 1 to {MAX_CHOSEN:,}")
    numbers, counts = np.unique(given, return_counts=True)
    lowest, highest = int(numbers[0]), int(numbers[-1])
    if lowest < 0 or highest > MAX_DEAL:
        wrong = lowest if lowest < 0 else highest
        raise ValueError(f"deal {wrong} is out of range, allowed: {RESERVED_DEALS} to 2**63 - 1")
    if lowest < RESERVED_DEALS:
        raise ValueError(
            f"deal {lowest} is reserved for evaluation, allowed: numbers from {RESERVED_DEALS}; to draw "
            "reserved deals nevertheless, name their split: deals='dev'"
        )
    if len(numbers) < len(given):
        raise ValueError(f"deals name {numbers[counts.argmax()]} more than once, allowed: each deal once")
    return numbers.astype(np.int64)
