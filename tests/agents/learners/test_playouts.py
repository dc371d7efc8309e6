"""Learning from playouts: values equal slow playouts; training finds the best moves."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.torch import load_file

from agents.learners import playouts as learner
from agents.learners.playouts import CANDIDATES, Decisions, PlayoutEvaluator, PlayoutLearner
from agents.runs.models import load_model
from solitaire_env.core.batch import Batch
from solitaire_env.core.spec import GameSpec, Settings
from solitaire_env.move_features.autoplay import autoplay_safe_moves
from solitaire_env.policies.linear import load_linear
from solitaire_env.search.player import STALL_LIMIT
from solitaire_env.variants import Variant, get_variant
from tests.agents.learners.rollouts import make_learner, rollout, train_and_resume
from tests.move_features.test_moves import played


def played_out(variant: Variant, row: Any, action: int) -> tuple[int, bool]:
    """Cards home, and whether the game is won, after an action and the linear policy's moves."""
    batch = Batch(GameSpec(variant), 1)
    linear = load_linear(GameSpec(variant))
    batch.set_row(0, row)
    batch.step(np.array([action]), batch.everyone)
    still = 0
    while batch.state.status[0] == 0:
        sure = autoplay_safe_moves(batch.rules, batch.state.rows, batch.state.mask)
        if sure[0] >= 0:
            batch.step(sure, batch.everyone)
            still = 0
            continue
        if still == STALL_LIMIT:
            break
        batch.step(linear(batch.observations(), batch.state.mask), batch.everyone)
        still = 0 if batch.events.went_home[0] or batch.events.advanced[0] else still + 1
    return int(batch.state.home[0]), bool(batch.state.status[0] == 1)


@pytest.mark.parametrize(
    ("game", "reward"), [("forty-thieves", "progress+win"), ("busy-aces", "progress"), ("eights-down", "win")]
)
def test_values_equal_slow_playouts(game: str, reward: str) -> None:
    """With at most one unseen card, the only possible stock order is the true one."""
    variant = get_variant(game)
    variant = variant.with_rules(moves="supermove") if variant.stock else variant
    batch = played(variant, 20, 12)
    while (left := batch.state.stock > 1).any():
        batch.step(np.zeros(12, dtype=np.int64), left.astype(np.int8))
    rows = np.flatnonzero(batch.state.status == 0)
    observations, masks = batch.observations()[rows].copy(), batch.state.mask[rows].copy()
    games, actions = masks.nonzero()
    worth = PlayoutEvaluator(GameSpec(variant, Settings(reward=reward)), 3)(
        observations, games, actions, np.random.default_rng(0)
    )
    assert len(games) > 15
    for number, action, found in zip(games, actions, worth, strict=True):
        home, won = played_out(variant, batch.state.rows[rows[number]], int(action))
        paid = {"progress": home / variant.cards, "win": float(won)}
        assert found == pytest.approx(sum(paid[part] for part in reward.split("+"))), (number, action)


def test_values_do_not_depend_on_the_hidden_stock() -> None:
    """The sampled stock orders depend only on the random numbers and the observation."""
    variant = get_variant("forty-thieves").with_rules(moves="supermove")
    batch = played(variant, 30, 4)
    observations = batch.observations().copy()
    judge = PlayoutEvaluator(GameSpec(variant), 5)
    again = PlayoutEvaluator(GameSpec(variant), 5)
    again.together = 1  # the batch size makes no difference
    games, actions = batch.state.mask.nonzero()
    first = judge(observations, games, actions, np.random.default_rng(1))
    assert (first == again(observations, games, actions, np.random.default_rng(1))).all()
    assert (first != judge(observations, games, actions, np.random.default_rng(2))).any()
    # The same move gets the same value twice: its stock orders are the same.
    twice = judge(observations, games.repeat(2), actions.repeat(2), np.random.default_rng(1))
    assert (twice == first.repeat(2)).all()


def decisions_of(**changes: Any) -> tuple[PlayoutLearner, Decisions]:
    """A learner, and the decisions of its first rollout."""
    values = {"learner": "playouts", "init_linear_temperature": 1.0, "num_playouts": 8}
    model = make_learner(**values | {"safe_autoplay": True} | changes)
    played, _ = rollout(model)
    return model, Decisions(*map(np.concatenate, zip(*played.kept, strict=True)))


def legal(model: PlayoutLearner, decisions: Decisions) -> Any:
    """The masks of decisions, int8 ``[n, actions]``."""
    seen = model.policy.network.score_cached(model.cache, decisions.rows)
    masks = np.zeros(decisions.gains.shape, dtype=np.int8)
    masks[seen.games.numpy(), seen.actions.numpy()] = 1
    return masks


def test_decisions_have_the_advantages_of_likely_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only likely moves are played out; the mean of their advantages, weighted by probability, is 0."""
    monkeypatch.setattr(learner, "MIN_PROB", 0.05)
    model, decisions = decisions_of()
    assert 20 < len(decisions.rows) < 8 * 32
    masks = legal(model, decisions)
    seen = model.policy.network.score_cached(model.cache, decisions.rows)
    shares = np.zeros(masks.shape)
    shares[seen.games.numpy(), seen.actions.numpy()] = seen.logs().exp().numpy(force=True)
    assert (masks.sum(1) > 1).all()
    for mask, gains, share, before in zip(masks, decisions.gains, shares, decisions.before, strict=True):
        assert not gains[(mask == 0) | (share < 0.05 - 1e-6)].any() and np.count_nonzero(gains) <= CANDIDATES
        assert (share * gains).sum() == pytest.approx(0, abs=1e-6)
        # Before learning, the network equals the reference of the KL penalty.
        assert before[mask == 1] == pytest.approx(np.log(share[mask == 1]), abs=1e-4)
        assert not before[mask == 0].any()
    assert np.abs(decisions.gains).max() > 0.01


def test_the_network_learns_the_best_move_despite_the_kl_penalty(monkeypatch: pytest.MonkeyPatch) -> None:
    """The network learns the move with the highest advantage; a smaller KL penalty makes it likelier."""
    shares = []
    for weight in (0.3, 0.01):
        monkeypatch.setattr(learner, "KL_COEF", weight)
        model, decisions = decisions_of(n_epochs=60, learning_rate=1e-2)
        # The action with the highest number has an advantage of a third.
        masks = legal(model, decisions)
        best = masks.shape[1] - 1 - masks[:, ::-1].argmax(1)
        gains = np.zeros_like(decisions.gains)
        gains[np.arange(len(best)), best] = 0.3
        told = decisions._replace(gains=gains)
        first = model._expect(told, np.arange(len(best)))
        assert first[1].item() == pytest.approx(0, abs=1e-2)
        model.set_rate()
        model.learn_decisions(told)
        after = model._expect(told, np.arange(len(best)))
        assert after[0] > first[0] and after[1] > 0
        shares.append(after[0].item() / 0.3 / len(best))
    assert shares[0] < shares[1] and shares[1] > 0.8


@pytest.mark.slow
def test_a_run_of_playouts_can_be_resumed(tmp_path: Path) -> None:
    values = {"learner": "playouts", "init_linear_temperature": 1.0, "hidden": [8], "num_playouts": 4}
    run, begun = train_and_resume(tmp_path, **values)
    # The reference is the initial network, not the one at the resumption.
    ended = load_file(run / "checkpoint.safetensors")
    held = [name for name in begun if name.startswith("policy/start.")]
    assert held and all((begun[name] == ended[name]).all() for name in held)
    assert (ended["policy/start.head.weight"] != ended["policy/network.head.weight"]).any()
    player = load_model(run / "model", GameSpec(get_variant("busy-aces")))
    assert player.temperature is None and player.value is not None
