"""Checks for custom variants: :func:`check_variant` tests a variant in many ways.

>>> from solitaire_env import Variant
>>> from solitaire_env.testing import check_variant
>>> check_variant(Variant("tiny", "Tiny", decks=1, tableau=(2, 2, 2, 2), ranks=4))
"""

import json
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from solitaire_env.core import observations, supermoves
from solitaire_env.core.batch import Batch
from solitaire_env.core.cards import DOWN
from solitaire_env.core.layout import PLAYING, WON, action_layout
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
    """Test a variant in many ways: its texts, deals, random games, environments and states.

    The same seed tests the same games. Nothing is registered. It takes some seconds.

    Parameters
    ----------
    steps
        Number of random moves in each of :data:`GAMES` games, for each kind of check.

    Raises
    ------
    AssertionError
        With the expected and actual values, and the position text.
    """
    check_kind("variant", variant, Variant)
    check_count("steps", steps)
    seed = check_count("seed", seed)
    for check in _CHECKS:
        check(variant, np.random.default_rng(seed), steps)


# ----------------------------------------------------------------------------------- helpers


def expect(what: str, expected: Any, got: Any, where: str = "") -> None:
    """Check that two values or arrays are equal; else an AssertionError has ``what``, both, and ``where``."""
    if not _equal(expected, got):
        raise AssertionError(f"{what}\nexpected: {expected}\ngot: {got}{where and chr(10)}{where}")


def _equal(one: Any, other: Any) -> bool:
    """Whether two values or arrays are equal, including dtypes of arrays."""
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(_equal, one, other))
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray) and one.dtype != other.dtype:
        return False
    return np.array_equal(np.asarray(one), np.asarray(other))


def _new_batch(variant: Variant, rng: np.random.Generator, size: int = GAMES, **settings: Any) -> Batch:
    batch = Batch(GameSpec(variant, Settings(**settings)), size)
    rows = np.arange(size)
    batch.seed_streams(rows, [rng] * size)
    batch.deal_next(rows)
    return batch


def _play(batch: Batch, rng: np.random.Generator, steps: int) -> Iterator[int]:
    """Play random legal moves; yield the number of steps, after the deal and after each step.

    Then deal new games where one has finished.
    """
    where = action_layout(batch.variant).offsets
    yield 0
    for step in range(1, steps + 1):
        batch.step(_choose(batch.state.mask, where, rng), batch.everyone)
        yield step
        batch.deal_next(np.flatnonzero(batch.terminated))


def _choose(
    mask: npt.NDArray[np.int8], where: dict[str, slice], rng: np.random.Generator
) -> npt.NDArray[np.int64]:
    """A legal action of each game.

    Every other game prefers to bring cards home and draws late, so that some get far.
    """
    scores = rng.random(mask.shape)
    scores[1::2, where["home"]] += 1.0
    if "draw" in where:
        scores[1::2, where["draw"]] **= 4
    actions: npt.NDArray[np.int64] = np.argmax(mask * (scores + 1e-9), axis=1)
    return actions


def _make_spec(variant: Variant) -> EnvSpec:
    return EnvSpec(**spec_arguments(variant))


# -------------------------------------------------------------------------------------- checks


def _check_texts(variant: Variant, rng: np.random.Generator, steps: int) -> None:
    """Round trips of the record, and of the text and number of every action."""
    data = json.loads(json.dumps(variant_to_dict(variant)))
    expect("plain data of the variant", variant, variant_from_dict(data))
    expect("title in describe()", variant.title, variant.describe().splitlines()[0])
    layout = action_layout(variant)
    for number in range(layout.size):
        expect(f"number of {layout.decode(number)}", number, layout.encode(layout.decode(number)))
        text = action_text(variant, number)
        expect(f"number of {text!r}", number, parse_action(variant, text))


def _check_deals(variant: Variant, rng: np.random.Generator, steps: int) -> None:
    """A number defines one deal, whichever row it is dealt to."""
    batch, again = _new_batch(variant, rng), _new_batch(variant, rng)
    rows = np.arange(batch.size)
    batch.deal(rows, rows.tolist())
    again.deal(rows[::-1].copy(), rows[::-1].tolist())
    for row in rows.tolist():
        first, second = (format_position(games.position(row)) for games in (batch, again))
        expect(f"deal {row}, dealt again", first, second)
        expect(f"deal of game {row}", row, batch.deal_of(row))


def _check_play(variant: Variant, rng: np.random.Generator, steps: int) -> None:
    """Random games: the state after every step, positions as text, rewards, and hidden cards."""
    batch = _new_batch(variant, rng)
    shown = [_new_batch(variant, rng, 1, observation=kind) for kind in observations.OBSERVATIONS]
    start = variant.home_at_deal
    home = np.full(batch.size, start)
    for step in _play(batch, rng, steps):
        row = step % batch.size
        text = format_position(batch.position(row))
        expect("faults of the state", [], check_state(batch), text)
        progress = (batch.state.home - home) / (variant.cards - start)
        expect("reward 'progress'", progress, batch.rewards, text)
        expect("games won", batch.state.home == batch.rules.cards, batch.state.status == WON, text)
        home = np.where(batch.terminated, start, batch.state.home)
        position = parse_position(text, variant)
        expect("position text, read and written", text, format_position(position))
        expect("position row of the text", batch.state.rows[row], position_to_row(position), text)
        for other in shown:
            _check_hidden(batch, row, other, rng, text)


def _check_hidden(batch: Batch, row: int, other: Batch, rng: np.random.Generator, text: str) -> None:
    """Neither observation nor mask depends on the hidden cards in the stock and face down."""
    rules = batch.rules
    cards = batch.state.rows[row].copy()
    down = np.flatnonzero(cards[: rules.row_cells] & DOWN)
    hidden = np.concatenate([down, np.arange(rules.row_stock, rules.row_stock + int(batch.state.stock[row]))])
    other.set_row(0, cards)
    seen = (other.observations()[0].copy(), other.state.mask[0].copy())
    cards[hidden] = rng.permutation(cards[hidden] & (DOWN - 1))
    cards[down] |= DOWN
    other.set_row(0, cards)
    what = f"observation {other.settings.observation!r} and mask when the hidden cards are shuffled"
    expect(what, seen, (other.observations()[0], other.state.mask[0]), text)


def _check_gymnasium(variant: Variant, rng: np.random.Generator, steps: int) -> None:
    """Gymnasium's own checker of spaces, seeds, steps and types passes for all observations. Its check of
    rendering opens windows, which need a display and wait for the next frame.
    """
    for observation in observations.OBSERVATIONS:
        for information in observations.INFORMATION:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                env = gym.make(_make_spec(variant), observation=observation, information=information)
                check_env(env.unwrapped, skip_render_check=True)
                env.close()
            complaints = [str(w.message) for w in caught if issubclass(w.category, UserWarning)]
            expect(f"complaints of check_env, observation {observation!r}", [], complaints)


def _check_vector(variant: Variant, rng: np.random.Generator, steps: int) -> None:
    for mode in AutoresetMode:
        check_vector(variant, mode, seed=int(rng.integers(2**31)), steps=steps)


def check_vector(
    variant: Variant,
    autoreset_mode: AutoresetMode,
    *,
    seed: int = 0,
    steps: int = 100,
    num_envs: int = 3,
    **keywords: Any,
) -> None:
    """The native vector environment returns the same as Gymnasium's own over single ones, row by row.

    Parameters
    ----------
    keywords
        Arguments of both environments; without ``max_episode_steps``, episodes end after a third of the
        steps.

    Raises
    ------
    AssertionError
        With the first difference.
    """
    keywords.setdefault("max_episode_steps", steps // 3 + 1)
    spec = _make_spec(variant)
    rng = np.random.default_rng(seed)
    single = SyncVectorEnv([lambda: gym.make(spec, **keywords)] * num_envs, autoreset_mode=autoreset_mode)
    vector = gym.make_vec(spec, num_envs=num_envs, autoreset_mode=autoreset_mode, **keywords)
    what = f"vector environment, autoreset mode {autoreset_mode.value}"
    for name in ("single_action_space", "action_space", "single_observation_space", "observation_space"):
        expect(f"{name} of the {what}", repr(getattr(single, name)), repr(getattr(vector, name)))
    expected: tuple[Any, ...] = single.reset(seed=seed)
    expect_results(f"at reset of the {what}", expected, vector.reset(seed=seed))
    where = action_layout(vector.unwrapped.variant).offsets  # type: ignore[attr-defined]
    for step in range(steps):
        actions = _choose(expected[-1]["action_mask"], where, rng)
        if step % 7 == 6:
            actions[0] = rng.integers(len(expected[-1]["action_mask"][0]))
        result = single.step(actions)
        expect_results(f"at step {step} of the {what}", result, vector.step(actions))
        expected = result
        ended = result[2] | result[3]
        if autoreset_mode is AutoresetMode.DISABLED and ended.any():
            old_mask = result[-1]["action_mask"]
            expected, got = (env.reset(options={"reset_mask": ended.copy()}) for env in (single, vector))
            expect_results(f"at reset after step {step} of the {what}", expected, got)
            expected[-1]["action_mask"][~ended] = old_mask[~ended]
    single.close()
    vector.close()


def expect_results(what: str, expected: tuple[Any, ...], got: tuple[Any, ...], where: str = "") -> None:
    """Compare the results of reset or step: arrays are equal, and infos where they have values."""
    names = ("observation", "reward", "terminated", "truncated")
    for name, one, other in zip(names, expected[:-1], got[:-1], strict=False):
        expect(f"{name} {what}", one, other, where)
    _expect_infos(what, expected[-1], got[-1], where)


def _expect_infos(what: str, expected: dict[str, Any], got: dict[str, Any], where: str) -> None:
    expect(f"keys of info {what}", sorted(expected), sorted(got), where)
    for key, value in expected.items():
        if isinstance(value, dict):
            _expect_infos(f"in {key} {what}", value, got[key], where)
        elif f"_{key}" in expected:
            games = np.flatnonzero(expected[f"_{key}"])
            one, other = value[games], got[key][games]
            expect(f"dtype of info {key!r} {what}", one.dtype, other.dtype, where)
            expect(f"info {key!r} of games {games} {what}", list(one), list(other), where)
        else:
            expect(f"info {key!r} {what}", value, got[key], where)


def _check_supermoves(variant: Variant, rng: np.random.Generator, steps: int) -> None:
    """Supermoves, as a rule or a shortcut, have the same result as single moves."""
    if not variant.takes_supermoves:
        return
    batch = _new_batch(variant.with_rules(moves="supermove"), rng, on_invalid="raise")
    for step in _play(batch, rng, steps):
        check_supermoves(batch, step % batch.size)


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


_CHECKS: tuple[Callable[[Variant, np.random.Generator, int], None], ...] = (
    _check_texts,
    _check_deals,
    _check_play,
    _check_gymnasium,
    _check_vector,
    _check_supermoves,
)
