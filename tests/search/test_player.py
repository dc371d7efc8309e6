"""The search policy does not use hidden cards, and spends its budget well."""

from collections import Counter
from functools import cache
from itertools import permutations
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch as th

from agents.networks import MovesNetwork
from agents.networks.player import TorchPlayer
from agents.runs.models import load_model
from solitaire_env.core.batch import Batch
from solitaire_env.core.cards import DOWN
from solitaire_env.core.layout import PLAYING
from solitaire_env.core.position import remembered_order
from solitaire_env.core.spec import GameSpec
from solitaire_env.evaluation import evaluate
from solitaire_env.loading import load_policy, load_prior, load_search
from solitaire_env.policies import FunctionPolicy, Policy, view_of
from solitaire_env.policies.network import CompiledNetwork
from solitaire_env.policies.shipped import SHIPPED, shipped_games
from solitaire_env.search.budget import Budget
from solitaire_env.search.player import MAX_IDLE, Searcher
from solitaire_env.search.stocks import draw_stocks, unseen, with_stock, write_games
from solitaire_env.variants import get_variant
from tests.conftest import Refuses
from tests.games import dealt

Array = npt.NDArray[Any]


@cache
def searcher(game: str, **budget: Any) -> Searcher:
    made = load_search(GameSpec(get_variant(game)), "shipped", Budget(**budget))
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


@pytest.mark.parametrize("name", ["klondike", "yukon", "zebra", "emperor", "little-forty"])
def test_hidden_cards_are_sampled_together(name: str) -> None:
    variant = get_variant(name)
    batch = dealt(variant, 1)
    rules, row, observation = batch.rules, batch.state.rows[0].copy(), batch.observations()[0].copy()
    down = row[: rules.row_cells] >= DOWN
    cards = np.concatenate((row[: rules.row_cells][down] & ~DOWN, row[rules.row_stock :]))
    assert unseen(rules, observation).tolist() == sorted(cards.tolist())
    orders = draw_stocks(rules, observation, 20, np.random.default_rng(0))
    games = Batch(GameSpec(variant), 20)
    write_games(rules, games.state.rows, observation, orders)
    games.derive(np.arange(20))
    np.testing.assert_array_equal(games.observations(), np.tile(observation, (20, 1)))
    for n in range(20):
        other = games.state.rows[n]
        drawn = np.concatenate((other[: rules.row_cells][down] & ~DOWN, other[rules.row_stock :]))
        assert sorted(drawn.tolist()) == sorted(cards.tolist())
    assert len({games.state.rows[n].tobytes() for n in range(20)}) == 20


@pytest.mark.parametrize("name", ["klondike", "little-forty"])
def test_stock_is_remembered_after_a_redeal(name: str) -> None:
    variant = get_variant(name)
    batch = dealt(variant, 3)
    rules, random = batch.rules, np.random.default_rng(3)
    games = Batch(GameSpec(variant), 3)
    remembering = Batch(GameSpec(variant).view(information="memory"), 1)
    remembering.deal(np.zeros(1, dtype=np.int64), [3])
    order = None
    remembered = 0
    for move in range(300):
        row, observation = batch.state.rows[0], batch.observations()[0]
        order = remembered_order(rules, observation, order)
        np.testing.assert_array_equal(with_stock(rules, observation, order), remembering.observations()[0])
        if order is not None:
            remembered += int(batch.state.stock[0]) > 0
            orders = draw_stocks(rules, observation, 3, random, order)
            write_games(rules, games.state.rows, observation, orders)
            games.derive(np.arange(3))
            np.testing.assert_array_equal(games.observations(), np.tile(observation, (3, 1)))
            stock = row[rules.row_stock :]
            np.testing.assert_array_equal(games.state.rows[:, rules.row_stock :], np.tile(stock, (3, 1)))
        # Draws and redeals more often than other moves.
        legal = np.flatnonzero(batch.state.mask[0])
        action = legal[0] if legal[0] < 2 and move % 4 else random.choice(legal)
        for games_of_one in (batch, remembering):
            games_of_one.step(np.array([action]), batch.everyone)
        if batch.state.status[0] != PLAYING:
            break
    assert remembered > 5


# ----------------------------------------------------------------------------------------- the player


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


def test_search_avoids_past_positions() -> None:
    player = searcher("forty-thieves", simulations=4)
    batch = dealt(player.variant, 3)
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
    assert evaluate(player, "busy-aces", [3], max_episode_steps=12).games[0].steps == 12


def test_memory_of_old_games_is_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("solitaire_env.search.policy.MAX_GAMES", 2)
    player = searcher("busy-aces", simulations=2)
    batch = dealt(player.variant, 3)
    for game in range(-9, -4):
        player(batch.observations(), batch.state.mask, games=np.array([game]))
    assert len(player.games) <= 3


def untrained(name: str) -> Searcher:
    """A search player with a small random network."""
    spec = GameSpec(get_variant(name))
    th.manual_seed(0)
    player = TorchPlayer(MovesNetwork(spec, hidden=(8,), width=8, dig_out=1, family=1), spec, "untrained")
    return Searcher(spec.variant, player, Budget(simulations=4, candidates=2, nodes=200))


def test_search_forgets_the_stock_of_an_ended_game() -> None:
    searcher = untrained("klondike")
    batch = dealt(searcher.variant, 2)
    game = np.zeros(1, dtype=np.int64)
    while searcher.games.get(0) is None or searcher.games[0].order is None:
        searcher(batch.observations(), batch.state.mask, uniforms=np.zeros(1), games=game)
        batch.step(np.zeros(1, dtype=np.int64), batch.everyone)
    searcher.ended([0])
    batch.deal(np.zeros(1, dtype=np.int64), [3])
    searcher(batch.observations(), batch.state.mask, uniforms=np.zeros(1), games=game)
    assert searcher.games[0].order is None


@pytest.mark.parametrize("name", ["klondike", "zebra", "penguin"])
def test_search_plays_games_with_further_rules(name: str) -> None:
    games = evaluate(untrained(name), name, [2], max_episode_steps=8).games
    assert games[0].steps > 0


@pytest.mark.parametrize(
    ("budget", "words"),
    [
        ({"simulations": 1}, ["simulations is 1", "from 2"]),
        ({"candidates": 2.5}, ["candidates is 2.5", "a whole number"]),
        ({"min_prob": 1.1}, ["min_prob is 1.1", "0 to 1"]),
        ({"prior_weight": -0.1}, ["prior_weight is -0.1"]),
        ({"milliseconds": 0.0}, ["milliseconds is 0.0", "above 0"]),
    ],
)
def test_budget_refuses_values_out_of_range(
    budget: dict[str, Any], words: list[str], refuses: Refuses
) -> None:
    refuses(lambda: Budget(**budget), *words)


def test_search_takes_its_options_by_name(refuses: Refuses) -> None:
    made = load_policy("search", "busy-aces", simulations=9, prior="shipped")
    assert isinstance(made, Searcher) and made.budget == Budget(simulations=9)
    refuses(lambda: load_policy("search", "busy-aces", simulation=9), "simulation", "prior, simulations")
    refuses(lambda: load_policy("greedy", "busy-aces", simulations=9), "greedy", "simulations", "none")


def test_the_prior_may_be_any_policy_with_probabilities(refuses: Refuses) -> None:
    spec = GameSpec(get_variant("busy-aces"))
    shipped = load_policy("shipped", spec)
    likely = FunctionPolicy(shipped)
    made = load_search(spec, likely, Budget(simulations=4))
    assert evaluate(made, "busy-aces", [3], max_episode_steps=8).games[0].steps == 8
    refuses(lambda: load_search(spec, load_policy("greedy", spec)), "greedy", "no probabilities")
    likely.information = "thoughtful"
    refuses(lambda: load_search(spec, likely), "'thoughtful'", "'player' or 'memory'")


class Certain(Policy):
    """Gives the last legal action the probability 1."""

    def explain(self, observations: Array, masks: Array) -> tuple[Array, None]:
        last = masks.shape[1] - 1 - masks[:, ::-1].argmax(1)
        return np.eye(masks.shape[1])[last], None


def test_search_tries_legal_moves_that_the_prior_gives_no_probability() -> None:
    made = Searcher(get_variant("busy-aces"), Certain(), Budget(simulations=8, min_prob=0))
    assert evaluate(made, "busy-aces", [3], max_episode_steps=20).games[0].steps == 20


@pytest.mark.parametrize("game", shipped_games())
def test_stored_games_know_a_network_by_its_weights_in_torch(game: str) -> None:
    """The compiled network has the fingerprint of the same network in torch, by which games were stored."""
    spec = GameSpec(get_variant(game))
    compiled, torch = load_prior("shipped", spec), load_model(SHIPPED / game, spec, game)
    assert isinstance(compiled, CompiledNetwork) and compiled.weights_fingerprint == torch.fingerprint
    assert compiled.fingerprint != compiled.weights_fingerprint
    batch = Batch(view_of(compiled, spec), 8)
    batch.deal(np.arange(8), [*range(8)])
    ours, theirs = compiled.values(batch.observations()), torch.values(batch.observations())
    assert (ours is None) == (theirs is None)
    if ours is None or theirs is None:  # without a value head
        return
    np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-6)


def test_search_needs_a_network(refuses: Refuses) -> None:
    spec = GameSpec(get_variant("busy-aces"))
    refuses(lambda: load_search(spec, "greedy"), "greedy", "network")
