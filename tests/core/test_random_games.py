"""The engine and the reference implementation play random games, move by move.

A game is played at random until it ends, or until :data:`TAIL` moves in a row neither bring a card home nor
draw one: what follows then is mostly the same few cards moving back and forth. If the passes have no limit or
cards worry back, it ends after :data:`LONGEST` moves. In every position the legal actions, the status and the
place of each card must be the same on both sides.
"""

import random
from typing import NamedTuple

import numpy as np
import pytest

from solitaire_env.core.batch import Batch
from solitaire_env.core.cards import card_name
from solitaire_env.core.deals import deal_order
from solitaire_env.core.layout import PLAYING, STUCK, WON
from solitaire_env.core.spec import GameSpec, Settings
from solitaire_env.notation import action_text, format_position, parse_action
from solitaire_env.variants import Variant
from tests.comparing import expect
from tests.games import ALL_GAMES, COMPILED, SAMPLED, dealt
from tests.reference import ReferenceGame, ReferenceRules

TAIL = 30
LONGEST = 300
FIRST_DEAL = 1_000_000_007
"""The first deal that is played."""

GAMES = 2 if COMPILED else 1
"""Games of every variant."""

STATUS = {PLAYING: "playing", WON: "won", STUCK: "stuck"}


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


def compare(variant: Variant, deal: int) -> None:
    """Play a random game of a deal on both sides; AssertionError with the first difference."""
    rules = ReferenceRules.of(variant)
    rng = random.Random(deal)
    preferred = taste(rng)
    reference = ReferenceGame.deal_from(
        [card_name(code) for code in deal_order(variant, deal).tolist()], rules, variant.name
    )
    batch = Batch(GameSpec(variant, Settings(on_invalid="raise")), 1)
    batch.deal(np.array([0]), [deal])
    state = batch.state
    longest = LONGEST if rules.worrying_back or rules.passes == 0 else None
    played: list[str] = []
    idle = 0
    while True:
        where = f"{variant.name} ({rules}), deal {deal} after: {' '.join(played)}, in\n{reference.text()}"
        moves = reference.moves()
        expect("position", reference.text(), format_position(batch.position(0)), where)
        expect("status", reference.status(), STATUS[int(state.status[0])], where)
        mask = [action_text(variant, number) for number in np.flatnonzero(state.mask[0]).tolist()]
        if not moves:
            expect("size of the mask of a finished game", batch.rules.actions, len(mask), where)
            return
        expect("legal actions", list(moves), mask, where)
        if idle >= TAIL or len(played) == longest:
            return
        text = preferred.choose(list(moves), rng)
        played.append(text)
        idle = 0 if text == "draw" or text.endswith(">f") else idle + 1
        reference.make(text, moves[text])
        batch.step(np.array([parse_action(variant, text)]), batch.everyone)


@pytest.mark.parametrize("name", SAMPLED)
def test_random_games_are_the_same(name: str) -> None:
    for deal in range(FIRST_DEAL, FIRST_DEAL + GAMES):
        compare(ALL_GAMES[name], deal)


def check_that_only_legal_actions_are_played(variant: Variant, deal: int, moves: int) -> None:
    """In the positions of a random game, with masks that say the opposite or nothing."""
    rng = np.random.default_rng(deal)
    game = dealt(variant, deal)
    for _ in range(moves):
        legal = np.flatnonzero(game.state.mask[0])
        if game.state.status[0]:
            return
        others = rng.integers(game.rules.actions, size=24)
        tried = np.concatenate([legal[:24], others])
        played = Batch(GameSpec(variant), len(tried))
        for mask in (0, 1):
            played.state.rows[:] = game.state.rows[0]
            played.derive(np.arange(len(tried)))
            played.state.mask[:] = mask
            played.step(tried, played.everyone)
            refused = played.events.invalid.tolist()
            expected = [int(action not in legal) for action in tried.tolist()]
            texts = [action_text(variant, action) for action in tried.tolist()]
            where = f"{variant.name}, deal {deal}, in\n{format_position(game.position(0))}"
            wrong = [text for text, a, b in zip(texts, expected, refused, strict=True) if a != b]
            expect(f"actions refused in error or played in error, with masks of {mask}", [], wrong, where)
        game.step(legal[rng.integers(len(legal), size=1)], game.everyone)


@pytest.mark.parametrize("name", SAMPLED)
def test_a_step_plays_the_legal_actions_whatever_the_mask_says(name: str) -> None:
    """Users may have changed the mask."""
    check_that_only_legal_actions_are_played(ALL_GAMES[name], FIRST_DEAL, 60 if COMPILED else 2)


def test_a_difference_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Against a reference implementation with other rules."""
    monkeypatch.setattr(ReferenceRules, "fits", lambda self, card, onto: False)
    with pytest.raises(AssertionError, match="legal actions"):
        compare(ALL_GAMES["busy-aces"], FIRST_DEAL)
