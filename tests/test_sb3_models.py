"""Models that SB3 and sb3-contrib train on our environments, played by ``solitaire_env.evaluate``."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch as th
from sb3_contrib import MaskablePPO, RecurrentPPO
from sb3_contrib.common.recurrent.policies import RecurrentActorCriticPolicy
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import VecEnv, VecNormalize

from solitaire_env import evaluate
from solitaire_env.core.batch import Batch
from solitaire_env.core.spec import GameSpec
from solitaire_env.env import SolitaireEnv
from solitaire_env.notation import parse_action
from solitaire_env.policies import SB3Policy
from solitaire_env.sb3 import SolitaireVecEnv
from solitaire_env.transcripts import parse_transcript
from solitaire_env.variants import get_variant
from solitaire_env.wrappers import MoveFeatures
from tests.conftest import Refuses

BUSY_ACES = "solitaire_env:Solitaire/BusyAces-v0"

MAKE: dict[str, Callable[[], VecEnv]] = {
    "native": lambda: SolitaireVecEnv(BUSY_ACES, 2, observation="features"),
    "native, supermoves": lambda: SolitaireVecEnv(BUSY_ACES, 2, moves="supermove"),
    "of SB3": lambda: make_vec_env(BUSY_ACES, 2, env_kwargs={"information": "thoughtful"}),
    "of SB3, features of moves": lambda: make_vec_env(BUSY_ACES, 2, wrapper_class=MoveFeatures),
}


def trained(env: VecEnv) -> MaskablePPO:
    model = MaskablePPO("MlpPolicy", env, n_steps=32, batch_size=32, n_epochs=1, device="cpu", seed=0)
    return model.learn(64)


@pytest.mark.parametrize("name", MAKE)
def test_a_trained_model_is_evaluated(name: str) -> None:
    model = trained(MAKE[name]())
    assert model.num_timesteps == 64
    results = evaluate(model, BUSY_ACES, range(4), max_episode_steps=100)
    assert [game.deal for game in results.games] == [0, 1, 2, 3]
    assert {game.policy for game in results.games} == {"MaskablePPO"}
    assert results.games == evaluate(model, BUSY_ACES, range(4), max_episode_steps=100).games


def test_a_model_of_another_game_is_refused(refuses: Refuses) -> None:
    model = trained(make_vec_env("solitaire_env:Solitaire/EightsDown-v0", 2, wrapper_class=MoveFeatures))
    refuses(lambda: evaluate(model, BUSY_ACES, [0]), "(160, 28)", "171 actions", "28 move features")


FLOATS: dict[str, Callable[[], VecEnv]] = {
    "features": MAKE["native"],
    "moves": MAKE["of SB3, features of moves"],
    "of SB3": lambda: make_vec_env(BUSY_ACES, 2, env_kwargs={"observation": "features"}),
}


def played_by(model: MaskablePPO, observation: str = "cards") -> tuple[np.ndarray, np.ndarray]:
    """The probabilities and the value that our policy reads from a model in deal 7."""
    spec = GameSpec(get_variant("busy-aces")).view(observation=observation)  # type: ignore[arg-type]
    batch = Batch(spec, 1)
    batch.deal(np.array([0]), [7])
    probabilities, values = SB3Policy(model, spec).explain(batch.observations(), batch.state.mask)
    assert probabilities is not None and values is not None
    return probabilities[0], values[0]


def played_there(model: MaskablePPO, env: VecEnv) -> np.ndarray:
    """The probabilities of a model in deal 7 of an environment as SB3 plays it."""
    env.set_options({"deal": 7})
    tensor, _ = model.policy.obs_to_tensor(env.reset())  # type: ignore[arg-type]
    masks = np.stack(env.env_method("action_masks"))
    probabilities = model.policy.get_distribution(tensor, action_masks=masks).distribution.probs
    return probabilities[0].detach().numpy()  # type: ignore[no-any-return]


@pytest.mark.parametrize("name", FLOATS)
def test_a_model_trained_under_vec_normalize_sees_normalized_observations(name: str, tmp_path: Path) -> None:
    env = VecNormalize(FLOATS[name](), gamma=0.9)
    model = trained(env)
    env.training = False
    kind = "cards" if name == "moves" else "features"
    there = played_there(model, env)
    here, value = played_by(model, kind)
    np.testing.assert_allclose(here, there, rtol=1e-5)
    raw = env.venv
    assert abs(here - played_there(model, raw)).max() > 1e-4
    env.norm_reward = False
    assert value == pytest.approx(played_by(model, kind)[1] * np.sqrt(env.ret_rms.var + env.epsilon))
    env.norm_obs = False
    np.testing.assert_allclose(played_by(model, kind)[0], played_there(model, raw), rtol=1e-5)
    env.norm_obs = True

    # A file has no statistics: without its environment a model is given what the game shows.
    model.save(tmp_path / "model.zip")
    env.save(str(tmp_path / "statistics.pkl"))
    loaded = MaskablePPO.load(tmp_path / "model.zip", device="cpu")
    np.testing.assert_allclose(played_by(loaded, kind)[0], played_there(model, raw), rtol=1e-5)
    spec = GameSpec(get_variant("busy-aces"))
    unknown = SB3Policy(loaded, spec).fingerprint
    loaded.set_env(VecNormalize.load(str(tmp_path / "statistics.pkl"), raw))
    np.testing.assert_array_equal(played_by(loaded, kind)[0], here)
    assert SB3Policy(model, spec).fingerprint == SB3Policy(loaded, spec).fingerprint != unknown


def test_a_model_whose_normalized_observations_were_rounded_warns() -> None:
    model = trained(VecNormalize(SolitaireVecEnv(BUSY_ACES, 2)))
    with pytest.warns(UserWarning, match="rounds to int8.*observation=.features"):
        played_by(model)


class MaskedLstm(RecurrentActorCriticPolicy):
    """A recurrent policy that draws legal actions only."""

    masks: np.ndarray | None = None

    def get_distribution(
        self, obs: th.Tensor, lstm_states: Any, episode_starts: th.Tensor, action_masks: Any = None
    ) -> tuple[Any, tuple[th.Tensor, ...]]:
        distribution, states = super().get_distribution(obs, lstm_states, episode_starts)
        masks = th.as_tensor(self.masks if action_masks is None else action_masks)
        logits = distribution.distribution.logits.masked_fill(~masks, -th.inf)
        return distribution.proba_distribution(logits), states


class MaskableRecurrentPPO(RecurrentPPO):
    """The interface that users of sb3-contrib have asked for."""

    def predict(  # type: ignore[override]
        self, observation: Any, state: Any = None, episode_start: Any = None, deterministic: bool = False,
        action_masks: Any = None,
    ) -> tuple[Any, Any]:  # fmt: skip
        self.policy.masks = action_masks
        return super().predict(observation, state, episode_start, deterministic)


class OnlyPredicts:
    """The most probable actions of a recurrent model, and what it was given."""

    def __init__(self, model: RecurrentPPO, spaces: bool) -> None:
        self.model, self.given = model, []  # type: ignore[var-annotated]
        if spaces:
            self.observation_space, self.action_space = model.observation_space, model.action_space
        else:
            self.observation = "features"

    def predict(
        self, observation: Any, state: Any = None, episode_start: Any = None, action_masks: Any = None,
        deterministic: bool = False,
    ) -> tuple[Any, Any]:  # fmt: skip
        assert deterministic
        self.given.append((observation, state, episode_start, action_masks))
        return self.model.predict(observation, state, episode_start, True, action_masks)  # type: ignore[call-arg]


KLONDIKE = "klondike"
STEPS = 60


@pytest.fixture(scope="module")
def recurrent() -> MaskableRecurrentPPO:
    """An untrained network whose choices depend much on what it remembers."""
    env = SolitaireVecEnv(KLONDIKE, 2, observation="features")
    layers = {"n_lstm_layers": 2, "lstm_hidden_size": 8, "net_arch": []}
    model = MaskableRecurrentPPO(MaskedLstm, env, n_steps=8, device="cpu", seed=0, policy_kwargs=layers)
    with th.no_grad():
        for weights in model.policy.parameters():
            weights.copy_(th.randn(weights.shape))
    return model


def played_with_predict(model: Any, deal: int) -> list[int]:
    """The actions of a model in one game, as SB3 plays it, with the most probable actions."""
    env, state, start, actions = SolitaireEnv(KLONDIKE, observation="features"), None, [True], []
    observation, info = env.reset(options={"deal": deal})
    for _ in range(STEPS):
        action, state = model.predict(
            observation[None], state, np.array(start), action_masks=info["action_mask"][None].astype(bool),
            deterministic=True,
        )  # fmt: skip
        actions.append(int(action[0]))
        observation, _, ended, _, info = env.step(actions[-1])
        start = [False]
        if ended:
            break
    return actions


@pytest.mark.parametrize("num_envs", [1, 3, 64])
@pytest.mark.parametrize("spaces", [True, False])
def test_a_recurrent_model_sees_each_game_whole(
    recurrent: MaskableRecurrentPPO, num_envs: int, spaces: bool
) -> None:
    deals = range(7)
    model = OnlyPredicts(recurrent, spaces)
    done = evaluate(model, KLONDIKE, deals, num_envs=num_envs, max_episode_steps=STEPS, transcripts=True)
    variant = get_variant(KLONDIKE)
    for deal in deals:
        actions = parse_transcript(done.transcripts[deal]).actions
        assert [parse_action(variant, text) for text in actions] == played_with_predict(recurrent, deal)
    starts = [start for _, _, start, _ in model.given[2:]]
    assert sum(start.sum() for start in starts) == len(deals) and starts[0].all()


def test_a_recurrent_model_draws_the_same_games_whatever_is_played_in_parallel(
    recurrent: MaskableRecurrentPPO,
) -> None:
    deals = [5, 3, 0, 8, 2]
    keywords: dict[str, Any] = {"max_episode_steps": STEPS, "transcripts": True}
    policy = SB3Policy(recurrent, GameSpec(get_variant(KLONDIKE)))
    assert policy.stochastic and policy.stateful and not policy.deterministic
    alone = evaluate(recurrent, KLONDIKE, deals, num_envs=1, **keywords)
    for num_envs, order in ((2, deals), (64, deals[::-1])):
        for model in (recurrent, policy):  # a policy that has played before plays the same
            others = evaluate(model, KLONDIKE, order, num_envs=num_envs, **keywords)
            assert others.transcripts == alone.transcripts
    assert evaluate(policy, KLONDIKE, deals, seed=1, **keywords).transcripts != alone.transcripts


def test_states_of_recurrent_models_are_arrays_with_one_axis_of_games(refuses: Refuses) -> None:
    class Model:
        def predict(
            self, observation: Any, state: Any = None, episode_start: Any = None, deterministic: bool = False
        ) -> tuple[Any, Any]:
            return np.zeros(len(observation), np.int64), self.state

    for state in (np.zeros(5), (np.zeros((2, 4)),), {"h": 0}, [np.zeros(2)]):
        model = Model()
        model.state = state  # type: ignore[attr-defined]
        refuses(lambda model=model: evaluate(model, KLONDIKE, [0]), "state", "one axis for the games")


def test_a_recurrent_model_without_masks_must_know_the_legal_actions(refuses: Refuses) -> None:
    model = RecurrentPPO("MlpLstmPolicy", SolitaireVecEnv(BUSY_ACES, 2), n_steps=8, device="cpu", seed=0)
    refuses(lambda: evaluate(model, BUSY_ACES, [0]), "illegal")


def test_models_that_read_changed_observations_are_refused(refuses: Refuses) -> None:
    for change in (
        gym.wrappers.NormalizeObservation,
        lambda env: gym.wrappers.RescaleObservation(env, np.float32(-1), np.float32(1)),
    ):
        env = make_vec_env(BUSY_ACES, 2, env_kwargs={"observation": "features"}, wrapper_class=change)
        model = MaskablePPO("MlpPolicy", env, n_steps=8, device="cpu")
        refuses(lambda model=model: evaluate(model, BUSY_ACES, [0]), "a wrapper", "at least 0", "a function")
