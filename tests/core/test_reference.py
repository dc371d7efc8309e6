"""The reference implementation by itself: its supermoves. PySolFC and the engine have the same deals."""

from collections import deque
from dataclasses import replace

import pytest

from tests.positions import cells, fill, run, spaces
from tests.reference import GAMES, ReferenceGame

EIGHTS, THIEVES = GAMES["eights-down"], GAMES["forty-thieves"]


def names_aside(game: ReferenceGame) -> object:
    """The cards in the piles and cells, regardless of their names."""
    return tuple(sorted(map(tuple, game.tableau))), tuple(sorted(map(tuple, game.cells)))


def within_reach(start: ReferenceGame, movers: list[str]) -> set[object]:
    """Every position that moves of some cards lead to, without moves home."""
    seen, waiting = {names_aside(start)}, deque([start])
    while waiting:
        game = waiting.popleft()
        for action, move in game.moves().items():
            if move.source[-1] in movers and not action.endswith(">f"):
                after = game.copy()
                after.play(action)
                if names_aside(after) not in seen:
                    seen.add(names_aside(after))
                    waiting.append(after)
    return seen


@pytest.mark.parametrize("onto", ["pile", "space"])
@pytest.mark.parametrize(
    ("game", "filled_by", "empty", "free"),
    [
        *(("forty-thieves", "any", 0, free) for free in (0, 1, 2, 3)),
        *(
            ("eights-down", "any", empty, free)
            for empty, free in ((0, 2), (1, 0), (1, 1), (1, 2), (2, 1), (3, 1))
        ),
        *(("eights-down", "kings", empty, free) for empty, free in ((0, 1), (1, 1), (2, 2), (5, 1))),
    ],
)
def test_a_supermove_is_legal_if_and_only_if_single_moves_reach_its_position(
    game: str, filled_by: str, empty: int, free: int, onto: str
) -> None:
    """The single moves may end in another space."""
    rules = replace(GAMES[game], spaces=filled_by, moves="supermove")
    places = [spaces(free), cells(empty) if rules.cells else "waste: ... KC"]
    # One card more than the largest capacity above.
    for length in range(1, 10):
        cards = run("QS" if onto == "pile" else "KS", length)
        pile = "2H KS" if onto == "pile" else "2H 4D"
        text = fill("|".join(["variant: v", f"t1: 4H {cards}", f"t2: {pile}", *places]), rules)
        start = ReferenceGame.from_text(text, rules)
        carried = start.copy()
        if onto == "space" and not free:
            continue
        carried.tableau[1 if onto == "pile" else 2] += carried.tableau[0][1:]
        del carried.tableau[0][1:]

        several = length > 1 and filled_by == "any"
        action = "t1>t2" if onto == "pile" else f"t1x{length}>s" if several else "t1>s"
        strict = ReferenceGame.from_text(text, replace(rules, moves="one card"))
        possible = names_aside(carried) in within_reach(strict, cards.split())
        assert (action in start.legal_actions()) == possible, f"{action} in\n{text}"
        if not possible:
            break
        start.play(action)
        assert start.text() == carried.text()
