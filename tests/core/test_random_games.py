"""The engine and the reference implementation play random games, move by move.

A game is played at random until it ends, or until :data:`TAIL` moves in a row neither bring a card home nor
draw one: what follows then is mostly the same few cards moving back and forth. If the passes have no limit or
cards worry back, it ends after :data:`LONGEST` moves. In every position the legal actions, the status and the
place of each card must be the same on both sides.

A few games of every variant are played, or ``SOLITAIRE_RANDOM_GAMES`` of each.
"""

from __future__ import annotations

import os
import random
from typing import NamedTuple

import numpy as np
import pytest

from solitaire_env.core.batch import Batch
from solitaire_env.core.deals import deal_order
from solitaire_env.core.layout import PLAYING, WON
from solitaire_env.core.spec import GameSpec, Settings
from solitaire_env.notation import action_text, format_position
from solitaire_env.variants import Variant
from tests.games import ALL_GAMES, COMPILED, SAMPLED
from tests.reference import RANKS, SUITS, ReferenceGame, ReferenceRules

TAIL = 30
LONGEST = 300
BATCH = 64
FIRST_DEAL = 1_000_000_007
"""The first deal that is played."""

GAMES = int(os.environ.get("SOLITAIRE_RANDOM_GAMES", 2 if COMPILED else 1))

CARDS = {4 * rank + suit: r + s for rank, r in enumerate(RANKS, 1) for suit, s in enumerate(SUITS)}
CODES = {name: code for code, name in CARDS.items()} | {
    f"({name})": 64 + code for code, name in CARDS.items()
}


class Difference(AssertionError):
    """The two sides differ."""


class Taste(NamedTuple):
    """Preferences of a random player, so that some games get far."""

    home: float
    """Probability of a move home if one is legal."""
    patience: float
    """Probability of another move if a draw is legal."""

    def choose(self, legal: list[str], rng: random.Random) -> str:
        home = [text for text in legal if text.endswith(">f")]
        if home and rng.random() < self.home:
            return rng.choice(home)
        if legal[0] == "draw" and len(legal) > 1 and rng.random() < self.patience:
            return rng.choice(legal[1:])
        return rng.choice(legal)


def taste(rng: random.Random) -> Taste:
    """Every other game has no preferences."""
    return Taste(0.0, 0.0) if rng.random() < 0.5 else Taste(rng.random(), 0.9 * rng.random())


class Table:
    """One game on both sides: a row of the batch and its reference game."""

    def __init__(self, batch: Batch, row: int, deal: int, rules: ReferenceRules) -> None:
        self.batch, self.row, self.deal = batch, row, deal
        self.rng = random.Random(deal)
        self.taste = taste(self.rng)
        self.played: list[str] = []
        self.idle = 0
        self.longest = LONGEST if rules.worrying_back or rules.passes == 0 else None
        order = [CARDS[code] for code in deal_order(batch.variant, deal).tolist()]
        self.reference = ReferenceGame.deal_from(order, rules, batch.variant.name)
        batch.deal(np.array([row]), [deal])

    def expected_row(self) -> list[int]:
        """The position row of the reference game."""
        rules, reference = self.batch.rules, self.reference
        row: list[int] = []

        def put(cards: list[str], places: int) -> None:
            row.extend(map(CODES.__getitem__, cards))
            row.extend([0] * (places - len(cards)))

        for pile in reference.tableau:
            put(pile, rules.pile_capacity)
        for cell in reference.cells:
            put(cell, 1)
        put(reference.waste, rules.stock_capacity)
        for suit in SUITS:
            row.extend(sorted(map(len, reference.foundations[suit]), reverse=True))
        if rules.has_stock:
            row.append(min(len(reference.stock), 127))
        if reference.rules.passes > 1:
            assert reference.redeals is not None
            row.append(reference.redeals)
        if reference.rules.base == "dealt":
            row.append(reference.base)
        put(reference.stock, rules.stock_capacity)
        return row

    def next_action(self, texts: list[str], numbers: dict[str, int]) -> int | None:
        """Compare both sides; return the number of the next action, already played in the reference game, or
        None at the end.
        """
        state, row = self.batch.state, self.row
        moves = self.reference.moves()
        legal = list(moves)
        if state.rows[row].tolist() != self.expected_row():
            self.fail("position", self.reference.text(), format_position(self.batch.position(row)))
        status = int(state.status[row])
        if status == PLAYING:
            shown = [texts[number] for number in np.flatnonzero(state.mask[row]).tolist()]
            if shown != legal:
                self.fail("legal actions", " ".join(legal) or "none", " ".join(shown) or "none")
            if self.idle >= TAIL or len(self.played) == self.longest:
                return None
            text = self.taste.choose(legal, self.rng)
            self.played.append(text)
            self.idle = 0 if text == "draw" or text.endswith(">f") else self.idle + 1
            self.reference.make(text, moves[text])
            return numbers[text]
        if (self.reference.status(), format_position(self.batch.position(row))) != (
            "won" if status == WON else "stuck",
            self.reference.text(),
        ):
            self.fail(
                "end",
                f"{self.reference.status()} in\n{self.reference.text()}",
                f"{status} in\n{format_position(self.batch.position(row))}",
            )
        if not state.mask[row].all():
            self.fail("mask of a finished game", "all ones", str(state.mask[row]))
        return None

    def fail(self, what: str, expected: str, got: str) -> None:
        raise Difference(
            f"{what} of {self.batch.variant.name} ({self.batch.variant.build}, {self.batch.variant.spaces}, "
            f"{self.batch.variant.moves}), deal {self.deal} after: {' '.join(self.played) or 'nothing'}\n"
            f"reference:\n{expected}\nengine:\n{got}\nposition:\n{format_position(self.batch.position(self.row))}"
        )


def compare(variant: Variant, games: int) -> None:
    """Play random games on both sides.

    Raises
    ------
    Difference
        With the deal, the actions that led to the position, and the description of each side.
    """
    size = min(BATCH, games)
    batch = Batch(GameSpec(variant, Settings(on_invalid="raise")), size)
    rules = ReferenceRules.of(variant)
    texts = [action_text(variant, number) for number in range(batch.rules.actions)]
    numbers = {text: number for number, text in enumerate(texts)}
    deals = iter(range(FIRST_DEAL, FIRST_DEAL + games))
    tables: list[Table | None] = [Table(batch, row, next(deals), rules) for row in range(size)]
    actions = np.zeros(size, dtype=np.int64)
    active = np.ones(size, dtype=np.int8)
    while active.any():
        for row, table in enumerate(tables):
            while table is not None:
                action = table.next_action(texts, numbers)
                if action is not None:
                    actions[row] = action
                    break
                deal = next(deals, None)
                table = tables[row] = None if deal is None else Table(batch, row, deal, rules)
                active[row] = table is not None
        batch.step(np.where(active, actions, 0), active)


@pytest.mark.parametrize("name", SAMPLED)
def test_random_games_are_the_same(name: str) -> None:
    compare(ALL_GAMES[name], GAMES)


def test_a_difference_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Against a reference implementation with other rules."""
    monkeypatch.setattr(ReferenceRules, "fits", lambda self, card, onto: False)
    with pytest.raises(Difference, match="legal actions of busy-aces"):
        compare(ALL_GAMES["busy-aces"], 1)
