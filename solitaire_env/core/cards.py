"""Cards as small integers: ``card = 4 * rank + suit``.

Ranks run from 1 (Ace) to 13 (King), suits are Clubs 0, Diamonds 1, Hearts 2, Spades 3, so the next card of a
suit is ``card + 4`` and every card is below 64. The codes 0 and 1 are free for "no card" and "face down".
"""

from typing import Final

EMPTY: Final = 0
"""No card."""
FACE_DOWN: Final = 1
"""A card whose identity is hidden."""
DOWN: Final = 64
"""The bit of a face-down card in a tableau pile; the other bits are the card."""

RANKS: Final = 13
SUITS: Final = 4
ACE: Final = 1
KING: Final = 13
NUM_CODES: Final = 2 * DOWN
"""Every entry of a ``cards`` observation is below this: an embedding has this many rows. Without
``information="thoughtful"``, which shows face-down cards with the bit DOWN, cards are below DOWN."""

RANK_NAMES: Final = "A23456789TJQK"
SUIT_NAMES: Final = "CDHS"
SUIT_SYMBOLS: Final = "♣♦♥♠"

HIDDEN_NAME: Final = "??"
EMPTY_NAME: Final = "--"


def make_card(rank: int, suit: int) -> int:
    """The code of a card from its rank (1..13) and suit (0..3)."""
    if not ACE <= rank <= KING or not 0 <= suit < SUITS:
        raise ValueError(f"rank {rank} and suit {suit} are no card, allowed: ranks 1..13, suits 0..3")
    return 4 * rank + suit


def rank_of(card: int) -> int:
    """Rank of a card, 1 (Ace) to 13 (King)."""
    return card >> 2


def suit_of(card: int) -> int:
    """Suit of a card: Clubs 0, Diamonds 1, Hearts 2, Spades 3."""
    return card & 3


def is_red(card: int) -> bool:
    """Whether the card is a Diamond or a Heart."""
    return suit_of(card) in (1, 2)


def card_name(card: int) -> str:
    """Text of a card: ``7H``, ``TS``; ``(7H)`` if it is face down, ``??`` if it is hidden, ``--`` for no
    card.
    """
    if DOWN + 4 <= card < DOWN + 4 * KING + SUITS:
        return f"({card_name(card - DOWN)})"
    if card == EMPTY:
        return EMPTY_NAME
    if card == FACE_DOWN:
        return HIDDEN_NAME
    if not 4 <= card < 4 * KING + SUITS:
        raise ValueError(f"{card} is not a card code, allowed: 4..55 for cards, 0 for none, 1 for face down")
    return RANK_NAMES[rank_of(card) - 1] + SUIT_NAMES[suit_of(card)]


def parse_card(text: str) -> int:
    """The code of a card from its text, the inverse of :func:`card_name`."""
    if text == EMPTY_NAME:
        return EMPTY
    if text == HIDDEN_NAME:
        return FACE_DOWN
    down = len(text) == 4 and text[0] == "(" and text[3] == ")"
    name = text[1:3] if down else text
    if len(name) == 2 and name[0] in RANK_NAMES and name[1] in SUIT_NAMES:
        return DOWN * down + 4 * (RANK_NAMES.index(name[0]) + 1) + SUIT_NAMES.index(name[1])
    raise ValueError(f"unknown card {text[:20]!r}, allowed: one of {RANK_NAMES} and one of {SUIT_NAMES}")
