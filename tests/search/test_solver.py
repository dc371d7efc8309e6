"""The solver agrees with an exhaustive search; its lines are legal; results are stored."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch as th

from agents import solve
from agents.networks import MovesNetwork
from agents.networks.player import TorchPlayer
from agents.results import solver_results
from agents.solve import check_line
from solitaire_env import SolitaireEnv
from solitaire_env.core.batch import Batch
from solitaire_env.core.layout import PLAYING
from solitaire_env.core.native import widened
from solitaire_env.core.spec import GameSpec
from solitaire_env.loading import load_prior
from solitaire_env.move_features.autoplay import autoplay_safe, has_safe_moves
from solitaire_env.notation import parse_position
from solitaire_env.policies import Policy
from solitaire_env.policies.linear import weights_for
from solitaire_env.registration import step_limit
from solitaire_env.search import positions
from solitaire_env.search.beam import Beam, BeamResult, ValueFunction
from solitaire_env.search.shorten import shorten
from solitaire_env.search.solver import Solver
from solitaire_env.search.values import PositionValues
from solitaire_env.solving import load_solver
from solitaire_env.splits import SPLITS, games_of_split, split_deals
from solitaire_env.variants import Variant, get_variant
from tests.conftest import Refuses
from tests.games import ALL_GAMES, FURTHER, MIXES, SAMPLED, SHORT, dealt
from tests.move_features.test_moves import played
from tests.oracles.fc_solve import read_impossible
from tests.oracles.search import search

Array = npt.NDArray[Any]


PACKS = SHORT | FURTHER
"""Games with few ranks and piles, so that all positions reachable from a deal can be visited."""


def test_keys_ignore_the_order_of_piles_and_cells() -> None:
    variant = get_variant("eights-down")
    batch = played(variant, 12, 64)
    batch.state.rows[1] = batch.state.rows[0]
    piles = batch.state.rows[:, : batch.rules.row_cells].reshape(64, variant.piles, -1)
    piles[1] = piles[0, ::-1]
    cells = batch.state.rows[:, batch.rules.row_cells : batch.rules.row_waste]
    cells[1] = cells[0, ::-1]
    batch.derive(np.arange(64))
    keys = np.zeros(64, dtype=np.uint64)
    positions.keys_of(batch.rules, batch.state, 64, positions.SALT, keys)
    assert keys[0] == keys[1]
    assert len(set(keys.tolist())) == 63


@pytest.mark.parametrize("name", SAMPLED)
def test_incremental_keys_equal_full_keys(name: str) -> None:
    """The incremental keys equal those computed from the whole position."""
    variant = ALL_GAMES[name]
    batch = Batch(GameSpec(variant), 2)
    rules, state = batch.rules, widened(batch.state)
    trail = positions.make_trail(rules)
    random = np.random.default_rng(0)
    moves = 0
    for deal in range(6):
        batch.deal(np.array([0, 1]), [deal, deal])
        while int(state.status[0]) == PLAYING and moves < 50 * (deal + 1):
            moves += 1
            positions.follow(rules, state, 0, trail)
            batch.copy_rows(np.array([0]), np.array([1]))
            action = int(random.choice(np.flatnonzero(state.mask[0])))
            batch.step(np.array([0, action]), np.array([0, 1], dtype=np.int8))
            if variant.build == "same suit":
                autoplay_safe(rules, state, batch.events, 1)
            first, second = positions.keys_after(rules, state, 0, 1, trail)
            assert first == positions.key_of(rules, state, 1, positions.SALT) | np.uint64(1)
            assert second == positions.key_of(rules, state, 1, positions.SALT_2)
            batch.copy_rows(np.array([1]), np.array([0]))
    assert moves > 10


# ----------------------------------------------------------------------------------------- the solver


def shipped(game: str) -> Policy:
    """The shipped network of a game."""
    return load_prior("shipped", GameSpec(get_variant(game)))


@pytest.mark.parametrize("name", [name for name in SAMPLED if name.values[0] in PACKS])
def test_solver_agrees_with_exhaustive_search(name: str) -> None:
    variant = PACKS[name]
    ours = Solver(variant, megabytes=20)
    env = SolitaireEnv(variant)
    for deal in range(8):
        solution = ours.solve_deal(deal, seconds=60)
        env.reset(options={"deal": deal})
        theirs = search(parse_position(env.position(), variant))
        assert theirs.ended
        assert solution.status == ("unwinnable" if theirs.line is None else "won"), f"deal {deal}"
        home, won = check_line(variant, deal, solution.line)
        assert home == solution.cards_home
        assert won == (solution.status == "won")


@pytest.mark.parametrize("name", ["forty-thieves", "forty-bandits", "klondike", "yukon", "zebra", "penguin"])
def test_lines_in_published_games_are_legal(name: str) -> None:
    variant = get_variant(name)
    solution = Solver(variant, megabytes=2).solve_deal(1, seconds=30, positions=500)
    home, _ = check_line(variant, 1, solution.line)
    assert home == solution.cards_home


def visited(variant: Variant, start: int | str, line: tuple[int, ...]) -> tuple[list[Array], Batch]:
    """The position rows of a line, and the batch after it."""
    batch = dealt(variant, start)
    rows = [batch.state.rows[0].copy()]
    for action in line:
        batch.play(np.array([0]), np.array([action]))
        rows.append(batch.state.rows[0].copy())
    return rows, batch


@pytest.mark.parametrize("deal", ["ms:92", "ms:36", "ms:463", "ms:937"])
def test_winning_lines_fit_the_step_limit(deal: str) -> None:
    """The exhaustive search wins these deals by lines of 2,913 to 6,607 moves."""
    variant = get_variant("freecell")
    solution = Solver(variant).solve_deal(deal, seconds=60)
    rows, batch = visited(variant, deal, solution.line)
    assert batch.won[0] and len(solution.line) < 200 < step_limit(variant)
    assert len({row.tobytes() for row in rows}) == len(rows)


@pytest.mark.parametrize(
    ("variant", "detours"),
    [
        (get_variant("eights-down"), 5),
        (get_variant("freecell"), 4),
        (get_variant("klondike"), 1),
        # Here few moves can be undone.
        (SHORT["short-4, same suit, any, one card"], 0),
        (SHORT["short-4, same suit, any, sequence"], 0),
    ],
)
def test_shortened_lines_win_without_their_detours(variant: Variant, detours: int) -> None:
    """Lines start with random moves; no line gets longer, and at least ``detours`` get shorter."""
    random = np.random.default_rng(0)
    ours = Solver(variant, megabytes=50)
    shorter = tried = 0
    for deal in range(12):
        batch = dealt(variant, deal)
        start, wandered = batch.state.rows[0].copy(), []
        while len(wandered) < 12 and (legal := np.flatnonzero(batch.state.mask[0])).size:
            wandered.append(int(random.choice(legal)))
            batch.play(np.array([0]), np.array(wandered[-1:]))
        rest = ours.solve(batch.state.rows[0], seconds=60, positions=200_000)
        if rest.status != "won":
            continue
        line = (*wandered, *rest.line)
        short = shorten(variant, start, line, 50)
        rows, batch = visited(variant, deal, short)
        assert batch.won[0] and len(short) <= len(line)
        assert len({row.tobytes() for row in rows}) == len(rows)
        assert shorten(variant, start, short, 50) == short
        tried, shorter = tried + 1, shorter + (len(short) < len(line))
    assert tried >= 3 and shorter >= detours


def test_deals_that_fc_solve_calls_impossible_are_unwinnable() -> None:
    ours = Solver(get_variant("eights-down"))
    assert {ours.solve_deal(deal, seconds=600).status for deal in (239, 251, "ms:644")} == {"unwinnable"}


def test_exhaustive_search_without_memory_proves_nothing() -> None:
    """With enough memory, 40,235 moves prove that this deal cannot be won."""
    ours = Solver(get_variant("eights-down"), megabytes=1)
    ours.megabytes = 0.001
    assert ours.solve_deal(251, positions=200_000).status == "open"


def test_a_won_position_needs_no_move() -> None:
    variant = SHORT["short-3, same suit, any, one card"]
    ours = Solver(variant)
    won = Batch(GameSpec(variant), 1).state.rows[0]
    rules = ours.batch.rules
    won[rules.row_foundations : rules.row_foundations + 4] = 3
    solution = ours.solve(won)
    assert (solution.status, solution.line, solution.cards_home) == ("won", (), 12)


# ------------------------------------------------------------------------------------------ the beams


def beams_of(variant: Variant, values: ValueFunction, cards: Array, width: int) -> list[BeamResult]:
    """The results of three beam searches: by playouts, by playouts and a network, by the network alone."""
    weights = weights_for(variant.name, stock=variant.stock > 0)
    random = np.random.default_rng(0)
    return [
        Beam(variant, 50, weights).search(cards, width, random),
        Beam(variant, 50, weights, values).search(cards, width, random),
        Beam(variant, 50, weights, values).search(cards, width),
    ]


def played_out(variant: Variant, cards: Array, found: BeamResult, deal: int) -> int:
    """Play the line of a beam search in the environment; return the cards home."""
    batch = Batch(GameSpec(variant), 1)
    line = positions.spell_out(batch, cards, found.line, has_safe_moves(variant), found.home)
    home, won = check_line(variant, deal, tuple(line))
    assert won == (home == variant.cards)
    return home


@pytest.mark.parametrize(
    "name", ["same-color", "two-colors", *(f"short-5, same suit, none, {moves}" for moves in MIXES[2][1:])]
)
def test_beam_search_proves_only_unwinnable_deals(name: str) -> None:
    """A beam that keeps all positions proves; a narrow one proves nothing wrong; for each ranking."""
    variant = PACKS[name]
    spec = GameSpec(variant)
    network = MovesNetwork(spec)
    player = TorchPlayer(network, spec, "untrained", value=th.nn.Linear(network.width, 1))
    values = PositionValues(variant, player)
    batch = Batch(GameSpec(variant), 1)
    env = SolitaireEnv(variant)
    ends: Counter[bool] = Counter()
    for deal in range(10):
        batch.deal(np.array([0]), [deal])
        cards = batch.state.rows[0].copy()
        env.reset(options={"deal": deal})
        possible = search(parse_position(env.position(), variant)).line is not None
        for wide in beams_of(variant, values, cards, 30_000):
            assert (wide.home == variant.cards) == possible, f"deal {deal}"
            assert wide.exhausted or possible
            assert played_out(variant, cards, wide, deal) == wide.home
        for narrow in beams_of(variant, values, cards, 2):
            assert not (narrow.exhausted and possible and narrow.home < variant.cards)
            assert played_out(variant, cards, narrow, deal) == narrow.home
        ends[possible] += 1
    assert len(ends) == 2


@pytest.mark.parametrize("game", ["forty-thieves", "eighty-thieves", "forty-bandits", "busy-aces"])
def test_lines_of_beam_search_are_legal(game: str) -> None:
    """A beam of width 1 that is given a line returns one with at least as many cards home."""
    player = shipped(game)
    variant = get_variant(game).with_rules(moves=player.moves)
    beam = Beam(variant, 50, weights_for(variant.name, stock=variant.stock > 0))
    batch = dealt(variant, 0)
    cards = batch.state.rows[0].copy()
    for found in beams_of(variant, PositionValues(variant, player), cards, 4):
        assert played_out(variant, cards, found, 0) == found.home > 10
        again = beam.search(cards, 1, np.random.default_rng(2), line=found.line, home=found.home)
        assert played_out(variant, cards, again, 0) == again.home >= found.home


def test_networks_that_beam_search_cannot_use_are_refused(refuses: Refuses) -> None:
    player = shipped("busy-aces")
    refuses(lambda: Solver(get_variant("forty-bandits"), network=player), "supermove", "sequence")
    spec = GameSpec(get_variant("busy-aces")).view(moves="supermove")
    headless = TorchPlayer(MovesNetwork(spec), spec, "headless")
    refuses(lambda: Solver(get_variant("busy-aces"), network=headless), "no value head")


# ---------------------------------------------------------------------------------------- the command


def test_results_are_stored_without_a_file(empty_stores: Path) -> None:
    for deals in ("250:252", "252:254"):
        assert solve.main(["eights-down", "--quiet", "--deals", deals]) == 0
    stored = solver_results.solver_results()["eights-down"]
    assert [row.status for row in stored.values()] == ["won", "unwinnable", "won", "won"]


def test_solve_adds_results_to_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "results.jsonl"
    command = ["eights-down", "--out", str(path), "--quiet"]
    assert solve.main([*command, "--deals", "250:253"]) == 0
    assert "won             2" in capsys.readouterr().out
    first = path.read_text()
    assert solve.main([*command, "--deals", "249:253"]) == 0
    assert path.read_text().splitlines()[1:] == first.splitlines()
    assert [v.deal for v in solver_results.read_solver_results(path)] == [249, 250, 251, 252]


def test_unknown_deals_keep_the_best_line(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    command = ["eighty-thieves", "--deals", "0:1", "--out", str(path), "--quiet", "--network", "none"]
    for seconds in ("0.3", "1", "0.1"):
        assert solve.main([*command, "--seconds", seconds]) == 0
        if seconds == "0.3":
            better = json.loads(path.read_text()) | {"cards_home": 190}
            path.write_text(json.dumps(better) + "\n")
    [row] = solver_results.read_solver_results(path)
    assert (row.status, row.cards_home) == ("open", 190)


def test_results_of_another_game_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], refuses: Refuses
) -> None:
    path = tmp_path / "results.jsonl"
    solve.main(["eights-down", "--out", str(path), "--quiet", "--deals", "0"])
    assert solve.main(["busy-aces", "--out", str(path), "--quiet", "--deals", "0"]) == 2
    assert "EightsDown" in capsys.readouterr().err
    path.write_text('{"deal": 1}\n')
    refuses(lambda: solver_results.read_solver_results(path), "line 1", "not a solver result")


def test_wins_that_exceed_the_step_limit_are_not_playable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lines of deals 0 and 1 have 81 and 87 moves, and 251 cannot be won."""
    monkeypatch.setattr(solver_results, "step_limit", lambda _: 81)
    path = tmp_path / "results.jsonl"
    assert solve.main(["eights-down", "--deals", "0,1,251", "--out", str(path), "--quiet"]) == 0
    assert [row.playable for row in solver_results.read_solver_results(path)] == [True, False, False]


# --------------------------------------------------------------------------------- the stored results


def test_only_the_known_impossible_deal_of_freecell_is_unwinnable() -> None:
    """Of Microsoft's deals 1-1000 all can be won, and 11982 cannot. fc-solve wins the thousand."""
    stored = solver_results.solver_results()["freecell"]
    microsoft = {*(f"ms:{number}" for number in (*range(1, 1001), 11982))}
    assert {*stored} == {*microsoft, *range(1000), *SPLITS["train-winnable"].deals}
    assert {deal for deal, row in stored.items() if row.status == "unwinnable"} == {"ms:11982"}
    assert sum(row.playable for row in stored.values()) >= 1965


def test_stored_results_agree_with_fc_solve() -> None:
    """``tests/oracles/test_fc_solve.py`` runs fc-solve on these deals again."""
    results = solver_results.solver_results()["eights-down"]
    stored = {deal: row for deal, row in results.items() if deal in range(1000)}
    theirs = {other.deal for other in read_impossible() if other.variant == get_variant("eights-down")}
    ours = {deal for deal, row in stored.items() if row.status == "unwinnable"}
    assert ours == {deal for deal in theirs if deal in range(1000)} != set()
    assert sum(row.status == "won" for row in stored.values()) == 1000 - len(ours)


def test_training_deals_that_can_be_won_are_of_the_solver() -> None:
    """Its stored results have a replayed line, within the step limit, for each of them and for no other."""
    games = games_of_split("train-winnable")
    assert {"klondike", "klondike-draw-3", "freecell", "busy-aces", "eights-down"} < {*games}
    for game, results in solver_results.solver_results().items():
        won = [deal for deal in SPLITS["train-winnable"].deals if deal in results and results[deal].playable]
        assert game not in games or won == split_deals("train-winnable", game), game


@pytest.mark.slow
def test_the_solver_wins_training_deals_again() -> None:
    """The first ten of each game, by lines that are replayed."""
    for name in games_of_split("train-winnable"):
        variant = get_variant(name)
        solves = load_solver(variant, "shipped", 1000)
        for deal in split_deals("train-winnable", name)[:10]:
            solution = solves.solve_deal(deal, seconds=60)
            assert check_line(variant, deal, solution.line)[1], (name, deal)
