"""The solver agrees with independent searches; the search policy does not use hidden cards."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch as th

from agents import solve
from agents.networks import MovesNetwork
from agents.networks.player import NetworkPlayer
from agents.policies import load_search, torch_network
from agents.reports import solver_results
from agents.search import beam, positions, solver
from agents.search.beam import Beam, BeamResult, ValueFunction
from agents.search.budget import Budget
from agents.search.player import MAX_IDLE, Searcher
from agents.search.shorten import shorten
from agents.search.solver import Solver
from agents.search.stocks import draw_stocks, unseen
from agents.search.values import PositionValues
from solitaire_env import SolitaireEnv
from solitaire_env.core.batch import Batch
from solitaire_env.core.layout import PLAYING
from solitaire_env.core.native import widened
from solitaire_env.core.spec import GameSpec
from solitaire_env.evaluation import evaluate
from solitaire_env.move_features.autoplay import SafeAutoplay, autoplay_safe, autoplay_safe_move
from solitaire_env.move_features.columns import NUM_MOVE
from solitaire_env.move_features.moves import make_move_scratch, score_moves
from solitaire_env.move_features.reader import MoveReader
from solitaire_env.notation import parse_position
from solitaire_env.policies.linear import weights_for
from solitaire_env.registration import step_limit
from solitaire_env.variants import Variant, get_variant
from tests.conftest import Refuses
from tests.games import ALL_GAMES, ONE_PER_RULE, SAMPLED
from tests.move_features.test_moves import played
from tests.oracles.fc_solve import read_impossible
from tests.oracles.search import search

Array = npt.NDArray[Any]


SMALL = {
    variant.name: variant
    for variant in (
        Variant("small-forty-thieves", "Small Forty Thieves", decks=2, tableau=(7, 7), ranks=3),
        Variant("small-eighty-thieves", "Small Eighty Thieves", decks=4, tableau=(12, 12), ranks=2),
        Variant(
            "small-eights-down", "Small Eights Down", decks=1, tableau=(4, 4, 4), cells=2, cells_filled=2,
            ranks=4, spaces="kings", moves="supermove",
        ),
        Variant(
            "small-forty-bandits", "Small Forty Bandits", decks=2, tableau=(7, 7), ranks=3,
            moves="sequence",
        ),
        Variant("small-busy-aces", "Small Busy Aces", decks=1, tableau=(1,), ranks=4),
    )
}  # fmt: skip
"""Each game with few ranks and piles, so that all positions reachable from a deal can be visited."""


# ------------------------------------------------------------------------------------- the kernels


@pytest.mark.parametrize("name", [name for name, v in ONE_PER_RULE.items() if v.build == "same suit"])
def test_state_and_observation_give_the_same_move_scores(name: str) -> None:
    variant = ALL_GAMES[name]
    weights = np.random.default_rng(1).standard_normal(NUM_MOVE)
    reader = MoveReader(GameSpec(variant))
    for steps in (0, 5, 20):
        batch = played(variant, steps, 8)
        scratch = make_move_scratch(batch.rules)
        for row in np.flatnonzero(batch.state.status == PLAYING):
            seen = reader.read_moves(batch.observations()[[row]], batch.state.mask[[row]])
            n = score_moves(batch.rules, widened(batch.state), row, weights, scratch)
            assert scratch.actions[:n].tolist() == seen.actions.tolist()
            assert scratch.scores[:n] == pytest.approx(seen.moves @ weights, abs=1e-5)


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
        while int(state.status[0]) == PLAYING and moves < 100 * (deal + 1):
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


@pytest.mark.parametrize("name", [name for name, v in ONE_PER_RULE.items() if v.build == "same suit"])
def test_safe_autoplay_agrees_for_rows_and_observations(name: str) -> None:
    variant = ALL_GAMES[name]
    autoplay = SafeAutoplay(GameSpec(variant))
    found = 0
    for steps in (0, 5, 20, 60):
        batch = played(variant, steps, 32)
        safe = autoplay.moves(batch.observations(), batch.state.mask)
        for row in np.flatnonzero(batch.state.status == PLAYING):
            assert safe[row] == autoplay_safe_move(batch.rules, batch.state, row)
            found += safe[row] >= 0
    assert found > 0


# -------------------------------------------------------------------------------------- the solver


def shipped(game: str) -> NetworkPlayer:
    """The shipped network of a game; a new one each time, for who asks may change it."""
    player = torch_network("shipped", GameSpec(get_variant(game)))
    assert isinstance(player, NetworkPlayer)
    return player


def agree(variant: Variant, deals: range) -> Counter[str]:
    """Solve deals of a small game, and search each exhaustively by another program; count the results."""
    found: Counter[str] = Counter()
    ours = Solver(variant, megabytes=200)
    env = SolitaireEnv(variant)
    for deal in deals:
        solution = ours.solve_deal(deal, seconds=60)
        env.reset(options={"deal": deal})
        theirs = search(parse_position(env.position(), variant))
        assert theirs.ended
        assert solution.result == ("unwinnable" if theirs.line is None else "winnable"), f"deal {deal}"
        texts, home, won = solve.check_line(variant, deal, solution.line)
        assert (len(texts), home) == (len(solution.line), solution.cards_home)
        assert won == (solution.result == "winnable")
        found[solution.result] += 1
    return found


@pytest.mark.parametrize("name", SMALL)
def test_solver_agrees_with_exhaustive_search(name: str) -> None:
    assert len(agree(SMALL[name], range(20))) == 2


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_solver_agrees_with_exhaustive_search_on_a_thousand_deals(name: str) -> None:
    found = agree(SMALL[name], range(1000))
    assert found.total() == 1000
    assert min(found["winnable"], found["unwinnable"]) > 10


def visited(variant: Variant, start: int | str, line: tuple[int, ...]) -> tuple[list[Array], Batch]:
    """The position rows of a line, and the batch after it."""
    batch = Batch(GameSpec(variant), 1)
    batch.deal(np.array([0]), [start])
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
        (SMALL["small-forty-thieves"], 0),
        (SMALL["small-forty-bandits"], 0),
    ],
)
def test_shortened_lines_win_without_their_detours(variant: Variant, detours: int) -> None:
    """Lines start with random moves; no line gets longer, and at least ``detours`` get shorter."""
    random = np.random.default_rng(0)
    ours = Solver(variant, megabytes=50)
    shorter = tried = 0
    for deal in range(12):
        batch = Batch(GameSpec(variant), 1)
        batch.deal(np.array([0]), [deal])
        start, wandered = batch.state.rows[0].copy(), []
        while len(wandered) < 12 and (legal := np.flatnonzero(batch.state.mask[0])).size:
            wandered.append(int(random.choice(legal)))
            batch.play(np.array([0]), np.array(wandered[-1:]))
        rest = ours.solve(batch.state.rows[0], seconds=60, nodes=200_000)
        if rest.result != "winnable":
            continue
        line = (*wandered, *rest.line)
        short = shorten(variant, start, line, 50)
        rows, batch = visited(variant, deal, short)
        assert batch.won[0] and len(short) <= len(line)
        assert len({row.tobytes() for row in rows}) == len(rows)
        assert shorten(variant, start, short, 50) == short
        tried, shorter = tried + 1, shorter + (len(short) < len(line))
    assert tried >= 3 and shorter >= detours


def test_ctrl_c_keeps_the_line_of_a_win(monkeypatch: pytest.MonkeyPatch) -> None:
    interrupt(monkeypatch, solver, "shorten", 1)
    solution = Solver(get_variant("eights-down")).solve_deal(7)
    assert (solution.stopped, solution.result) == (True, "winnable")
    assert visited(get_variant("eights-down"), 7, solution.line)[1].won[0]


def test_deals_that_fc_solve_calls_impossible_are_unwinnable() -> None:
    ours = Solver(get_variant("eights-down"))
    assert {ours.solve_deal(deal, seconds=600).result for deal in (239, 251, "ms:644")} == {"unwinnable"}


def test_exhaustive_search_without_memory_proves_nothing() -> None:
    variant = SMALL["small-forty-thieves"]
    impossible = next(d for d in range(40) if Solver(variant).solve_deal(d).result == "unwinnable")
    ours = Solver(variant, megabytes=1)
    ours.megabytes = 0.001
    assert ours.solve_deal(impossible, nodes=100_000).result == "unknown"


def test_a_won_position_needs_no_move() -> None:
    variant = SMALL["small-busy-aces"]
    ours = Solver(variant)
    won = Batch(GameSpec(variant), 1).state.rows[0]
    rules = ours.batch.rules
    won[rules.row_foundations : rules.row_foundations + 4] = 4
    solution = ours.solve(won)
    assert (solution.result, solution.line, solution.cards_home) == ("winnable", (), 16)


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
    line = positions.spell_out(batch, cards, found.line, variant.build == "same suit", found.home)
    *_, home, won = solve.check_line(variant, deal, tuple(line))
    assert won == (home == variant.cards)
    return home


@pytest.mark.parametrize("name", SMALL)
def test_beam_search_proves_only_unwinnable_deals(name: str) -> None:
    """A beam that keeps all positions proves; a narrow one proves nothing wrong; for each ranking."""
    variant = SMALL[name]
    if variant.moves == "one card":
        variant = variant.with_rules(moves="supermove")
    spec = GameSpec(variant)
    network = MovesNetwork(spec)
    player = NetworkPlayer(network, spec, "untrained", value=th.nn.Linear(network.width, 1))
    values = PositionValues(variant, player)
    batch = Batch(GameSpec(variant), 1)
    env = SolitaireEnv(variant)
    ends: Counter[bool] = Counter()
    for deal in range(20):
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
    player = shipped(game)
    variant = get_variant(game).with_rules(moves=player.moves)
    batch = Batch(GameSpec(variant), 1)
    for deal in range(2):
        batch.deal(np.array([0]), [deal])
        cards = batch.state.rows[0].copy()
        for found in beams_of(variant, PositionValues(variant, player), cards, 4):
            assert played_out(variant, cards, found, deal) == found.home > 10


@pytest.mark.parametrize("game", ["forty-thieves", "eighty-thieves", "forty-bandits"])
def test_beam_search_keeps_the_known_line(game: str) -> None:
    """Even with width 1 it returns a line with at least as many cards home."""
    variant = get_variant(game).with_rules(moves=shipped(game).moves)
    autoplay = variant.build == "same suit"
    beam = Beam(variant, 20, weights_for(variant.name, stock=variant.stock > 0))
    batch = Batch(GameSpec(variant), 1)
    for deal in range(3):
        batch.deal(np.array([0]), [deal])
        cards = batch.state.rows[0].copy()
        known = beam.search(cards, 8, np.random.default_rng(1))
        again = beam.search(cards, 1, np.random.default_rng(2), line=known.line, home=known.home)
        assert again.home >= known.home
        spelled = positions.spell_out(batch, cards, again.line, autoplay, again.home)
        assert int(batch.state.home[0]) == again.home and spelled


def test_networks_that_beam_search_cannot_use_are_refused(refuses: Refuses) -> None:
    player = shipped("busy-aces")
    refuses(lambda: Solver(get_variant("forty-bandits"), network=player), "supermove", "sequence")
    headless = NetworkPlayer(player.network, player.spec, "headless")
    refuses(lambda: Solver(get_variant("busy-aces"), network=headless), "no value head")


def interrupt(monkeypatch: pytest.MonkeyPatch, module: Any, name: str, call: int) -> None:
    """Press Ctrl-C in that call of a module's function."""
    calls = 0
    real = getattr(module, name)

    def interrupted(*args: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == call:
            raise KeyboardInterrupt
        return real(*args)

    monkeypatch.setattr(module, name, interrupted)


def test_ctrl_c_keeps_the_best_line_of_a_beam(monkeypatch: pytest.MonkeyPatch) -> None:
    interrupt(monkeypatch, beam, "widen", 60)
    monkeypatch.setattr(solver, "TRIES_BEFORE_BEAM", 1)
    solution = Solver(get_variant("eighty-thieves"), network=shipped("eighty-thieves")).solve_deal(0)
    assert (solution.stopped, solution.result) == (True, "unknown")
    assert solution.cards_home > 40


# ------------------------------------------------------------------------------------- the command


def test_solve_prints_a_winning_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert solve.main(["eights-down", "--deal", "7", "--quiet"]) == 0
    head, line, foot = capsys.readouterr().out.splitlines()
    assert head.startswith("Solitaire/EightsDown-v0, deal 7: won in ")
    assert "moves played" in foot
    env = SolitaireEnv("eights-down", on_invalid="raise")
    env.reset(options={"deal": 7})
    for text in line.split():
        *_, info = env.step(env.parse_action(text))
    assert info["is_success"]


def test_solve_reports_an_unwinnable_deal(capsys: pytest.CaptureFixture[str]) -> None:
    assert solve.main(["eights-down", "--deal", "251", "--quiet"]) == 0
    assert "cannot be won" in capsys.readouterr().out


def test_solve_reads_a_position(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    env = SolitaireEnv("busy-aces")
    env.reset(options={"deal": 3})
    path = tmp_path / "position.txt"
    path.write_text(env.position())
    assert solve.main(["busy-aces", "--position", str(path), "--quiet"]) == 0
    assert "position.txt: won in" in capsys.readouterr().out


def test_results_are_stored_without_a_file(empty_stores: Path) -> None:
    for deals in ("250:252", "252:254"):
        assert solve.main(["eights-down", "--quiet", "--deals", deals]) == 0
    stored = solver_results.solver_results()["eights-down"]
    assert [row.result for row in stored.values()] == ["winnable", "unwinnable", "winnable", "winnable"]


def test_solve_adds_results_to_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "results.jsonl"
    command = ["eights-down", "--out", str(path), "--quiet"]
    assert solve.main([*command, "--deals", "250:253"]) == 0
    assert "winnable        2" in capsys.readouterr().out
    first = path.read_text()
    assert [json.loads(line)["result"] for line in first.splitlines()] == [
        "winnable",
        "unwinnable",
        "winnable",
    ]
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
    assert (row.result, row.cards_home) == ("unknown", 190)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["busy-aces"], ["--deal"]),
        (["busy-aces", "--deal", "7", "--deals", "0:3"], ["exactly one of"]),
        (["busy-aces", "--deal", "7", "--seconds", "0"], ["seconds is 0", "above 0"]),
        (["busy-aces", "--deal", "7", "--memory", "0"], ["memory is 0", "1 to"]),
        (["busy-aces", "--position", "nowhere.txt"], ["nowhere.txt"]),
        (["busy-aces", "--deal", "7", "--network", "greedy"], ["'greedy'", "network"]),
    ],
)
def test_solve_refuses_wrong_options(
    arguments: list[str], words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert solve.main([*arguments, "--quiet"]) == 2
    message = capsys.readouterr().err
    assert message.startswith("error: ")
    assert all(word in message for word in words), message


def test_results_of_another_game_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], refuses: Refuses
) -> None:
    path = tmp_path / "results.jsonl"
    solve.main(["eights-down", "--out", str(path), "--quiet", "--deals", "0"])
    assert solve.main(["busy-aces", "--out", str(path), "--quiet", "--deals", "0"]) == 2
    assert "EightsDown" in capsys.readouterr().err
    path.write_text('{"deal": 1}\n')
    refuses(lambda: solver_results.read_solver_results(path), "line 1", "not a solver result")


def test_wins_that_exceed_the_step_limit_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Eights Down takes more than one step a card; of these lines only one fits 80 steps."""
    steps = 80
    for module in (solve, solver_results):
        monkeypatch.setattr(module, "step_limit", lambda _: steps)
    path = tmp_path / "results.jsonl"
    assert solve.main(["eights-down", "--deals", "0,1,251", "--out", str(path), "--quiet"]) == 0
    rows = solver_results.read_solver_results(path)
    lengths = [row.steps for row in rows if row.steps is not None]
    fit = [length <= steps for length in lengths]
    assert [row.won for row in rows] == [*fit, False]
    assert solve.main(["eights-down", "--deal", "1", "--quiet"]) == 0
    assert (
        f"won in {lengths[1]} moves, more than the registered limit of {steps} steps:"
        in capsys.readouterr().out
    )


# ------------------------------------------------------------------------------ the stored results


def test_only_the_known_impossible_deal_of_freecell_is_unwinnable() -> None:
    """Of Microsoft's deals 1-1000 all can be won, and 11982 cannot. fc-solve wins the thousand."""
    stored = solver_results.solver_results()["freecell"]
    assert set(stored) == {f"ms:{number}" for number in (*range(1, 1001), 11982)}
    assert {deal for deal, row in stored.items() if row.result == "unwinnable"} == {"ms:11982"}
    assert sum(row.won for row in stored.values()) >= 980


def test_stored_results_agree_with_fc_solve() -> None:
    """``tests/oracles/test_fc_solve.py`` runs fc-solve on these deals again."""
    stored = solver_results.solver_results()["eights-down"]
    theirs = {other.deal for other in read_impossible() if other.variant == get_variant("eights-down")}
    ours = {deal for deal, row in stored.items() if row.result == "unwinnable"}
    assert ours == {deal for deal in theirs if deal in range(1000)} != set()
    assert sum(row.result == "winnable" for row in stored.values()) == 1000 - len(ours)


# -------------------------------------------------------------------------------------- the player


@cache
def searcher(game: str, **budget: Any) -> Searcher:
    made = load_search("search", GameSpec(get_variant(game)), "shipped", Budget(**budget))
    assert isinstance(made, Searcher)
    return made


@pytest.mark.parametrize("game", ["forty-thieves", "forty-bandits", "busy-aces"])
def test_search_does_not_depend_on_the_hidden_stock(game: str) -> None:
    """With equal observations and random numbers but another stock, the move is the same."""
    player = searcher(game, simulations=8)
    one, other = (Batch(GameSpec(player.variant), 1) for _ in range(2))
    random = np.random.default_rng(0)
    rules = one.rules
    searched = 0
    for deal in range(4):
        one.deal(np.array([0]), [deal])
        for step in range(30):
            cards = one.state.rows[0].copy()
            stock = cards[rules.row_stock : rules.row_stock + int(one.state.stock[0])]
            stock[:] = random.permutation(stock)
            other.set_row(0, cards)
            uniforms = np.array([random.random()])
            before = player.simulated_moves
            chosen = [
                player(batch.observations().copy(), batch.state.mask.copy(), uniforms=uniforms)
                for batch in (one, other)
            ]
            assert chosen[0] == chosen[1], f"deal {deal}, move {step}"
            searched += player.simulated_moves > before
            one.step(chosen[0], one.everyone)
    assert searched > 5


def test_sampled_stock_orders_are_uniform() -> None:
    player = searcher("forty-thieves")
    batch = Batch(GameSpec(player.variant), 1)
    rules = batch.rules
    batch.deal(np.array([0]), [5])
    # All but three cards of the stock are drawn.
    for _ in range(61):
        batch.step(np.zeros(1, dtype=np.int64), batch.everyone)
    observation = batch.observations()[0]
    left = batch.state.rows[0, rules.row_stock : rules.row_stock + 3]
    assert sorted(left.tolist()) == unseen(player.batch.rules, observation).tolist()
    drawn = draw_stocks(player.batch.rules, observation, 6000, np.random.default_rng(3))
    orders = Counter(map(tuple, drawn.tolist()))
    expected = Counter(permutations(sorted(left.tolist())))
    assert orders.keys() == expected.keys()
    each = 6000 / expected.total()
    squares = sum((orders[order] - n * each) ** 2 / (n * each) for order, n in expected.items())
    # Chi-square with at most five degrees of freedom: above 20.5 once in a thousand.
    assert squares < 20.5, orders


def test_games_do_not_depend_on_parallel_games() -> None:
    deals = [20000, 20001]
    player = searcher("busy-aces", simulations=4)
    many = evaluate(player, "busy-aces", deals, num_envs=2)
    one = evaluate(player, "busy-aces", deals, num_envs=1)
    assert many.games == one.games
    assert all(game.cards_home > 20 for game in one.games)


def test_search_follows_a_plan_if_nothing_is_hidden() -> None:
    done = evaluate(searcher("eights-down"), "eights-down", range(20000, 20020), transcripts=True)
    assert sum(game.won for game in done.games) >= 19
    assert all("information: player" in text for text in done.transcripts.values())


def test_idle_games_are_not_searched() -> None:
    player = searcher("forty-bandits", simulations=4, candidates=3)
    batch = Batch(GameSpec(player.variant), 1)
    simulated = []
    for turn in range(60):
        if turn < 60 - MAX_IDLE - 10:
            batch.deal(np.array([0]), [turn])
        chosen = player(
            batch.observations(), batch.state.mask, uniforms=np.array([0.3]), games=np.array([-77])
        )
        assert batch.state.mask[0, chosen[0]]
        simulated.append(player.simulated_moves)
    # The position stays the same.
    assert simulated[9] > simulated[0]
    assert simulated[-1] == simulated[-9] and player.games[-77].idle > MAX_IDLE


def test_without_the_solver_moves_are_simulated() -> None:
    player = searcher("eights-down", nodes=0, simulations=4)
    done = evaluate(player, "eights-down", range(20000, 20004))
    assert player.simulated_moves > 0
    assert any(game.won for game in done.games)


def test_search_avoids_past_positions() -> None:
    player = searcher("forty-thieves", simulations=4)
    batch = Batch(GameSpec(player.variant), 1)
    batch.deal(np.array([0]), [3])
    seen = set()
    random = np.random.default_rng(0)
    for _ in range(60):
        seen.add(batch.observations()[0].tobytes())
        chosen = player(
            batch.observations(), batch.state.mask, uniforms=random.random(1), games=np.array([-5])
        )
        batch.step(chosen, batch.everyone)
    assert len(seen) == 60
    assert player.games[-5].repeats == 0


def test_a_time_limit_of_a_move_is_accepted() -> None:
    player = searcher("busy-aces", simulations=4, milliseconds=20.0)
    batch = Batch(GameSpec(player.variant), 1)
    batch.deal(np.array([0]), [3])
    for _ in range(12):
        chosen = player(batch.observations(), batch.state.mask)
        assert batch.state.mask[0, chosen[0]]
        batch.step(chosen, batch.everyone)


def test_memory_of_old_games_is_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agents.search.player.MAX_GAMES", 2)
    player = searcher("busy-aces", simulations=2)
    batch = Batch(GameSpec(player.variant), 1)
    batch.deal(np.array([0]), [3])
    for game in range(-9, -4):
        player(batch.observations(), batch.state.mask, games=np.array([game]))
    assert len(player.games) <= 3


@pytest.mark.parametrize(
    ("budget", "words"),
    [
        ({"simulations": 1}, ["simulations is 1", "at least 2"]),
        ({"min_prob": 1.1}, ["min_prob is 1.1", "0 to 1"]),
        ({"prior_weight": -0.1}, ["prior_weight is -0.1"]),
        ({"milliseconds": 0.0}, ["milliseconds is 0.0", "above 0"]),
    ],
)
def test_budget_refuses_values_out_of_range(
    budget: dict[str, Any], words: list[str], refuses: Refuses
) -> None:
    refuses(lambda: Budget(**budget), *words)


def test_search_needs_a_network(refuses: Refuses) -> None:
    spec = GameSpec(get_variant("busy-aces"))
    refuses(lambda: load_search("search", spec, "greedy"), "greedy", "network")
