"""The features by name: their meaning, their index in an array, and the text they are stored under.

A feature is a line of one of the tuples below. ``MOVE`` and its like hold the column of each feature, and
kernels write ``out[MOVE.cards]``; ``MOVE_NAMES`` and its like hold the texts. Weights of the linear policy
are stored by these texts, and networks are trained on the columns in this order: do not reorder or remove
any. A renamed feature gets a line in ``RENAMED``.

Terms: a *next foundation card* is one that a foundation takes now. A card *fits* onto the next higher one of
its suit, regardless of the game's building rule. A card is *in sight* if it is playable: on a pile, on the
waste or in a cell. The rank of a foundation is the number of its cards; if ranks wrap, lower cards are those
that go home first. Of a face-down card, only its existence is read.
"""

from typing import Any, Final, NamedTuple

Column = Any
"""A text or, once numbered, an integer."""


class MoveColumns(NamedTuple):
    """Features of a legal move; those that do not apply to it are 0."""

    # The kind of move. A draw or a redeal is none of these; `home` is -1 if a card worries back.
    home: Column = "home"
    pile_to_pile: Column = "pile to pile"
    waste_to_pile: Column = "waste to pile"
    cell_to_pile: Column = "cell to pile"
    pile_to_space: Column = "pile to space"
    waste_to_space: Column = "waste to space"
    cell_to_space: Column = "cell to space"
    pile_to_cell: Column = "pile to cell"
    waste_to_cell: Column = "waste to cell"
    # The moved cards.
    home_rank: Column = "home: ranks above the lowest foundation / 13"
    home_covers: Column = "home: a card in sight fits onto it"
    onto_covers: Column = "onto a pile or a space: a card in sight fits onto it"
    cards: Column = "cards / 13"
    rank: Column = "to space or cell: rank / 13"
    # The source pile. Near the top: 1 / its place in the pile (1 for the playable card) for a next
    # foundation card, half of that for the card that goes home right after one.
    source_empties: Column = "source: becomes a space"
    source_breaks: Column = "source: a sequence is broken"
    source_frees_home: Column = "source: the card under it goes home now"
    source_frees_fitting: Column = "source: the card under it fits onto a pile"
    source_stay: Column = "source: cards that stay / 13"
    source_near: Column = "source: a next foundation card lies near the top"
    # The target pile.
    target_cards: Column = "target: cards / 13"
    target_near: Column = "target: a next foundation card lies near the top"
    # The game.
    waste_stock: Column = "waste: share of the stock that is left"
    waste_frees_home: Column = "waste: the card under it goes home now"
    waste_frees_fitting: Column = "waste: the card under it fits onto a pile"
    spaces_left: Column = "to space: spaces that are left / 4"
    cells_left: Column = "to cell: cells that are left / 4"
    draw_spaces: Column = "draw: spaces / 4"


class PlainColumns(NamedTuple):
    """Features of a position, as the player sees it.

    After a draw the new card of the waste is unknown: its features are those of the unseen cards. A
    sequence fits nowhere if it fits onto no playable card of a pile and does not go home.
    """

    home: Column = "cards home / all"
    lowest: Column = "lowest foundation / 13"
    fullest: Column = "fullest foundation of each suit, mean / 13"
    spaces: Column = "spaces / 4"
    empty_cells: Column = "empty cells / 8"
    stock: Column = "stock / its capacity"
    waste: Column = "waste / its capacity"
    # The piles.
    sequences: Column = "sequences / half of all cards"
    over_lower: Column = "cards over a lower one / half of all cards"
    over_lower_in_suit: Column = "cards over a lower one of their suit / a quarter of all cards"
    from_king: Column = "cards in a sequence that begins with a king at the base / half of all cards"
    highest: Column = "highest pile / 20"
    ranks: Column = "rank of the playable cards, mean / 13"
    useful: Column = "playable cards of piles that a card can still be put on / piles"
    # The next foundation cards, one number for each rank that a foundation takes next.
    next_depth: Column = "next foundation card: cards above it, at most 12, sum / 40"
    next_nearest: Column = "next foundation card: cards above the nearest / 12"
    next_unseen: Column = "next foundation card: not seen / 8"
    next_blocked: Column = "next foundation card: sequences above it that fit nowhere, sum / 16"
    next_least_blocked: Column = "next foundation card: sequences above it that fit nowhere, least / 4"
    next_reachable: Column = "next foundation card: no more such sequences than spaces and empty cells / 4"
    after_depth: Column = "card after a next foundation card: cards above it, at most 12, sum / 40"
    after_blocked: Column = "card after a next foundation card: sequences above it that fit nowhere, sum / 16"
    # What can be played.
    chain: Column = "cards that go home one after another / 13"
    go_home: Column = "playable cards that go home / 8"
    fit: Column = "playable cards that fit onto a pile / 8"
    joinable: Column = "piles with a sequence over a card that a playable card fits onto / 8"
    fewest_stuck: Column = "sequences that fit nowhere in the pile that has fewest / 4"
    second_fewest_stuck: Column = "sequences that fit nowhere in the pile that has second fewest / 4"
    # The next card of the stock, and the waste.
    stock_home: Column = "stock: share of the unseen cards that go home"
    stock_fits: Column = "stock: share of the unseen cards that fit onto a pile"
    waste_home: Column = "waste: the playable card goes home"
    waste_fits: Column = "waste: the playable card fits onto a pile"
    waste_run: Column = "waste: cards from the top that go home or fit onto a pile, at most 6 / 4"
    waste_nearest: Column = "waste: cards above the nearest next foundation card / 12"
    # The cells.
    cells: Column = "cells: ranks that their cards are away from going home / 64"


class DigColumns(NamedTuple):
    """Features of one round of dig-outs.

    Best is the first dig-out with the highest cards gone home + empty cells + 2 x spaces, roomiest the first
    with the highest empty cells + 2 x spaces.
    """

    number: Column = "next foundation cards that can be dug out / 4"
    best_home: Column = "best: cards gone home / 13"
    best_empty_cells: Column = "best: empty cells after it / 8"
    best_spaces: Column = "best: spaces after it / 4"
    best: Column = "best: cards gone home + empty cells + 2 x spaces / 16"
    roomiest_home: Column = "roomiest: cards gone home / 13"
    roomiest_empty_cells: Column = "roomiest: empty cells after it / 8"
    roomiest_spaces: Column = "roomiest: spaces after it / 4"
    most_home: Column = "most cards gone home / 13"


class LookaheadColumns(NamedTuple):
    """Features of the moves of the rollout lookahead."""

    moves: Column = "rollout lookahead: moves / their limit"
    home: Column = "rollout lookahead: cards that went home during it / 13"


class FamilyColumns(NamedTuple):
    """Features about rules beyond those of the first five games, for moves and positions, and the rules
    themselves as numbers: for a network that plays many games.

    Each means the same in every game. *By the rules* is by the game's building rule. Those of a move are 0
    for the position itself.
    """

    # The move.
    redeal: Column = "move: redeal"
    worry: Column = "move: worries back"
    drawn: Column = "move: cards drawn / 3"
    turns: Column = "move: turns a face-down card up"
    fills: Column = "move: the space it makes is filled"
    out_of_order: Column = "move: cards that move out of order / 13"
    onto_suit: Column = "move: onto the next higher card of its suit"
    breaks: Column = "move: from a card that it fits onto by the rules"
    frees_home: Column = "move: the card under it goes home now"
    frees_fitting: Column = "move: the card under it fits onto a pile by the rules"
    covers: Column = "move: a card in sight fits onto it by the rules"
    # The position.
    face_down: Column = "face-down cards / half of all cards"
    piles_down: Column = "piles with face-down cards / piles"
    least_over_down: Column = "face-up cards over face-down ones, least / 13"
    redeals: Column = "redeals left / 3"
    fitting: Column = "playable cards that fit onto a pile by the rules / 8"
    joined: Column = "cards on one that they fit onto by the rules / half of all cards"
    unseen: Column = "unseen cards / all"
    # The rules.
    decks: Column = "rules: decks / 4"
    ranks: Column = "rules: ranks / 13"
    piles: Column = "rules: piles / 16"
    cells: Column = "rules: cells / 8"
    stock: Column = "rules: stock / all cards"
    build_suit: Column = "rules: builds in suit"
    build_color: Column = "rules: builds in alternating colors"
    build_any: Column = "rules: builds whatever the suit"
    build_other: Column = "rules: builds in any other suit"
    build_same_color: Column = "rules: builds in one color"
    runs_in_suit: Column = "rules: only sequences in suit move"
    spaces_any: Column = "rules: any card fills a space"
    spaces_rank: Column = "rules: one rank fills a space"
    one_card: Column = "rules: single cards move"
    supermove: Column = "rules: supermoves"
    sequence: Column = "rules: sequences move"
    any_group: Column = "rules: any group moves"
    draw: Column = "rules: cards drawn at a time / 3"
    passes: Column = "rules: passes / 4"
    no_limit: Column = "rules: redeals without limit"
    fill: Column = "rules: spaces are filled from the waste"
    hides: Column = "rules: cards are dealt face down"
    alternate_home: Column = "rules: foundations alternate colors"
    wraps: Column = "rules: an Ace takes a King"
    worrying_back: Column = "rules: cards may worry back"


class HiddenColumns(NamedTuple):
    """Features of hidden cards, for moves and positions: what lies face down, what a card that goes home was
    needed for, and which cards of stock and waste are reached in this pass or in the next.

    Cards fit by the game's building rule. A *leader* is the first face-up card over face-down ones, if all
    cards on it can move with it. *Now* is in this pass, with the playable card of the waste; *later* is only
    in the next pass. A king is a card of the only rank that fills a space. Those of a move are 0 for the
    position itself.
    """

    # The move.
    under: Column = "move: face-down cards in the pile that it leaves / 8"
    turned: Column = "move: face-down cards in that pile, if one is turned up / 8"
    leaders: Column = "move home or onto a pile: leaders that fit onto the card / 4"
    needed_now: Column = "move home: playable cards that fit onto the card / 4"
    needed: Column = "move home: cards that fit onto the card, neither home nor next / 8"
    # The position.
    ready: Column = "leaders that fit onto a pile, fill a space or go home / 8"
    based_now: Column = "other leaders that fit onto a card of the stock that fits now / 8"
    based_later: Column = "other leaders that fit onto a card of the stock that fits later / 8"
    kings: Column = "kings on other cards / 8"
    stock_kings: Column = "stock: kings, now or later / 8"
    stock_known: Column = "stock: its cards are known, or it is empty"
    stock_cards: Column = "stock: its cards and those of the waste / its capacity"
    neither: Column = "stock: cards reached neither now nor later / its capacity"
    draws: Column = "stock: cards drawn until one is of use / its capacity"
    home_now: Column = "stock: cards that go home, now / 4"
    home_later: Column = "stock: cards that go home, later / 4"
    fit_now: Column = "stock: cards that fit onto a pile or fill a space, now / 8"
    fit_later: Column = "stock: cards that fit onto a pile or fill a space, later / 8"


NUM_MOVE: Final = len(MoveColumns._fields)
NUM_PLAIN: Final = len(PlainColumns._fields)
NUM_DIG: Final = len(DigColumns._fields)
NUM_LOOKAHEAD: Final = len(LookaheadColumns._fields)
NUM_FAMILY: Final = len(FamilyColumns._fields)
NUM_HIDDEN: Final = len(HiddenColumns._fields)

MOVE: Final = MoveColumns(*range(NUM_MOVE))
PLAIN: Final = PlainColumns(*range(NUM_PLAIN))
DIG: Final = DigColumns(*range(NUM_DIG))
LOOKAHEAD: Final = LookaheadColumns(*range(NUM_LOOKAHEAD))
FAMILY: Final = FamilyColumns(*range(NUM_FAMILY))
HIDDEN: Final = HiddenColumns(*range(NUM_HIDDEN))

MOVE_NAMES: Final[tuple[str, ...]] = MoveColumns()
PLAIN_NAMES: Final[tuple[str, ...]] = PlainColumns()
DIG_NAMES: Final[tuple[str, ...]] = DigColumns()
LOOKAHEAD_NAMES: Final[tuple[str, ...]] = LookaheadColumns()
FAMILY_NAMES: Final[tuple[str, ...]] = FamilyColumns()
HIDDEN_NAMES: Final[tuple[str, ...]] = HiddenColumns()


def reachability_names(count: int) -> tuple[str, ...]:
    """The names of ``count`` relaxed-reachability features."""
    return tuple(
        "relaxed reachability: cards home / all" if n == 0
        else f"relaxed reachability: cards home, with {n} more of each pile and of the waste / all"
        for n in range(count)
    )  # fmt: skip


def position_names(
    dig_out: int, relaxed_reachability: int = 0, rollout_lookahead: int = 0, family: bool = False,
    hidden_cards: bool = False,
) -> tuple[str, ...]:  # fmt: skip
    """The names of all features of a position, in order; the same follow a move's own features. The arguments
    are those of :class:`~solitaire_env.move_features.reader.MoveReader`.
    """
    rounds = ("dig-outs", *(f"dig-outs after the best {n}" for n in range(1, dig_out)))[:dig_out]
    names = PLAIN_NAMES + tuple(f"{when}: {name}" for when in rounds for name in DIG_NAMES)
    names += reachability_names(relaxed_reachability)
    if rollout_lookahead:
        again = PLAIN_NAMES + reachability_names(relaxed_reachability)
        names += tuple(f"rollout lookahead: {name}" for name in again) + LOOKAHEAD_NAMES
    return names + FAMILY_NAMES * family + HIDDEN_NAMES * hidden_cards


RENAMED: Final = (
    ("wanted next: ", "card after a next foundation card: "),
    ("wanted: ", "next foundation card: "),
    ("nearest wanted one", "nearest next foundation card"),
    ("wanted card", "next foundation card"),
    ("onward: moves that led there /", "rollout lookahead: moves /"),
    ("onward: cards that went home on the way /", "rollout lookahead: cards that went home during it /"),
    ("onward: ", "rollout lookahead: "),
    ("reach: cards home with the unseen at hand /", "relaxed reachability: cards home /"),
    ("reach: and with 1 card of", "relaxed reachability: cards home, with 1 more of"),
    ("reach: and with ", "relaxed reachability: cards home, with "),
    (" cards of each pile and of the waste", " more of each pile and of the waste"),
    ("digs", "dig-outs"),
)
"""Parts of names in older model files, and what replaces them, in this order."""


def current_name(stored: str) -> str:
    """The name of a feature that a model file stores, by its present or by an older name."""
    for old, new in RENAMED:
        stored = stored.replace(old, new)
    return stored
