"""Environments that play many games, with a random one at each reset.

For learning across rules, and for playing games that were never seen in training: :data:`TRAIN` and
:data:`TEST` are constant lists of games.
"""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode
from typing_extensions import Unpack

from solitaire_env.arguments import MaskArguments, check_arguments
from solitaire_env.core.deals import check_deal
from solitaire_env.core.family import FamilyBatch, FamilyLayout, FamilyStart
from solitaire_env.core.variant import Variant
from solitaire_env.env import RESET_OPTIONS, SolitaireEnv
from solitaire_env.notation import read_position
from solitaire_env.registration import resolve_variant
from solitaire_env.util.arguments import check_choice, has_items
from solitaire_env.util.messages import shown
from solitaire_env.variants import VARIANTS
from solitaire_env.vector import AutoresetName, SolitaireVectorEnv

TEST: Final = (
    "emperor", "corona", "napoleons-folly", "forty-and-eight", "zebra", "triple-line", "little-forty",
    "unlimited", "pluto", "russian-solitaire", "double-klondike-draw-3", "thieves-of-egypt", "squadron",
    "forecell", "kingcell", "relaxed-seahaven-towers", "westcliff", "waterloo",
)  # fmt: skip
"""Test games, each with a combination of rules that no game of :data:`TRAIN` has."""
TRAIN: Final = (
    "forty-thieves", "eighty-thieves", "eights-down", "forty-bandits", "busy-aces", "sixty-thieves",
    "limited", "famous-fifty", "waning-moon", "thirty-nine-steps", "express", "carnation", "san-juan-hill",
    "lucas", "napoleons-square", "marie-rose", "malmaison", "interchange", "maria", "streets", "roosevelt",
    "big-streets", "number-ten", "number-twelve", "rank-and-file", "indian", "midshipman", "napoleons-exile",
    "double-rail", "final-battle", "single-rail", "triple-rail", "courtyard", "red-and-black", "deuces",
    "freecell", "freecell-two-cells", "freecell-no-cells", "relaxed-freecell", "seven-by-four",
    "seven-by-five", "triple-freecell", "cell-11", "big-cell", "repair", "bakers-game",
    "bakers-game-king-only", "seahaven-towers", "double-seahaven-towers", "double-eight-off", "penguin",
    "opus", "klondike", "klondike-draw-3", "double-klondike", "thumb-and-pouch", "whitehead", "yukon",
)  # fmt: skip
"""Training games. Games that are published later are in neither list."""
SPLITS: Final = {"train": TRAIN, "test": TEST, "all": tuple(variant.name for variant in VARIANTS)}

Games = str | Sequence[str | Variant | dict[str, Any]]
"""A split (``"train"``, ``"test"`` or ``"all"``) or a list of games."""


def read_games(games: Games) -> tuple[Variant, ...]:
    """The variants of a split or a list.

    Raises
    ------
    ValueError
        If the split is unknown, or the list is empty or names a game twice.
    """
    if isinstance(games, str):
        check_choice("split", games, SPLITS)
        games = SPLITS[games]
    if not has_items(games):
        raise TypeError(f"games are a {type(games).__name__}, allowed: a split or a list of games")
    variants = tuple(resolve_variant(game) for game in games)
    names = [variant.name for variant in variants]
    twice = sorted({name for name in names if names.count(name) > 1})
    if not variants or twice:
        raise ValueError(f"games are {shown(names, 60)}, allowed: one or more, each once")
    return variants


def _read_start(batch: Any, options: dict[str, Any]) -> FamilyStart:
    """The start of a game from reset's checked options."""
    variants = batch.layout.variants
    names = [variant.name for variant in variants]
    game = None
    if "variant" in options:
        variant = resolve_variant(options["variant"])
        if variant not in variants:
            other = " with other rules" if variant.name in names else ""
            raise ValueError(
                f"reset option 'variant' is {variant.name!r}{other}, allowed: {', '.join(names)}"
            )
        game = variants.index(variant)
    if "state" in options:
        state = options["state"]
        batch.batches[batch.game_of_state(state) if game is None else game].check_state(state)
        return FamilyStart(game, state)
    if "position" in options:
        text = options["position"]
        named = next((v for v in variants if isinstance(text, str) and f"variant: {v.name}\n" in text), None)
        position = read_position(text, variants[game] if game is not None else named or variants[0])
        if position.variant not in variants:
            raise ValueError(f"position is of variant {position.variant.name!r}, allowed: {', '.join(names)}")
        batch.batches[variants.index(position.variant)].check_position(position)
        return FamilyStart(game, position)
    deal = options.get("deal")
    return FamilyStart(game, None if deal is None else check_deal(variants[game or 0], deal))


class FamilyEnv(SolitaireEnv):
    """
    ## Description
    One of several games of solitaire, chosen at random at each reset, with the same observation and action
    space for all. It has the methods of :class:`~solitaire_env.env.SolitaireEnv`; ``variant``, ``game`` and
    ``settings`` are those of the current game.

    ## Action Space
    ``Discrete(n)``: the moves of all games. The same text is the same number in each of them.
    ``info["action_mask"]`` (int8 ``[n]``) is 1 for legal actions.

    ## Observation Space
    ``Box`` int8 ``[size]``: tableau piles, cells, waste, foundations, stock count, redeals and base as in the
    ``cards`` observation of a single game, each part as large as the largest game needs it; then the rules of
    the game as numbers (:data:`~solitaire_env.core.family.RULE_FIELDS`). ``layout.slices`` names the parts.

    ## Starting State
    ``reset(seed=s)`` picks a game and a deal. ``reset(options={"variant": "klondike", "deal": 7})`` names
    both; ``options={"position": text}`` starts from position text, ``options={"state": state}`` from a state.
    ``info["variant"]`` is the game's name.

    ## Rewards and Episode End
    As :class:`~solitaire_env.env.SolitaireEnv`. ``gym.make`` adds the step limit of the longest game;
    ``max_episode_steps="registered"`` is that of each game.

    ## Arguments
    games
        ``"train"`` (default), ``"test"``, ``"all"``, or a list of games.

    The others are those of :class:`~solitaire_env.env.SolitaireEnv`, except house rules and ``observation``.
    ``deals`` are the same numbers for all games.
    """

    _reset_options = ("variant", *RESET_OPTIONS)

    def __init__(
        self,
        games: Games = "train",
        **arguments: Unpack[MaskArguments],
    ) -> None:
        checked = check_arguments(arguments, MaskArguments)
        specs = list(map(checked.spec, read_games(games)))
        batch = FamilyBatch(specs, 1, chosen=checked.chosen(*specs))
        self.layout: FamilyLayout = batch.layout
        """The layout of the observation, and the text and number of each action."""
        self.variants = batch.layout.variants
        self._set_up(batch, checked)

    def _read_start(self, options: dict[str, Any]) -> FamilyStart:
        return _read_start(self.batch, options)

    def _info(self) -> dict[str, Any]:
        return {**super()._info(), "variant": self.variant.name}


class FamilyVectorEnv(SolitaireVectorEnv):
    """``num_envs`` games, each of one of several variants; see :class:`FamilyEnv`.

    Row ``i`` of ``reset(seed=s)`` plays like a single environment with ``seed=s + i``. ``info["variant"]``
    contains the names of the games, an array of objects ``[num_envs]``.
    """

    _reset_options = FamilyEnv._reset_options

    def __init__(
        self,
        games: Games = "train",
        num_envs: int = 1,
        *,
        autoreset_mode: AutoresetName | AutoresetMode = AutoresetMode.NEXT_STEP,
        copy: bool = True,
        **arguments: Unpack[MaskArguments],
    ) -> None:
        checked = check_arguments(arguments, MaskArguments)
        specs = list(map(checked.spec, read_games(games)))
        batch = FamilyBatch(specs, num_envs, chosen=checked.chosen(*specs))
        self.layout: FamilyLayout = batch.layout
        """The layout of the observation, and the text and number of each action."""
        self.variants = batch.layout.variants
        self._games = batch.games
        self._names = np.array([variant.name for variant in self.variants], dtype=object)
        self._set_up(batch, checked, autoreset_mode, copy)

    def __repr__(self) -> str:
        """The numbers of games and variants."""
        return f"{type(self).__name__}({len(self.variants)} games, num_envs={self.num_envs})"

    def _infos(self, mask: npt.NDArray[np.bool_]) -> dict[str, Any]:
        infos = super()._infos(mask)
        return {**infos, "variant": self._names[self._games], "_variant": infos["_deal"]}

    def _read_start(self, options: dict[str, Any]) -> FamilyStart:
        return _read_start(self.batch, options)

    def set_state(self, row: int, state: dict[str, Any]) -> tuple[npt.NDArray[Any], dict[str, Any]]:
        """See :meth:`SolitaireVectorEnv.set_state`."""
        observation, info = super().set_state(row, state)
        return observation, {**info, "variant": self._names[self._games[row]]}
