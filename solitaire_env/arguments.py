"""The arguments that environments have in common: declared and checked once."""

from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple, TypedDict, get_args

import numpy as np
import numpy.typing as npt

from solitaire_env.core.batch import Batch
from solitaire_env.core.layout import Information, Observation
from solitaire_env.core.spec import GameSpec, OnInvalid, RewardName, Settings
from solitaire_env.core.variant import HOUSE_RULES, Build, Moves, Spaces, Variant
from solitaire_env.registration import resolve_variant, step_limit
from solitaire_env.render import SIZE, RenderMode, check_render_mode, check_render_size
from solitaire_env.splits import Chosen, chosen_deals
from solitaire_env.util.arguments import check_choice

MaskDtype = Literal["int8", "bool"]
"""Types of the mask in the infos."""
MASK_DTYPES: Final = get_args(MaskDtype)
REGISTERED: Final = "registered"
"""The registered step limit of each variant."""
StepLimit = int | Literal["registered"] | None
"""A step limit: a number, that of each variant, or none."""


class CommonArguments(TypedDict, total=False):
    """Arguments of every environment; :class:`~solitaire_env.env.SolitaireEnv` describes them."""

    max_episode_steps: StepLimit
    deals: Chosen
    information: Information
    reward: RewardName
    on_invalid: OnInvalid
    stall_limit: int | None
    render_mode: RenderMode | None
    render_size: tuple[int, int]


class MaskArguments(CommonArguments, total=False):
    """Arguments of environments with masks in their infos."""

    mask_dtype: MaskDtype


class HouseRules(TypedDict, total=False):
    """Arguments of environments with one game: rules that replace those of the variant; the observation."""

    build: Build | None
    spaces: Spaces | None
    moves: Moves | None
    observation: Observation


class GameArguments(MaskArguments, HouseRules, total=False):
    """Arguments of the Gymnasium environments with one game."""


class VecEnvArguments(CommonArguments, HouseRules, total=False):
    """Arguments of the Stable-Baselines3 environment."""


_SETTINGS: Final = ("observation", "information", "reward", "on_invalid", "stall_limit")


class Arguments(NamedTuple):
    """Checked arguments, as every environment takes them apart."""

    rules: dict[str, Any]
    """House rules, by the names of the variant's fields."""
    settings: dict[str, Any]
    """Settings of the game, by the names in :class:`~solitaire_env.core.spec.Settings`."""
    max_episode_steps: StepLimit
    deals: Chosen
    mask_dtype: MaskDtype
    render_mode: str | None
    render_size: tuple[int, int]

    def spec(self, variant: str | Variant | dict[str, Any]) -> GameSpec:
        """The specification of a game with these rules and settings."""
        game = resolve_variant(variant, **self.rules)
        limit = self.max_episode_steps
        if isinstance(limit, str) and limit == REGISTERED:
            limit = step_limit(game)
        return GameSpec(game, Settings(**self.settings, max_episode_steps=limit))

    def chosen(self, *games: GameSpec) -> npt.NDArray[np.int64]:
        """The deals that an environment of these games draws from, as
        :func:`~solitaire_env.splits.chosen_deals` returns them.
        """
        return chosen_deals(self.deals, [game.variant for game in games])

    def batch(self, variant: str | Variant | dict[str, Any], size: int) -> Batch:
        """A batch of ``size`` games with these rules and settings, drawn from these deals."""
        game = self.spec(variant)
        return Batch(game, size, chosen=self.chosen(game))


def check_arguments(given: Mapping[str, Any], declared: Any) -> Arguments:
    """Check the arguments that an environment was given by name.

    Parameters
    ----------
    declared
        The class that declares them.

    Raises
    ------
    TypeError
        If an argument is not declared.
    ValueError
        If a value is not allowed.
    """
    allowed = sorted(declared.__optional_keys__)
    unknown = [name for name in given if name not in allowed]
    if unknown:
        raise TypeError(f"got an unexpected keyword argument {unknown[0]!r}, allowed: {', '.join(allowed)}")
    return Arguments(
        {name: given[name] for name in HOUSE_RULES if name in given},
        {name: given[name] for name in _SETTINGS if name in given},
        given.get("max_episode_steps"),
        given.get("deals"),
        check_choice("mask_dtype", given.get("mask_dtype", "int8"), MASK_DTYPES),
        check_render_mode(given.get("render_mode")),
        check_render_size(given.get("render_size", SIZE)),
    )
