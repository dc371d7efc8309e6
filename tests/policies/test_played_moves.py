"""A policy that remembers the moves that it has played."""

import numpy as np

from solitaire_env.policies.played_moves import PlayedMoves

HERE, THERE = [1, 2], [2, 1]
LIKELY = [0.6, 0.4, 0.0]


def play(
    moves: PlayedMoves, *observations: list[int], game: int = 7, chances: list[float] = LIKELY
) -> list[int]:
    """The moves of a game in some positions, one after the other."""
    given, number = (np.array([chances]), np.array([0.5])), np.array([game])
    return [int(moves.draw(*given, np.array([seen]), number)[0]) for seen in observations]


def test_another_move_when_a_position_comes_back() -> None:
    assert play(PlayedMoves(), HERE, THERE, HERE, THERE, HERE) == [0, 0, 1, 1, 0]


def test_the_same_move_when_asked_again() -> None:
    assert play(PlayedMoves(), HERE, HERE, HERE, THERE, HERE) == [0, 0, 0, 0, 1]


def test_the_only_move_is_played_for_ever() -> None:
    assert play(PlayedMoves(), *[HERE, THERE] * 200, chances=[0.0, 1.0, 0.0]) == [1] * 400


def test_each_game_has_its_own_memory() -> None:
    moves = PlayedMoves()
    assert play(moves, HERE, game=1) == play(moves, HERE, game=2) == [0]
    play(moves, THERE, game=1)
    moves.forget([2])
    again = moves.draw(np.array([LIKELY] * 2), np.full(2, 0.5), np.array([HERE] * 2), np.array([1, 2]))
    assert again.tolist() == [1, 0]
