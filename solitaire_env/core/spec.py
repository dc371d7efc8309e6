"""The specification of a game: its rules, settings and layouts, and their hash."""

import hashlib
import json
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, get_args

from solitaire_env.core.layout import (
    ActionLayout,
    Information,
    Observation,
    Rules,
    action_layout,
    make_rules,
    observation_layout,
)
from solitaire_env.core.observations import INFORMATION, OBSERVATIONS, feature_layout, observation_size
from solitaire_env.core.supermoves import expands
from solitaire_env.core.variant import Moves, Variant, rules_to_dict
from solitaire_env.util.arguments import check_choice, check_count, check_kind
from solitaire_env.util.immutable import Immutable
from solitaire_env.util.lazy import cached_property

RewardName = Literal["progress", "win", "progress+win"]
"""Names of the reward schemes."""
REWARDS: Final[dict[RewardName, tuple[float, float]]] = {
    "progress": (1.0, 0.0),
    "win": (0.0, 1.0),
    "progress+win": (1.0, 1.0),
}
"""For each scheme, the reward for all cards home, of which a step earns the share that went home in it, and
the reward for the win."""
OnInvalid = Literal["noop", "raise", "terminate"]
"""Effect of an illegal action: nothing, an error, or the end of the episode."""


def check_limit(name: str, value: Any) -> int | None:
    """Check a step limit: None for no limit, or a whole number from 1, including NumPy integers."""
    return None if value is None else check_count(name, value, 1, 2**62 - 1)


@dataclass(frozen=True)
class Settings:
    """How a game is played and shown, apart from its rules: see :class:`~solitaire_env.env.SolitaireEnv`."""

    observation: Observation = "cards"
    information: Information = "player"
    reward: RewardName = "progress"
    on_invalid: OnInvalid = "noop"
    stall_limit: int | None = None
    max_episode_steps: int | None = None

    def __post_init__(self) -> None:
        for name, words in (
            ("observation", OBSERVATIONS),
            ("information", INFORMATION),
            ("reward", REWARDS),
            ("on_invalid", get_args(OnInvalid)),
        ):
            check_choice(name, getattr(self, name), words)
        for name in ("stall_limit", "max_episode_steps"):
            object.__setattr__(self, name, check_limit(name, getattr(self, name)))


@dataclass(frozen=True)
class GameSpec(Immutable):
    """A game as it is played and observed; the only description of that in the project.

    Parameters
    ----------
    variant
        The rules, including house rules and action set.
    settings
        Observation, rewards and limits of an episode.
    """

    variant: Variant
    settings: Settings = field(default_factory=Settings)

    def __post_init__(self) -> None:
        check_kind("variant", self.variant, Variant)
        check_kind("settings", self.settings, Settings)

    @cached_property
    def rules(self) -> Rules:
        """The rules as the integers that kernels read."""
        return make_rules(self.variant)

    @cached_property
    def actions(self) -> ActionLayout:
        """Numbers and texts of the actions."""
        return action_layout(self.variant)

    @property
    def num_actions(self) -> int:
        """Number of actions, legal or not."""
        return self.rules.actions

    @cached_property
    def slices(self) -> dict[str, slice]:
        """Named slices of the observation."""
        layout = observation_layout if self.settings.observation == "cards" else feature_layout
        return layout(self.variant, self.settings.information)

    @property
    def observation_size(self) -> int:
        """Number of entries of the observation."""
        return observation_size(self.variant, self.settings.observation, self.settings.information)

    @cached_property
    def layout(self) -> dict[str, Any]:
        """The layouts as plain data (JSON-able): what a model needs to read observations and name
        actions.

        ``observation``, ``information``, ``size`` and ``slices`` (name to ``[start, stop]``) of the
        observation; ``actions``, ``offsets`` (kind to ``[start, stop]``) and ``space_counts`` of the actions;
        ``piles``, ``cells``, ``waste`` (0 or 1), ``decks`` and ``ranks``; ``spaces``, what fills a space;
        ``moves``, the action set.
        """
        rules = self.rules

        def pairs(slices: dict[str, slice]) -> dict[str, list[int]]:
            return {name: [part.start, part.stop] for name, part in slices.items()}

        return {
            "observation": self.settings.observation,
            "information": self.settings.information,
            "size": self.observation_size,
            "slices": pairs(self.slices),
            "actions": rules.actions,
            "offsets": pairs(self.actions.offsets),
            "space_counts": rules.space_counts,
            "piles": rules.piles,
            "cells": rules.cells,
            "waste": rules.has_stock,
            "decks": rules.decks,
            "ranks": rules.ranks,
            "spaces": self.variant.spaces,
            "moves": self.variant.moves,
        }

    @cached_property
    def hash(self) -> str:
        """Sixteen hexadecimal digits of :attr:`layout` and the rules: a game with another hash is another."""
        return layout_hash({**self.layout, "rules": rules_to_dict(self.variant)})

    def view(
        self,
        *,
        moves: Moves | None = None,
        observation: Observation | None = None,
        information: Information | None = None,
    ) -> "GameSpec":
        """The same game as a policy sees it: with the policy's action set and observation.

        None keeps a setting. Limits and rewards are left out.

        Raises
        ------
        ValueError
            If the moves cannot be played as moves of this game: only ``"supermove"`` on a ``"one card"`` game
            that does not fill its spaces can be expanded.
        """
        variant = self.variant.with_rules(moves=moves)
        if variant != self.variant and (
            self.variant.moves != "one card" or variant.moves != "supermove" or not expands(variant)
        ):
            raise ValueError(
                f"the policy plays moves={variant.moves!r}, {self.variant.name} has {self.variant.moves!r}; "
                "only 'supermove' on a 'one card' game that does not fill spaces can be expanded"
            )
        return GameSpec(
            variant,
            Settings(
                observation=self.settings.observation if observation is None else observation,
                information=self.settings.information if information is None else information,
            ),
        )

    def with_settings(self, **settings: Any) -> "GameSpec":
        """The same rules with some settings replaced."""
        return replace(self, settings=replace(self.settings, **settings))


def layout_hash(layout: dict[str, Any]) -> str:
    """Sixteen hexadecimal digits, a hash of a layout (:attr:`GameSpec.layout`) or of other plain data."""
    return hashlib.sha256(json.dumps(layout, sort_keys=True).encode()).hexdigest()[:16]
