"""Every hand-made position, played by the reference implementation and by the engine through its public
interface.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Protocol

import gymnasium as gym
import numpy as np
import pytest

from tests.conftest import Refuses
from tests.positions import CASES, FOLDER, TOPICS, Case, Then, fill, read_cases
from tests.reference import GAMES, ReferenceGame, ReferenceRules

IDS = {name: "Solitaire/" + name.title().replace("-", "") + "-v0" for name in GAMES}
PAIRS = [pytest.param(case, game, id=f"{game}: {case.id}") for case in CASES for game in case.games.split()]


class Game(Protocol):
    """The interface for checking a position."""

    def legal_actions(self) -> list[str]: ...
    def status(self) -> str: ...
    def text(self) -> str: ...
    def play(self, action: str) -> None: ...


class EngineGame:
    """A game of the package, played in the single environment."""

    def __init__(self, game: str, options: dict[str, Any], text: str) -> None:
        self.env: Any = gym.make(f"solitaire_env:{IDS[game]}", on_invalid="raise", **options).unwrapped
        _, info = self.env.reset(options={"position": text})
        self.mask = info["action_mask"]
        self.ended = ""
        if self.mask.all():
            # The mask of a finished position is all ones; its first step shows how it ended.
            self._step(0)
            assert self.ended, f"every action is legal, and a step does not end the game, in\n{text}"

    def _step(self, action: int) -> None:
        _, _, terminated, _, info = self.env.step(action)
        self.mask = info["action_mask"]
        if terminated:
            self.ended = "won" if info["is_success"] else "stuck"

    def legal_actions(self) -> list[str]:
        if self.ended:
            assert self.mask.all(), f"a finished game masks actions, in\n{self.text()}"
            return []
        return [self.env.action_text(action) for action in np.flatnonzero(self.mask)]

    def status(self) -> str:
        return self.ended or "playing"

    def text(self) -> str:
        return str(self.env.position())

    def play(self, action: str) -> None:
        assert not self.ended, f"{action} after the end, in\n{self.text()}"
        self._step(self.env.parse_action(action))


def check(case: Case, game: Game, rules: ReferenceRules) -> None:
    """Check a game at the position of a case, and after the actions of the case."""
    played: list[str] = []
    for expected in (case, *case.then):
        if isinstance(expected, Then):
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
    env: Any = gym.make(f"solitaire_env:{IDS[game]}").unwrapped
    assert ReferenceRules.of(env.variant) == GAMES[game]


@pytest.mark.parametrize(("case", "game"), PAIRS)
def test_positions_are_possible(case: Case, game: str) -> None:
    """No test uses a position that the game cannot have."""
    rules = case.rules(game)
    text = fill(f"variant: {game}|{case.position}", rules)
    position = ReferenceGame.from_text(text, rules)
    assert position.text() == text
    assert Counter(position.cards()) == Counter(rules.pack())
    assert len(position.stock) + len(position.waste) <= rules.stock_size
    assert len(position.cells) == rules.cells
    assert [len(piles) for piles in position.foundations.values()] == [rules.decks] * 4
    for pile, dealt in zip(position.tableau, rules.tableau, strict=True):
        assert len(pile) <= dealt + rules.ranks - 1


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


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("t1 KH 8S", ["title", "has no colon"]),
        ("games: eights-down", ["title", "'games' is written twice"]),
    ],
)
def test_invalid_lines_raise_an_error(line: str, words: list[str], refuses: Refuses) -> None:
    refuses(lambda: read_cases(f"# comment\ntitle\n  games: forty-thieves\n  {line}\n"), *words)
