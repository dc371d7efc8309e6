"""fc-solve as a player of our games: its Eight Off is our Eights Down.

:mod:`agents.commands.fc_solve` runs it and translates its moves. These are replayed in our environment and on
a separate board of fc-solve, and after each move both must show the same position.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium as gym

from agents.commands.fc_solve import (
    EIGHT_OFF,
    HOME,
    Answer,  # noqa: F401
    Move,
    ask,  # noqa: F401
    board_text,  # noqa: F401
    our_action,
    place,
    read_answer,  # noqa: F401
    take,
)
from solitaire_env.core.deals import Deal
from solitaire_env.variants import Variant
from tests.reference import ReferenceGame, ReferenceRules, suit

ENV_ID = "solitaire_env:Solitaire/EightsDown-v0"

HERE = Path(__file__).parent

TO_WIN = ("-l", "as", "-mi", "500000")
"""Solve a board. Not with the preset `lg`, which makes moves that Eight Off does not have."""
TO_COUNT = ("-to", "01ABCDE")
"""Visit every position that single cards can reach, unless one of them is won."""


def without_stock(decks: int = 1, cells: int = 8, **rules: str) -> Variant:
    """Eights Down, or a similar game with other decks or cells, with all cards in piles after the deal."""
    if (decks, cells) == (EIGHT_OFF.decks, EIGHT_OFF.cells):
        return EIGHT_OFF.with_rules(**rules)
    piles = {1: 8, 2: 10}[decks]
    each, more = divmod(52 * decks, piles)
    variant = Variant(
        "like-eights-down",
        "Like Eights Down",
        decks=decks,
        tableau=(each + 1,) * more + (each,) * (piles - more),
        cells=cells,
        spaces="kings",
        moves="supermove",
    )
    return variant.with_rules(**rules)


class Disagreement(AssertionError):
    """fc-solve and our environment disagree."""


# ---------------------------------------------------------------------------------------- replay


def make_env(env_id: str = ENV_ID, **rules: str) -> gym.Env[Any, Any]:
    """Eights Down or another game, with house rules; an illegal action raises an error."""
    return gym.make(env_id, on_invalid="raise", **rules)


def shown(env: gym.Env[Any, Any]) -> ReferenceGame:
    """The position of an environment, as lists of cards."""
    game: Any = env.unwrapped
    return ReferenceGame.from_text(game.position(), ReferenceRules.of(game.variant))


def unordered(board: ReferenceGame) -> object:
    """A value that is the same for boards that differ only in the order of their piles and cells."""
    return sorted(board.tableau), sorted(board.cells), board.foundations


def play(env: gym.Env[Any, Any], theirs: ReferenceGame, move: Move) -> tuple[str, bool, dict[str, Any]]:
    """Make a move on fc-solve's board and in our environment; return its kind, terminated, and the info.

    Raises
    ------
    Disagreement
        If our environment refuses it, or reaches another position.
    """
    game: Any = env.unwrapped
    before = shown(env)
    source = place(theirs, move.source)
    if len(source) < move.cards:
        raise Disagreement(f"fc-solve has only {' '.join(source) or 'nothing'} there in\n{theirs.text()}")
    text = our_action(theirs, move, before, theirs.rules.spaces)
    cards = take(theirs, move)
    if move.target == HOME:
        theirs.foundations[suit(cards[-1])][0] += cards
    if text is None:
        return "whole pile to a space", False, {}
    try:
        _, _, terminated, truncated, info = env.step(game.parse_action(text))
    except ValueError as error:
        raise Disagreement(f"our {text} is refused: {error}, in\n{before.text()}") from None
    after = shown(env)
    if unordered(after) != unordered(theirs):
        raise Disagreement(
            f"our {text} leads to another position, expected\n{theirs.text()}\ngot\n{after.text()}\n"
            f"from\n{before.text()}"
        )
    if truncated:
        raise Disagreement(f"our {text} is truncated by the step limit in\n{before.text()}")
    kind = {"f": "home", "c": "to a cell", "s": "to a space"}.get(text.partition(">")[2], "onto a pile")
    return f"{kind}, several cards" if move.cards > 1 else kind, terminated, info


def replay(env: gym.Env[Any, Any], deal: Deal, moves: Sequence[Move]) -> Counter[str]:
    """Play fc-solve's moves from a deal to the win; return the number of moves of each kind.

    Raises
    ------
    Disagreement
        If the two disagree on a move, or the game is not won exactly by the last one.
    """
    _, info = env.reset(options={"deal": deal})
    theirs = shown(env)
    game = f"{theirs.name} ({theirs.rules.build}, {theirs.rules.spaces}), deal {deal}"
    kinds: Counter[str] = Counter()
    ended = False
    for number, move in enumerate(moves, 1):
        try:
            if ended:
                raise Disagreement(f"our game has ended before it in\n{shown(env).text()}")
            kind, ended, news = play(env, theirs, move)
        except Disagreement as error:
            raise Disagreement(f"{game}, fc-solve's move {number} of {len(moves)}, {move}: {error}") from None
        info = news or info
        kinds[kind] += 1
    got = (ended, bool(info["is_success"]), int(info["cards_home"]))
    expected = (True, True, len(theirs.rules.pack()))
    if got != expected:
        raise Disagreement(
            f"{game}, after all of fc-solve's {len(moves)} moves: terminated, is_success, cards_home "
            f"are {got}, expected {expected}, in\n{shown(env).text()}"
        )
    return kinds


# -------------------------------------------------------------------------------- stored answers


def parse_deal(text: str) -> Deal:
    """A deal number, or the unchanged name of another program's deal."""
    return int(text) if text.isdecimal() else text


class Impossible(NamedTuple):
    """A deal that fc-solve searched exhaustively without a win, and the number of positions it visited."""

    variant: Variant
    deal: Deal
    positions: int

    def __str__(self) -> str:
        v = self.variant
        return f"{v.decks} decks, {v.cells} cells, {v.build}, {v.spaces}, deal {self.deal}"


def read_impossible() -> list[Impossible]:
    """The deals of ``impossible_deals.txt``."""
    deals = []
    for line in (HERE / "impossible_deals.txt").read_text().splitlines():
        if not line.startswith("#"):
            decks, cells, build, spaces, deal, positions = line.split(", ")
            variant = without_stock(int(decks), int(cells), build=build, spaces=spaces)
            deals.append(Impossible(variant, parse_deal(deal), int(positions)))
    return deals
