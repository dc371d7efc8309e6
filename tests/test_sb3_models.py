"""Models that SB3 and sb3-contrib train on our environments, played by ``solitaire_env.evaluate``."""

from collections.abc import Callable
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from sb3_contrib import MaskablePPO, RecurrentPPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import VecEnv, VecNormalize

from solitaire_env import evaluate
from solitaire_env.core.batch import Batch
from solitaire_env.core.spec import GameSpec
from solitaire_env.policies import SB3Policy
from solitaire_env.sb3 import SolitaireVecEnv
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


def test_models_that_need_more_than_the_observation_are_refused(refuses: Refuses) -> None:
    recurrent = RecurrentPPO("MlpLstmPolicy", SolitaireVecEnv(BUSY_ACES, 2), n_steps=8, device="cpu")
    refuses(lambda: evaluate(recurrent, BUSY_ACES, [0]), "RecurrentPPO", "remembers", "without memory")
    for change in (
        gym.wrappers.NormalizeObservation,
        lambda env: gym.wrappers.RescaleObservation(env, np.float32(-1), np.float32(1)),
    ):
        env = make_vec_env(BUSY_ACES, 2, env_kwargs={"observation": "features"}, wrapper_class=change)
        model = MaskablePPO("MlpPolicy", env, n_steps=8, device="cpu")
        refuses(lambda model=model: evaluate(model, BUSY_ACES, [0]), "a wrapper", "at least 0", "a function")
