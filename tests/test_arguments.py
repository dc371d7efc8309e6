"""Public functions refuse what they do not take, with a sentence that says what is allowed."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch as th

from solitaire_env import (
    env_id,
    evaluate,
    load_policy,
    notation,
    register_variant,
    registration,
    testing,
    transcripts,
    variants,
)
from solitaire_env.core import deals, perft
from solitaire_env.core.spec import GameSpec, Settings
from solitaire_env.env import SolitaireEnv
from solitaire_env.family import read_games
from solitaire_env.loading import load_class
from solitaire_env.render import render
from solitaire_env.render.ansi import render_ansi
from solitaire_env.render.picture import render_rgb
from solitaire_env.sb3 import SolitaireVecEnv
from solitaire_env.util.messages import shown
from solitaire_env.vector import SolitaireVectorEnv
from solitaire_env.wrappers import DictObservation
from tests.conftest import Refuses

HOSTILE = [None, False, True, -1, 7, 2.5, math.nan, 10**5000, "", "x", b"x", [], [[1], [1, 2]], {}, (),
           object(), np.arange(3), np.float64(1), np.zeros(2, [("a", "i8")]), np.array("2026", "M8[Y]"),
           th.ones(2, requires_grad=True), th.ones((), requires_grad=True)]  # fmt: skip
"""Values of every type; most functions take none of them for an argument."""
GAME = variants.get_variant("freecell")
ENV = SolitaireEnv(GAME)
ENV.reset(seed=0)
FAMILY = SolitaireEnv([GAME])
FAMILY.reset(seed=0)
ENVS = SolitaireVectorEnv(GAME, 2)
ENVS.reset(seed=0)
SAVED = ENV.get_state()
STATE, POSITION = ENV.batch.state, ENV.batch.position(0)
LEGAL = ENV.legal_actions()[0]
NONE, FLAG, COUNT, TEXT = (type(None),), (bool,), (int,), (str,)


def of_many(name: str) -> Callable[[Any], Any]:
    """A method of two games."""
    env = SolitaireVecEnv(GAME, 2)
    return lambda value: getattr(env, name)(value)


ARGUMENTS: dict[str, tuple[Callable[[Any], Any], tuple[type, ...]]] = {
    # a variant
    "env_id": (env_id, ()),
    "step_limit": (registration.step_limit, ()),
    "spec_arguments": (registration.spec_arguments, ()),
    "register_variant": (register_variant, ()),
    "resolve_variant": (registration.resolve_variant, ()),
    "env_variant": (registration.env_variant, ()),
    "get_variant": (variants.get_variant, ()),
    "add_variant": (variants.add_variant, ()),
    "variant_to_dict": (variants.variant_to_dict, ()),
    "variant_from_dict": (variants.variant_from_dict, ()),
    "GameSpec": (GameSpec, ()),
    "check_variant": (testing.check_variant, ()),
    "action_text variant": (lambda x: notation.action_text(x, 0), ()),
    "parse_action variant": (lambda x: notation.parse_action(x, "t1>f"), ()),
    "pile_name variant": (lambda x: notation.pile_name(x, 0), ()),
    "move_of variant": (lambda x: notation.move_of(x, STATE, 0, LEGAL), ()),
    "describe_action variant": (lambda x: notation.describe_action(x, STATE, 0, LEGAL), ()),
    "parse_position variant": (lambda x: notation.parse_position(ENV.position(), x), NONE),
    "parse_transcript variant": (lambda x: transcripts.parse_transcript("x", x), ()),
    "position_from_row variant": (lambda x: notation.position_from_row(x, STATE.rows[0]), ()),
    "check_deal variant": (lambda x: deals.check_deal(x, 7), ()),
    "deal_order variant": (lambda x: deals.deal_order(x, 7), ()),
    "SolitaireEnv": (SolitaireEnv, ()),
    "SolitaireVecEnv": (SolitaireVecEnv, ()),
    "evaluate env": (lambda x: evaluate("random", x), ()),
    "load_policy game": (lambda x: load_policy("random", x), ()),
    "read_games": (read_games, ()),
    # a choice of names
    **{
        f"{make.__name__} {name}": (lambda x, make=make, name=name: make(**{name: x}), ())
        for make in (Settings, SolitaireEnv, SolitaireVectorEnv)
        for name in ("observation", "information", "reward", "on_invalid")
    },
    "mask_dtype": (lambda x: SolitaireEnv(mask_dtype=x), ()),
    "autoreset_mode": (lambda x: SolitaireVectorEnv(autoreset_mode=x), ()),
    "render_mode": (lambda x: SolitaireEnv(render_mode=x), NONE),
    "render mode": (lambda x: render(x, POSITION), ()),
    "moves": (lambda x: SolitaireEnv(GAME, moves=x), NONE),
    "viewed observation": (lambda x: GameSpec(GAME).view(observation=x), NONE),
    "load_policy moves": (lambda x: load_policy("random", GAME, moves=x), NONE),
    # deals to draw from
    "SolitaireEnv deals": (lambda x: SolitaireEnv(GAME, deals=x), NONE),
    "SolitaireVectorEnv deals": (lambda x: SolitaireVectorEnv(GAME, 2, deals=x), NONE),
    "SolitaireVecEnv deals": (lambda x: SolitaireVecEnv(GAME, 2, deals=x), NONE),
    "FamilyEnv deals": (lambda x: SolitaireEnv([GAME], deals=x), NONE),
    # a bool
    "copy": (lambda x: SolitaireVectorEnv(copy=x), FLAG),
    "family copy": (lambda x: SolitaireVectorEnv(games=[GAME], copy=x), FLAG),
    # a count
    "num_envs": (lambda x: SolitaireVectorEnv(num_envs=x), COUNT),
    "family max_episode_steps": (lambda x: SolitaireEnv([GAME], max_episode_steps=x), (*NONE, *COUNT)),
    "action_text number": (lambda x: notation.action_text(GAME, x), COUNT),
    "pile_name source": (lambda x: notation.pile_name(GAME, x), COUNT),
    "move_of row": (lambda x: notation.move_of(GAME, STATE, x, LEGAL), ()),
    "move_of number": (lambda x: notation.move_of(GAME, STATE, 0, x), COUNT),
    **{
        name: (getattr(ENV, name), COUNT)
        for name in ("step", "action_text", "describe_action", "moved_cards", "expand")
    },
    **{f"{name} row": (getattr(ENVS, name), COUNT) for name in ("deal", "get_state", "position")},
    "set_state row": (lambda x: ENVS.set_state(x, SAVED), COUNT),
    "family step": (FAMILY.step, COUNT),
    "family action_text": (FAMILY.action_text, COUNT),
    "family describe_action": (FAMILY.describe_action, COUNT),
    "perft depth": (lambda x: list(perft.count(POSITION, x)), COUNT),
    "resample seed": (ENV.resample, COUNT),
    "resample seed of many": (lambda x: ENVS.resample([0, 1], x), COUNT),
    "resample rows": (lambda x: ENVS.resample(x), (list, tuple)),
    "evaluate seed": (lambda x: evaluate("random", GAME, [], seed=x), COUNT),
    "evaluate num_envs": (lambda x: evaluate("random", GAME, [], num_envs=x), COUNT),
    "VecEnv seed": (of_many("seed"), (*NONE, *COUNT)),
    # deals, positions, texts
    "check_deal": (lambda x: deals.check_deal(GAME, x), COUNT),
    "deal_order": (lambda x: deals.deal_order(GAME, x), COUNT),
    "reset deal": (lambda x: ENV.reset(options={"deal": x}), COUNT),
    "reset position": (lambda x: ENV.reset(options={"position": x}), ()),
    "evaluate deals": (lambda x: evaluate("random", GAME, x), (list, tuple, dict, np.ndarray)),
    "evaluate deal": (lambda x: evaluate("random", GAME, [x]), COUNT),
    "evaluate name": (lambda x: evaluate("random", GAME, [], name=x), (*NONE, *TEXT)),
    "evaluate results": (lambda x: evaluate("random", GAME, [], results=x), (*NONE, *TEXT)),
    "evaluate transcripts": (lambda x: evaluate("random", GAME, [], transcripts=x), (*FLAG, *TEXT)),
    "load_policy name": (lambda x: load_policy(x, GAME), ()),
    "load_class": (load_class, ()),
    "format_position": (notation.format_position, ()),
    "position_faults": (notation.position_faults, ()),
    "position_to_row": (notation.position_to_row, ()),
    "position_from_row": (lambda x: notation.position_from_row(GAME, x), ()),
    "parse_position": (notation.parse_position, ()),
    "read_position": (lambda x: notation.read_position(x, GAME), ()),
    "parse_action": (lambda x: notation.parse_action(GAME, x), ()),
    "family parse_action": (FAMILY.parse_action, ()),
    "move_of state": (lambda x: notation.move_of(GAME, x, 0, LEGAL), ()),
    "perft": (lambda x: list(perft.count(x, 1)), ()),
    "render": (lambda x: render("ansi", x), ()),
    "render last": (lambda x: render("ansi", POSITION, x), NONE),
    "render size": (lambda x: render("rgb_array", POSITION, size=x), ()),
    "render_ansi": (render_ansi, ()),
    "render_rgb": (render_rgb, ()),
    "format_transcript": (transcripts.format_transcript, ()),
    "parse_transcript": (transcripts.parse_transcript, ()),
    "format_thought": (transcripts.format_thought, ()),
    "parse_thought": (transcripts.parse_thought, ()),
    "replay": (lambda x: next(transcripts.replay(x)), ()),
    "reset deal of many": (lambda x: ENVS.reset(options={"deal": [3, x]}), COUNT),
    "set_state": (ENV.set_state, ()),
    "reset state": (lambda x: ENV.reset(options={"state": x}), ()),
    "reset state of many": (lambda x: ENVS.reset(options={"state": x}), (list, tuple)),
    "reset state of a family": (lambda x: FAMILY.reset(options={"state": x}), ()),
    "set_state of a row": (lambda x: ENVS.set_state(0, x), ()),
    "set_state deal": (lambda x: ENV.set_state({**SAVED, "deal": x}), (*NONE, *COUNT)),
    "set_options": (of_many("set_options"), (*NONE, dict, list)),
    "dtype": (lambda x: DictObservation(ENV, dtype=x), NONE),
}
"""Functions of one argument, and the types that they take."""


@pytest.mark.parametrize("name", ARGUMENTS)
def test_other_values_raise_our_own_error(name: str, refuses: Refuses) -> None:
    """Values of the types that are taken too, if they are out of range."""
    call, takes = ARGUMENTS[name]
    for value in HOSTILE:
        if type(value) not in takes or (type(value) is int and not 0 <= value < 10**9):
            try:
                refuses(lambda value=value: call(value), "allowed")
            except BaseException as error:
                raise AssertionError(f"{name} of {shown(value)}") from error


@pytest.mark.parametrize("options", [[], [{}], [{}] * 3, [{}, 7], [{}, {"deal": -1}]], ids=shown)
def test_options_of_another_number_of_games_are_refused(options: Any, refuses: Refuses) -> None:
    env = SolitaireVecEnv(GAME, 2)

    def reset() -> None:
        env.set_options(options)
        env.reset()

    refuses(reset, "allowed")
    env.set_options([{"deal": 3}, {}])
    env.reset()
    assert env.get_attr("deal")[0] == 3


@pytest.mark.parametrize("games", [GAME, [GAME]], ids=["one", "several"])
@pytest.mark.parametrize("kind", [SolitaireEnv, SolitaireVectorEnv, SolitaireVecEnv])
def test_environments_take_the_games_first_and_then_their_number(kind: Any, games: Any) -> None:
    assert kind(games).batch.groups[0].variant == GAME
    if kind is not SolitaireEnv:
        assert kind(games, 3).num_envs == 3


@pytest.mark.parametrize("games", [GAME, [GAME]], ids=["one", "several"])
@pytest.mark.parametrize("kind", [SolitaireEnv, SolitaireVectorEnv, SolitaireVecEnv])
def test_environments_have_no_step_limit_unless_they_are_given_one(
    kind: Any, games: Any, refuses: Refuses
) -> None:
    """A number, or the registered one; other words and numbers raise an error."""

    def limit(**arguments: Any) -> Any:
        return kind(games, **arguments).batch.settings.max_episode_steps

    assert limit() is limit(max_episode_steps=None) is None
    assert limit(max_episode_steps="registered") == 32 * 52
    assert limit(max_episode_steps=np.int64(5)) == 5
    for wrong in ("other", True, 0, -1, 1.5, 2**63, np.array([1, 2])):
        refuses(lambda wrong=wrong: limit(max_episode_steps=wrong), "max_episode_steps is", "from 1 to")


def test_a_single_environment_truncates_at_its_step_limit() -> None:
    env = SolitaireEnv(GAME, max_episode_steps=2)
    _, info = env.reset(seed=0)
    ends = []
    for _ in range(2):
        _, _, terminated, truncated, info = env.step(info["action_mask"].argmax())
        ends.append((terminated, truncated))
    assert ends == [(False, False), (False, True)]
