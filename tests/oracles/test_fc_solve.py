"""fc-solve plays our games, and we play its moves."""

from __future__ import annotations

from collections import Counter

import pytest

from agents.results.solver_results import solver_results
from solitaire_env.core.deals import Deal
from solitaire_env.env import SolitaireEnv
from solitaire_env.notation import parse_position
from solitaire_env.variants import Variant, get_variant
from tests.oracles.fc_solve import (
    EIGHT_OFF,
    TO_COUNT,
    TO_WIN,
    Answer,
    Impossible,
    ask,
    board_text,
    read_answer,
    read_impossible,
    replay,
    shown,
    without_stock,
)
from tests.oracles.search import search

pytestmark = pytest.mark.external

RULES = [
    {"build": build, "spaces": spaces}
    for build in ("same suit", "alternate color", "any suit")
    for spaces in ("kings", "any")
]

# ---------------------------------------------------------------------------------------- replays


def play_all(deals: list[Deal], **rules: str) -> tuple[Counter[str], set[Deal]]:
    """Replay fc-solve's solutions; return the number of moves of each kind, and the deals that it cannot win.
    Those that it calls impossible must have no win among all their positions.
    """
    env = SolitaireEnv(EIGHT_OFF.with_rules(**rules), on_invalid="raise")  # type: ignore[arg-type]
    kinds: Counter[str] = Counter()
    impossible = set()
    for deal in deals:
        env.reset(options={"deal": deal})
        answer = read_answer(ask(env.variant, board_text(shown(env)), *TO_WIN))
        assert answer.verdict != "given up", f"deal {deal}: fc-solve gives up"
        if answer.verdict == "won":
            kinds += replay(env, deal, answer.moves)
        else:
            impossible.add(deal)
            found = search(parse_position(env.position()))
            assert found.line is None, f"deal {deal}: fc-solve calls it impossible, our search wins it"
            assert found.ended, f"deal {deal}: fc-solve calls it impossible, our search does not end"
    return kinds, impossible


@pytest.mark.parametrize(
    ("deals", "expected"),
    [
        (list(range(260)), {239, 251}),  # of the standard evaluation set
        ([f"ms:{number}" for number in range(430, 530)], {"ms:465"}),
    ],
    ids=["numbers", "Microsoft's"],
)
def test_eights_down_is_solved(deals: list[Deal], expected: set[Deal]) -> None:
    _, impossible = play_all(deals)
    assert impossible == expected


@pytest.mark.parametrize("rules", RULES[1:], ids=lambda rules: ", ".join(rules.values()))
def test_house_rules_are_solved(rules: dict[str, str]) -> None:
    kinds, impossible = play_all(list(range(40)), **rules)
    assert impossible == set()
    assert min(kinds[f"{place}, several cards"] for place in ("onto a pile", "to a space")) > 20, kinds


@pytest.mark.parametrize(
    ("game", "deals", "impossible"),
    [
        ("freecell", [f"ms:{number}" for number in range(1, 201)], 0),
        ("freecell", ["ms:11982"], 1),
        ("forecell", list(range(200)), 40),
        ("bakers-game", list(range(200)), 44),
        ("seahaven-towers", list(range(200)), 27),
        ("bakers-game-king-only", list(range(100)), 78),
        ("freecell-no-cells", list(range(100)), 100),
    ],
)
def test_related_games_are_solved(game: str, deals: list[Deal], impossible: int) -> None:
    """Each solution is replayed to the win; the stored results of our solver agree."""
    variant = get_variant(game)
    env = SolitaireEnv(variant, on_invalid="raise")
    ours = solver_results().get(game, {})
    verdicts: Counter[str] = Counter()
    for deal in deals:
        env.reset(options={"deal": deal})
        answer = read_answer(ask(variant, board_text(shown(env)), *TO_WIN))
        if answer.verdict == "impossible":
            # Some deals of Baker's Game can be won by moves that this preset leaves out.
            answer = read_answer(ask(variant, board_text(shown(env)), *TO_COUNT, "-mi", "1000000"))
        verdicts[answer.verdict] += 1
        contradiction = "unwinnable" if answer.verdict == "won" else "won"
        assert deal not in ours or ours[deal].status != contradiction, deal
        if answer.verdict == "won":
            replay(env, deal, answer.moves)
    assert verdicts == Counter(won=len(deals) - impossible, impossible=impossible)


# ------------------------------------------------------------------------------ counts of positions


def compare_positions(variant: Variant, deal: Deal, limit: int = 20_000) -> Answer:
    """Compare all positions of a deal: if no win ends the search of fc-solve, ours must find as many."""
    env = SolitaireEnv(variant)
    env.reset(options={"deal": deal})
    answer = read_answer(ask(variant, board_text(shown(env)), *TO_COUNT, "-mi", str(limit)))
    if answer.verdict == "impossible":
        found = search(parse_position(env.position(), variant), limit=2 * answer.positions)
        # fc-solve counts the start, and again if play returns to it; we count it only then.
        assert found.line is None
        assert len(found.positions) + 1 == answer.positions, Impossible(variant, deal, answer.positions)
    return answer


@pytest.mark.parametrize("impossible", read_impossible(), ids=str)
def test_stored_counts_of_positions_are_the_same(impossible: Impossible) -> None:
    answer = compare_positions(impossible.variant, impossible.deal, limit=100_000)
    assert (answer.verdict, answer.positions) == ("impossible", impossible.positions)


@pytest.mark.parametrize("rules", RULES, ids=lambda rules: ", ".join(rules.values()))
def test_counts_of_positions_are_the_same(rules: dict[str, str]) -> None:
    """With few cells most deals are impossible, and all their positions can be counted."""
    verdicts = Counter(
        compare_positions(without_stock(decks, cells, **rules), deal).verdict
        for decks in (1, 2)
        for cells in range(4)
        for deal in range(20)
    )
    assert verdicts["impossible"] >= 10, verdicts
