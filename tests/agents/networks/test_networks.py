"""The networks: symmetries, and scores that belong to the right actions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch as th
from sb3_contrib import MaskablePPO

from agents.networks import NETWORKS, MlpNetwork, MovesNetwork, PileNetwork
from agents.networks.piles import plays
from agents.networks.sb3_policy import NetworkPolicy
from solitaire_env.core.batch import Batch
from solitaire_env.core.layout import Action, action_layout, make_rules
from solitaire_env.core.spec import GameSpec, Settings
from solitaire_env.move_features.columns import NUM_MOVE
from solitaire_env.policies.linear import Linear
from solitaire_env.sb3 import SolitaireVecEnv
from solitaire_env.variants import Variant, get_variant
from tests.conftest import Refuses
from tests.games import ONE_PER_RULE, OPTIONS

GAMES = {name: variant for name, variant in (ONE_PER_RULE | OPTIONS).items() if plays(GameSpec(variant))}
TOLERANCE = {"rtol": 1e-4, "atol": 1e-5}


def positions(variant: Variant, steps: int = 60, size: int = 16, **settings: Any) -> th.Tensor:
    """Observations of games after some random moves."""
    return th.from_numpy(_played(variant, steps, size, **settings).observations().copy())


def _played(variant: Variant, steps: int, size: int, **settings: Any) -> Batch:
    batch = Batch(GameSpec(variant, Settings(**settings)), size)
    batch.deal(np.arange(size), range(size))
    random = np.random.default_rng(0)
    for _ in range(steps):
        mask = batch.state.mask
        batch.step((mask * (1 - random.random(mask.shape))).argmax(1), batch.everyone)
    return batch


def masks_of(variant: Variant, steps: int = 60, size: int = 16, **settings: Any) -> Any:
    """The masks of the same games."""
    return _played(variant, steps, size, **settings).state.mask.copy()


def network_of(variant: Variant, **sizes: Any) -> PileNetwork:
    th.manual_seed(0)
    network = PileNetwork(GameSpec(variant), **{"width": 16, "cards_per_pile": 8, **sizes})
    for weights in network.parameters():
        # Larger weights of heads and biases, so that errors in them are seen.
        with th.no_grad():
            weights += 0.1 * th.randn_like(weights)
    return network


def permuted(variant: Variant, order: list[int], observations: th.Tensor) -> tuple[th.Tensor, list[int]]:
    """Observations with source ``order[k]`` at index ``k``; and the original number of each action."""
    rules, layout = make_rules(variant), action_layout(variant)
    moved = observations.clone()
    places = [slice(p * rules.pile_capacity, (p + 1) * rules.pile_capacity) for p in range(rules.piles)]
    places += [slice(rules.row_waste, rules.row_foundations)] * rules.has_stock
    places += [slice(rules.row_cells + cell, rules.row_cells + cell + 1) for cell in range(rules.cells)]
    for place, source in enumerate(order):
        moved[:, places[place]] = observations[:, places[source]]
    actions = (layout.decode(number) for number in range(layout.size))
    return moved, [
        layout.encode(
            action._replace(
                source=action.source if action.kind == "draw" else order[action.source],
                target=order[action.target] if action.kind == "tableau" else action.target,
            )
        )
        for action in actions
    ]


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("depth", [0, 8])
@th.no_grad()
def test_permuting_piles_and_cells_permutes_scores(name: str, depth: int) -> None:
    variant = GAMES[name]
    rules = make_rules(variant)
    network = network_of(variant, cards_per_pile=depth)
    observations = positions(variant)
    random = np.random.default_rng(1)
    order = random.permutation(rules.piles).tolist()
    order += range(rules.piles, rules.first_cell)
    order += (rules.first_cell + random.permutation(rules.cells)).tolist()
    moved, actions = permuted(variant, order, observations)
    assert (moved != observations).any()
    scores, value = network(observations)
    moved_scores, moved_value = network(moved)
    assert scores.shape == (16, rules.actions) and value.shape == (16, network.width)
    th.testing.assert_close(moved_scores, scores[:, actions], **TOLERANCE)
    th.testing.assert_close(moved_value, value, **TOLERANCE)
    assert scores.std(0).min() > 1e-3, "an action whose score is always the same"


@pytest.mark.parametrize("name", GAMES)
@th.no_grad()
def test_a_card_changes_the_scores_of_its_own_actions(name: str) -> None:
    """Without context, a card changes only the scores of the actions of its source."""
    variant = GAMES[name]
    rules, layout = make_rules(variant), action_layout(variant)
    network = network_of(variant)
    for layer in network.from_context:
        layer.weight.zero_()
    observation = positions(variant, steps=0, size=1)

    def changed(place: int) -> set[Action]:
        other = observation.clone()
        other[0, place] = 4 * 5 + 1 if observation[0, place] != 4 * 5 + 1 else 4 * 6 + 2
        differs = (network(other)[0] - network(observation)[0]).abs()[0] > 1e-7
        return {layout.decode(number) for number in np.flatnonzero(differs).tolist()} - {Action("draw")}

    actions = set(map(layout.decode, range(layout.size))) - {Action("draw")}
    from_source = [{a for a in actions if a.source == source} for source in range(rules.sources)]
    onto = [{a for a in actions if a.kind == "tableau" and a.target == pile} for pile in range(rules.piles)]
    places = [pile * rules.pile_capacity for pile in range(rules.piles)]
    places += [rules.row_waste] * rules.has_stock + [rules.row_cells + cell for cell in range(rules.cells)]
    onto += [set()] * (rules.sources - rules.piles)
    query, key = network.query.weight.clone(), network.key.weight.clone()
    for source, place in enumerate(places):
        assert changed(place) == from_source[source] | onto[source]
        network.key.weight.zero_()
        assert changed(place) == from_source[source]
        network.key.weight.copy_(key)
        network.query.weight.zero_()
        assert changed(place) == {a for a in from_source[source] if a.kind != "tableau"} | onto[source]
        network.query.weight.copy_(query)


@th.no_grad()
def test_cards_are_read_from_the_playable_end() -> None:
    variant = get_variant("forty-thieves")
    capacity = make_rules(variant).pile_capacity
    network = network_of(variant, cards_per_pile=2)
    for layer in network.from_context:
        layer.weight.zero_()
    observation = positions(variant, steps=0, size=1)
    home = action_layout(variant).encode(Action("home", 3))
    for place in range(4):
        other = observation.clone()
        other[0, 3 * capacity + place] = 4 * 5 + 1 if observation[0, 3 * capacity + place] != 4 * 5 + 1 else 9
        assert (network(other)[0][0, home] != network(observation)[0][0, home]) == (place >= 2)
    # Piles with the same last cards differ only in their height.
    network.pile_rest.weight[:, -1] = 0
    higher = observation.clone()
    higher[0, 3 * capacity : 3 * capacity + 5] = th.cat((th.tensor([7]), observation[0, 3 * capacity :][:4]))
    th.testing.assert_close(network(higher)[0][0, home], network(observation)[0][0, home], **TOLERANCE)


@pytest.mark.parametrize("name", GAMES)
@th.no_grad()
def test_each_kind_of_action_has_a_head(name: str) -> None:
    variant = GAMES[name]
    layout = action_layout(variant)
    network = network_of(variant)
    observations = positions(variant)
    before = network(observations)[0]

    def raised_by(bias: th.Tensor) -> set[Action]:
        bias += 1
        raised = network(observations)[0] - before > 0.5
        bias -= 1
        assert (raised == raised[0]).all()
        return {layout.decode(number) for number in raised[0].nonzero().flatten().tolist()}

    every = set(map(layout.decode, range(layout.size)))
    kinds = [kind for kind in ("home", "cell") if kind in layout.offsets]
    bias = network.score_source.bias
    for column, kind in enumerate(kinds):
        assert raised_by(bias[column]) == {action for action in every if action.kind == kind}
    for cards, column in enumerate(range(len(kinds), len(bias)), 1):
        assert raised_by(bias[column]) == {a for a in every if a.kind == "space" and a.cards == cards}
    if "draw" in layout.offsets:
        assert raised_by(network.score_draw.bias) == {Action("draw")}


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("kind", NETWORKS)
@th.no_grad()
def test_rows_are_scored_independently(name: str, kind: str) -> None:
    network = NETWORKS[kind](GameSpec(GAMES[name]))
    observations, masks = positions(GAMES[name], size=4), masks_of(GAMES[name], size=4)
    together = network.score(observations, masks)
    for k in range(4):
        alone = network.score(observations[k : k + 1], masks[k : k + 1])
        of_game = together.games == k
        assert together.actions[of_game].tolist() == alone.actions.tolist() == masks[k].nonzero()[0].tolist()
        th.testing.assert_close(together.scores[of_game], alone.scores, **TOLERANCE)
        th.testing.assert_close(together.features[k : k + 1], alone.features, **TOLERANCE)
    th.testing.assert_close(network.value(observations), together.features, **TOLERANCE)
    assert together.scores.isfinite().all() and together.features.isfinite().all()


@pytest.mark.parametrize("kind", NETWORKS)
@th.no_grad()
def test_dense_scores_are_minus_infinity_for_illegal_actions(kind: str) -> None:
    variant = GAMES["busy-aces"]
    network = NETWORKS[kind](GameSpec(variant))
    masks = masks_of(variant)
    seen = network.score(positions(variant), masks)
    dense = seen.dense(masks.shape[1])
    assert (dense.isfinite().numpy() == (masks > 0)).all()
    assert (dense[seen.games, seen.actions] == seen.scores).all()


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("kind", NETWORKS)
def test_gradient_reaches_every_parameter(name: str, kind: str) -> None:
    network = NETWORKS[kind](GameSpec(GAMES[name]))
    # Few steps: in a finished game, no move has an effect.
    observations, masks = positions(GAMES[name], steps=10), masks_of(GAMES[name], steps=10)
    if kind != "moves":
        masks[:] = 1  # they score all actions
    seen = network.score(observations, masks)
    (seen.scores.square().sum() + seen.features.sum()).backward()
    unreached = {name for name, w in network.named_parameters() if w.grad is None or not w.grad.any()}
    # Only games without a stock do not use the score of drawing.
    assert unreached <= (set() if GAMES[name].stock else {"score_draw.weight", "score_draw.bias"})


@th.no_grad()
def test_moves_network_without_head_is_the_linear_policy() -> None:
    """Without its head, the score is the weighted sum of the move's features."""
    variant = GAMES["busy-aces, supermove"]
    spec = GameSpec(variant)
    network = MovesNetwork(spec)
    network.head.weight.zero_()
    weights = th.randn(NUM_MOVE)
    network.linear.weight.copy_(weights)
    observations, masks = positions(variant), masks_of(variant)
    scores = network.score(observations, masks).dense(masks.shape[1])
    linear = Linear(spec, weights.numpy())
    assert scores.argmax(1).tolist() == linear(observations.numpy(), masks).tolist()


@pytest.mark.parametrize("kind", NETWORKS)
def test_unsupported_observations_are_refused(kind: str, refuses: Refuses) -> None:
    variant = get_variant("busy-aces")
    features = GameSpec(variant, Settings(observation="features"))
    if kind == "mlp":
        scores, hidden = MlpNetwork(features, hidden=(8, 4))(positions(variant, observation="features"))
        assert scores.shape == (16, 171) and hidden.shape == (16, 4)
    else:
        refuses(lambda: NETWORKS[kind](features), kind.removesuffix("s"), "'cards'", "'features'")
    thoughtful = Settings(information="thoughtful")
    network = NETWORKS[kind](GameSpec(variant, thoughtful))
    seen = network.score(
        positions(variant, information="thoughtful"), masks_of(variant, information="thoughtful")
    )
    assert len(seen.features) == 16


def policy_of(kind: str) -> tuple[MaskablePPO, NetworkPolicy, Any, Any]:
    """A model with its policy, and observations and masks of its games."""
    env = SolitaireVecEnv("eights-down", 8)
    env.seed(0)
    model = MaskablePPO(
        NetworkPolicy,
        env,
        n_steps=8,
        policy_kwargs={"kind": kind, "spec": env.game, "sizes": {}},
        device="cpu",
    )
    policy = model.policy
    assert isinstance(policy, NetworkPolicy)
    return model, policy, env.reset(), env.action_masks()


@pytest.mark.parametrize("kind", NETWORKS)
@th.no_grad()
def test_policy_uses_the_scores_of_its_network(kind: str) -> None:
    model, policy, observations, masks = policy_of(kind)
    seen = policy.network.score(th.from_numpy(observations), masks)
    expected = seen.dense(masks.shape[1])
    actions, _ = model.predict(observations, action_masks=masks, deterministic=True)
    assert actions.tolist() == expected.argmax(1).tolist()
    distribution = policy.get_distribution(th.from_numpy(observations), masks)
    th.testing.assert_close(distribution.distribution.probs, expected.softmax(1), **TOLERANCE)
    th.testing.assert_close(
        policy.predict_values(th.from_numpy(observations)), policy.value_net(seen.features)
    )
    optimized = [id(weights) for group in policy.optimizer.param_groups for weights in group["params"]]
    assert sorted(optimized) == sorted(map(id, policy.parameters()))


@pytest.mark.parametrize("kind", NETWORKS)
@th.no_grad()
def test_probabilities_equal_those_of_a_dense_distribution(kind: str) -> None:
    _, policy, observations, masks = policy_of(kind)
    given = th.from_numpy(observations)
    for head in (
        policy.value_net.weight,
        *(w for n, w in policy.network.named_parameters() if "scor" in n or "head" in n),
    ):
        head.normal_()
    dense = policy.get_distribution(given, masks)
    for deterministic in (False, True):
        actions, values, logs = policy(given, deterministic, masks)
        assert masks[np.arange(8), actions.numpy()].all()
        th.testing.assert_close(logs, dense.log_prob(actions), **TOLERANCE)
        again, same_logs, entropy = policy.evaluate_actions(given, actions, th.from_numpy(masks))
        th.testing.assert_close(again, values)
        th.testing.assert_close(same_logs, logs)
        th.testing.assert_close(entropy, dense.entropy(), **TOLERANCE)
    th.manual_seed(0)
    drawn = th.stack([policy(given, False, masks)[0] for _ in range(2000)])
    assert dense.distribution.probs is not None
    for game, expected in enumerate(dense.distribution.probs):
        shares = th.bincount(drawn[:, game], minlength=len(expected)) / len(drawn)
        assert (shares - expected).abs().max() < 0.05
    # Without masks, every action counts as legal.
    actions, _, logs = policy(given, True)
    assert logs.isfinite().all() and actions.shape == (8,)


@pytest.mark.parametrize("kind", NETWORKS)
def test_value_only_leaves_the_policy_unchanged(kind: str) -> None:
    _, policy, observations, masks = policy_of(kind)
    actions = th.from_numpy(masks.argmax(1))
    policy.value_only = True
    values, logs, entropy = policy.evaluate_actions(th.from_numpy(observations), actions, masks)
    assert values.requires_grad and not logs.requires_grad and not entropy.requires_grad
    policy.value_only = False
    _, logs, entropy = policy.evaluate_actions(th.from_numpy(observations), actions, masks)
    assert logs.requires_grad and entropy.requires_grad


@pytest.mark.parametrize("name", ["klondike", "forty-and-eight", "yukon"])
def test_pile_network_refuses_games_with_other_actions(name: str, refuses: Refuses) -> None:
    refuses(lambda: PileNetwork(GameSpec(get_variant(name))), "network 'piles' does not play", name, "moves")
