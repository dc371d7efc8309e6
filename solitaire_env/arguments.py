"""The arguments that environments have in common: declared and checked once."""

from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple, TypedDict, get_args

import numpy as np
import numpy.typing as npt

from solitaire_env.core.batch import Batch
from solitaire_env.core.layout import Information, Observation
from solitaire_env.core.spec import GameSpec, OnInvalid, RewardName, Settings
from solitaire_env.core.variant import HOUSE_RULES, Build, Moves, Spaces, Variant
from solitaire_env.family import SPLITS, Game, Games, read_games
from solitaire_env.registration import resolve_variant, step_limit
from solitaire_env.render import SIZE, RenderMode, check_render_mode, check_render_size
from solitaire_env.splits import Chosen, chosen_deals
from solitaire_env.util.arguments import check_choice
from solitaire_env.util.messages import shown

MaskDtype = Literal["int8", "bool"]
"""Types of the mask in the infos."""
MASK_DTYPES: Final = get_args(MaskDtype)
REGISTERED: Final = "registered"
"""The registered step limit of each variant."""
StepLimit = int | Literal["registered"] | None
"""A step limit: a number, that of each variant, or none."""


class CommonArguments(TypedDict, total=False):
    """Arguments of every environment; :class:`~solitaire_env.env.SolitaireEnv` describes them."""

    build: Build | None
    spaces: Spaces | None
    moves: Moves | None
    max_episode_steps: StepLimit
    deals: Chosen
    observation: Observation
    information: Information
    reward: RewardName
    on_invalid: OnInvalid
    stall_limit: int | None
    render_mode: RenderMode | None
    render_size: tuple[int, int]


class GameArguments(CommonArguments, total=False):
    """Arguments of the Gymnasium environments, which have masks in their infos."""

    mask_dtype: MaskDtype


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

    def spec(self, game: Game) -> GameSpec:
        """The specification of a game with these rules and settings."""
        variant = resolve_variant(game, **self.rules)
        limit = self.max_episode_steps
        if isinstance(limit, str) and limit == REGISTERED:
            limit = step_limit(variant)
        return GameSpec(variant, Settings(**self.settings, max_episode_steps=limit))

    def chosen(self, *games: GameSpec) -> npt.NDArray[np.int64]:
        """The deals that an environment of these games draws from, as
        :func:`~solitaire_env.splits.chosen_deals` returns them.
        """
        return chosen_deals(self.deals, [game.variant for game in games])

    def batch(self, games: Games | Batch, size: int) -> Batch:
        """A batch of ``size`` games with these rules and settings, drawn from these deals; a Batch itself.

        Raises
        ------
        ValueError
            If there are house rules or an observation for several games.
        """
        if isinstance(games, Batch):
            return games
        if isinstance(games, (Variant, dict)) or (isinstance(games, str) and games not in SPLITS):
            spec = self.spec(games)
            return Batch(spec, size, chosen=self.chosen(spec))
        for name, value in {**self.rules, "observation": self.settings.get("observation")}.items():
            if value not in (None, "cards"):
                raise ValueError(
                    f"{name} {shown(value)} is an argument of one game, not allowed with several"
                )
        specs = list(map(self.spec, read_games(games)))
        return Batch(specs, size, chosen=self.chosen(*specs))


def check_arguments(given: Mapping[str, Any], declared: Any = CommonArguments) -> Arguments:
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
