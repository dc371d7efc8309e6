"""Checks for custom variants: :func:`check_variant` tests a variant in several ways.

>>> from solitaire_env import Variant
>>> from solitaire_env.testing import check_variant
>>> check_variant(Variant("tiny", "Tiny", decks=1, tableau=(2, 2, 2, 2), ranks=4))
"""

import json
import warnings
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env

from solitaire_env.core import observations
from solitaire_env.core.batch import Batch
from solitaire_env.core.layout import WON, action_layout
from solitaire_env.core.rules.derive import derive_rows
from solitaire_env.core.rules.state import State, make_state
from solitaire_env.core.spec import GameSpec, Settings
from solitaire_env.notation import (
    action_text,
    format_position,
    parse_action,
    parse_position,
    position_faults,
    position_to_row,
)
from solitaire_env.registration import spec_arguments
from solitaire_env.util.arguments import check_count, check_kind
from solitaire_env.variants import Variant, variant_from_dict, variant_to_dict

GAMES = 8
"""Number of games in parallel."""


def check_state(games: Any) -> list[str]:
    """The faults in the state of some games, each with a name; empty if there is none.

    Checks that all cards of the pack exist, once per deck; foundations are ordered fullest first; the last
    card of a pile is face up; no place under a card is empty; the derived arrays (playable cards, heights,
    sequences, counts, mask, status) equal those of a rebuild from the position.

    Parameters
    ----------
    games
        A :class:`~solitaire_env.core.batch.Batch` or an environment, single or vector, wrapped or not.
    """
    batch = _batch(games)
    rebuilt = make_state(batch.rules, batch.size)
    rebuilt.rows[:] = batch.state.rows
    derive_rows(batch.rules, rebuilt, np.arange(batch.size))
    arrays: list[tuple[str, npt.NDArray[Any], npt.NDArray[Any]]] = [
        (name, getattr(batch.state, name), getattr(rebuilt, name)) for name in State._fields if name != "rows"
    ]
    faults = []
    for row in range(batch.size):
        position = batch.position(row)
        found = [f"cards: {fault}" for fault in position_faults(position)]
        # With too many or unknown cards there may be no row to compare with.
        if not found and not np.array_equal(position_to_row(position), batch.state.rows[row]):
            found.append("padding: there are gaps between cards, or the stock count is wrong")
        for name, kept, right in arrays:
            if not np.array_equal(kept[row], right[row]):
                found.append(f"{name}: {_differences(batch.variant, name, kept[row], right[row])}")
        faults += [f"game {row}: {fault}" for fault in found]
    return faults


def _batch(games: Any) -> Batch:
    games = getattr(games, "unwrapped", games)
    batch = games if isinstance(games, Batch) else getattr(games, "batch", None)
    if not isinstance(batch, Batch):
        raise TypeError(f"games are a {type(games).__name__}, allowed: a Batch or a solitaire environment")
    return batch


def _differences(variant: Variant, name: str, kept: npt.NDArray[Any], right: npt.NDArray[Any]) -> str:
    """The differences of two rows of an array of the state, in words."""
    if name != "mask":
        return f"{kept.tolist()}, a rebuild gives {right.tolist()}"
    wrong = np.flatnonzero(kept != right).tolist()
    return ", ".join(f"{action_text(variant, a)} is {kept[a]}, a rebuild gives {right[a]}" for a in wrong)


def check_variant(variant: Variant, *, seed: int = 0, steps: int = 100) -> None:
    """Test a variant: its texts, random games with their states, and the environment by Gymnasium's checker.

    The same seed tests the same games. Nothing is registered. It takes some seconds.

    Parameters
    ----------
    steps
        Number of random moves in each of :data:`GAMES` games.

    Raises
    ------
    AssertionError
        With the expected and actual values, and the position text.
    """
    check_kind("variant", variant, Variant)
    check_count("steps", steps)
    rng = np.random.default_rng(check_count("seed", seed))
    _check_texts(variant)
    _check_play(variant, rng, steps)
    _check_gymnasium(variant)


def _expect(what: str, expected: Any, got: Any, where: str = "") -> None:
    """Check that two values or arrays are equal; else an AssertionError has ``what``, both, and ``where``."""
    if not np.array_equal(expected, got):
        raise AssertionError(f"{what}\nexpected: {expected}\ngot: {got}\n{where}")


def _new_batch(variant: Variant, rng: np.random.Generator, size: int = GAMES, **settings: Any) -> Batch:
    batch = Batch(GameSpec(variant, Settings(**settings)), size)
    rows = np.arange(size)
    batch.seed_streams(rows, [rng] * size)
    batch.deal_next(rows)
    return batch


def _check_texts(variant: Variant) -> None:
    """Round trips of the record, and of the text and number of every action."""
    data = json.loads(json.dumps(variant_to_dict(variant)))
    _expect("plain data of the variant", variant, variant_from_dict(data))
    _expect("title in describe()", variant.title, variant.describe().splitlines()[0])
    layout = action_layout(variant)
    for number in range(layout.size):
        _expect(f"number of {layout.decode(number)}", number, layout.encode(layout.decode(number)))
        text = action_text(variant, number)
        _expect(f"number of {text!r}", number, parse_action(variant, text))


def _check_play(variant: Variant, rng: np.random.Generator, steps: int) -> None:
    """Random games: the state after every step, positions as text, rewards, and hidden cards."""
    batch = _new_batch(variant, rng)
    shown = [_new_batch(variant, rng, 1, observation=kind) for kind in observations.OBSERVATIONS]
    start = variant.home_at_deal
    home = np.full(batch.size, start)
    for step in range(steps):
        chances = 1 - rng.random(batch.state.mask.shape)
        batch.step(np.argmax(batch.state.mask * chances, axis=1), batch.everyone)
        row = step % batch.size
        text = format_position(batch.position(row))
        _expect("faults of the state", [], check_state(batch), text)
        progress = (batch.state.home - home) / (variant.cards - start)
        _expect("reward 'progress'", progress, batch.rewards, text)
        _expect("games won", batch.state.home == batch.rules.cards, batch.state.status == WON, text)
        position = parse_position(text, variant)
        _expect("position text, read and written", text, format_position(position))
        _expect("position row of the text", batch.state.rows[row], position_to_row(position), text)
        for other in shown:
            _check_hidden(batch, row, other, rng, text)
        batch.deal_next(np.flatnonzero(batch.terminated))
        home = batch.state.home.copy()


def _check_hidden(batch: Batch, row: int, other: Batch, rng: np.random.Generator, text: str) -> None:
    """Neither observation nor mask depends on the hidden cards in the stock and face down."""
    only = np.zeros(1, dtype=np.int64)
    other.set_row(0, batch.state.rows[row])
    observation, mask = other.observations()[0].copy(), other.state.mask[0].copy()
    other.resample(only, rng.integers(2**64, size=1, dtype=np.uint64))
    other.derive(only)
    what = f"observation {other.settings.observation!r} when the hidden cards are shuffled"
    _expect(what, observation, other.observations()[0], text)
    _expect("mask when the hidden cards are shuffled", mask, other.state.mask[0], text)


def _check_gymnasium(variant: Variant) -> None:
    """Gymnasium's own checker of spaces, seeds, steps and types passes for all observations. Its check of
    rendering needs Pillow.
    """
    spec = EnvSpec(**spec_arguments(variant))
    for observation in observations.OBSERVATIONS:
        for information in observations.INFORMATION:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                env = gym.make(spec, observation=observation, information=information)
                check_env(env.unwrapped, skip_render_check=True)
                env.close()
            complaints = [str(w.message) for w in caught if issubclass(w.category, UserWarning)]
            _expect(f"complaints of check_env, observation {observation!r}", [], complaints)
