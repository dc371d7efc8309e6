"""Every hand-made position, played by the reference implementation and by the engine through its public
interface.
"""

from typing import Any

import pytest

from solitaire_env.core.layout import PLAYING, STUCK, WON
from solitaire_env.env import SolitaireEnv
from solitaire_env.variants import get_variant
from tests.positions import CASES, FOLDER, TOPICS, Case, fill
from tests.reference import GAMES, ReferenceGame, ReferenceRules

PAIRS = [pytest.param(case, game, id=f"{game}: {case.id}") for case in CASES for game in case.games.split()]
STATUS = {PLAYING: "playing", WON: "won", STUCK: "stuck"}


class EngineGame:
    """A game of the package, played in the single environment, with the methods of a reference game."""

    def __init__(self, game: str, options: dict[str, Any], text: str) -> None:
        self.env = SolitaireEnv(get_variant(game).with_rules(**options), on_invalid="raise")
        self.env.reset(options={"position": text})
        self.text = self.env.position

    def legal_actions(self) -> list[str]:
        return [self.env.action_text(action) for action in self.env.legal_actions()]

    def status(self) -> str:
        return STATUS[int(self.env.batch.state.status[0])]

    def play(self, action: str) -> None:
        self.env.step(self.env.parse_action(action))


def check(case: Case, game: EngineGame | ReferenceGame, rules: ReferenceRules) -> None:
    """Check a game at the position of a case, and after the actions of the case."""
    played: list[str] = []
    for expected in case.expected:
        for action in expected.play.split():
            game.play(action)
            played.append(action)
        if complaints := expected.complaints(game.legal_actions(), game.status(), game.text(), rules):
            pytest.fail(
                "\n".join([*complaints, f"after: {' '.join(played) or 'nothing'}", game.text()]),
                pytrace=False,
            )


@pytest.mark.parametrize("game", GAMES)
def test_games_are_the_published_ones(game: str) -> None:
    assert ReferenceRules.of(get_variant(game)) == GAMES[game]


@pytest.mark.parametrize(("case", "game"), PAIRS)
def test_the_reference_implementation_agrees(case: Case, game: str) -> None:
    rules = case.rules(game)
    check(case, ReferenceGame.from_text(fill(f"variant: {game}|{case.position}", rules), rules), rules)


@pytest.mark.parametrize(("case", "game"), PAIRS)
def test_the_engine_agrees(case: Case, game: str) -> None:
    rules = case.rules(game)
    text = fill(f"variant: {game}|{case.position}", rules)
    engine = EngineGame(game, case.options, text)
    assert engine.text() == text
    check(case, engine, rules)


def test_every_file_is_read() -> None:
    assert sorted(TOPICS) == sorted(path.stem for path in FOLDER.iterdir())
