"""Comparisons: of the native vector environment with Gymnasium's own, and of supermoves with single moves."""

from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from solitaire_env.core import supermoves
from solitaire_env.core.batch import Batch
from solitaire_env.core.layout import PLAYING
from solitaire_env.core.spec import GameSpec
from solitaire_env.notation import action_text, format_position
from solitaire_env.registration import spec_arguments
from solitaire_env.variants import Variant


def expect(what: str, expected: Any, got: Any, where: str = "") -> None:
    """Check that two values are equal; else an AssertionError has ``what``, both, and ``where``."""
    if not np.array_equal(np.asarray(expected), np.asarray(got)):
        raise AssertionError(f"{what}\nexpected: {expected}\ngot: {got}\n{where}")


def check_vector(
    game: Variant | EnvSpec, mode: AutoresetMode, *, seed: int, steps: int, num_envs: int = 3, **keywords: Any
) -> None:
    """The native vector environment returns the same as Gymnasium's own over single ones, row by row."""
    keywords.setdefault("max_episode_steps", steps // 3 + 1)
    spec = EnvSpec(**spec_arguments(game)) if isinstance(game, Variant) else game
    rng = np.random.default_rng(seed)
    single = SyncVectorEnv([lambda: gym.make(spec, **keywords)] * num_envs, autoreset_mode=mode)
    vector = gym.make_vec(spec, num_envs=num_envs, autoreset_mode=mode, **keywords)
    for name in ("single_action_space", "action_space", "single_observation_space", "observation_space"):
        assert getattr(single, name) == getattr(vector, name)
    expected: Any = single.reset(seed=seed)
    expect_results("at reset", expected, vector.reset(seed=seed))
    for step in range(steps):
        mask = expected[-1]["action_mask"]
        actions = np.argmax(mask * (1 - rng.random(mask.shape)), axis=1)
        if step % 7 == 6:
            actions[0] = rng.integers(mask.shape[1])
        expected = single.step(actions)
        expect_results(f"at step {step}", expected, vector.step(actions))
        ended = expected[2] | expected[3]
        if mode is AutoresetMode.DISABLED and ended.any():
            old_mask = expected[-1]["action_mask"]
            expected, got = (env.reset(options={"reset_mask": ended.copy()}) for env in (single, vector))
            expect_results(f"at reset after step {step}", expected, got)
            expected[-1]["action_mask"][~ended] = old_mask[~ended]
    single.close()
    vector.close()


def expect_results(what: str, expected: tuple[Any, ...], got: tuple[Any, ...]) -> None:
    """Compare the results of reset or step: arrays with their types, and infos where they have values."""
    for place, (one, other) in enumerate(zip(expected, got, strict=True)):
        if isinstance(one, dict):
            one, other = with_values(one), with_values(other)
        assert data_equivalence(one, other, exact=True), f"result {place} {what}: {one}, not {other}"


def with_values(infos: dict[str, Any]) -> dict[str, Any]:
    """Infos of the rows that have them."""
    return {
        key: with_values(value) if isinstance(value, dict) else value[infos.get(f"_{key}", ...)]
        for key, value in infos.items()
    }


def check_supermoves(batch: Batch, row: int) -> int:
    """Check that every legal supermove of a game has the same result as its single moves.

    Returns the number of supermoves of several cards. Spaces are alike: it does not matter which of them
    holds a sequence in the end.

    Raises
    ------
    AssertionError
        With the position and both outcomes.
    """
    if int(batch.state.status[row]) != PLAYING:
        return 0
    strict = Batch(GameSpec(supermoves.strict_variant(batch.variant)), 1)
    moved = Batch(GameSpec(batch.variant), 1)
    text = format_position(batch.position(row))
    spaces = batch.state.heights[row] == 0
    several = 0
    for action in np.flatnonzero(batch.state.mask[row]).tolist():
        singles = batch.expand(row, action)
        several += len(singles) > 1
        moved.set_row(0, batch.state.rows[row])
        moved.step(np.array([action]), moved.everyone)
        strict.set_row(0, batch.state.rows[row])
        texts = [action_text(strict.variant, single) for single in singles]
        what = f"{action_text(batch.variant, action)} as {' '.join(texts)}"
        for played, single in enumerate(singles):
            expect(f"{texts[played]} of {what} is legal", 1, strict.state.mask[0, single], text)
            strict.step(np.array([single]), strict.everyone)
        expect(f"position after {what}", _spaces_alike(moved, spaces), _spaces_alike(strict, spaces), text)
    return several


def _spaces_alike(batch: Batch, spaces: npt.NDArray[np.bool_]) -> list[str]:
    """The position text of the first game, with piles that were spaces in a fixed order."""
    lines = format_position(batch.position(0)).splitlines()
    first = len(lines) - len(spaces)
    piles = list(zip(lines[first:], spaces.tolist(), strict=True))
    filled = sorted(line.partition(":")[2] for line, space in piles if space)
    return [*lines[:first], *(line for line, space in piles if not space), *filled]
