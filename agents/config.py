"""The configuration of training: its keys, their defaults, and the allowed values.

YAML files are read in :mod:`agents.runs.config_files`.
"""

from collections.abc import Iterator
from dataclasses import field
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import numpy as np
import numpy.typing as npt
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError, ValidationInfo, field_validator
from pydantic.dataclasses import dataclass

from agents.family_spec import FamilySpec
from solitaire_env import Variant, env_id
from solitaire_env.core.layout import Information
from solitaire_env.core.spec import GameSpec, Settings
from solitaire_env.core.variant import Build, Moves, Spaces
from solitaire_env.family import SPLITS, read_games
from solitaire_env.move_features.autoplay import has_safe_moves
from solitaire_env.registration import FAMILY_ID, is_family, resolve_variant
from solitaire_env.splits import chosen_deals, parse_deals
from solitaire_env.util.messages import shown

RESUMABLE: Final = (
    "minutes", "total_steps", "device", "threads", "checkpoint_minutes", "selection_deals", "eval_deals",
    "wandb",
)  # fmt: skip
"""Keys that a resumed training may change. The others describe what the run is, from its beginning."""
OLD_KEYS: Final = {"held_out_deals": "selection_deals"}
"""Earlier names of keys, in configurations that are stored."""

Positive = Annotated[float, Field(gt=0)]
Share = Annotated[float, Field(ge=0, le=1)]


class ConfigError(ValueError):
    """An invalid configuration; the message names the key, its value and what is allowed."""


@dataclass(config=ConfigDict(extra="forbid", allow_inf_nan=False))
class TrainConfig:
    """Configuration of a training run. A file needs only the keys that differ from these defaults."""

    env: str = "Solitaire/BusyAces-v0"
    """Gymnasium id, or name of a variant; "Solitaire/Family-v0" trains one network on many games."""
    games: str | None = None
    """The games of "Solitaire/Family-v0": "train" (the default), "test", "all", or names with commas between,
    in a file also as a list."""
    moves: Moves | None = None
    """Action set: "supermove" lets a one-card game carry a sequence as one action."""
    build: Build | None = None
    """House rule: suits that build on the tableau."""
    spaces: Spaces | None = None
    """House rule: cards that may fill a space."""
    observation: Literal["cards", "features"] = "cards"
    """Observation of the network."""
    information: Information = "player"
    """"player": the order of the stock is hidden; "memory": it is observed after the player has seen it;
    "thoughtful": it is observed."""
    reward: Literal["progress", "win", "progress+win"] = "progress+win"
    """Reward: "progress" for each card that goes home, "win" for a win, or both."""
    stall_limit: Annotated[int, Field(gt=0)] | None = 40
    """A game is truncated after this many steps without progress: no card went home for the first time, was
    turned up or left the stock. With unlimited redeals a card must leave stock and waste, and the steps of a
    pass are added to the limit."""

    safe_autoplay: bool = False
    """Safe autoplay in training and in the model's play: cards whose next lower cards, of all decks, are home
    go home by themselves (cards, built by same suit)."""
    avoid_repeats: bool = False
    """The model rarely plays a move again from the same position of a game. Training is unchanged."""
    finish_games: bool = False
    """Where all cards are known, and the policy greedy wins after some move, this move is played, in training
    and in the model's play (cards)."""

    learner: Literal["ppo", "maskable-ppo", "pqn", "playouts"] = "ppo"
    """"ppo"; "maskable-ppo": sb3-contrib's, slower; "pqn": Q-learning; "playouts": learns which of a
    network's likely moves have the best playouts."""
    network: Annotated[str, Field(pattern=r"^(moves|mlp|[\w.]+:\w+)$")] = "moves"
    """"moves" reads features of each legal move; "mlp" is a plain multilayer perceptron; a custom network is
    "module:Class" (in a file only with --trust-model: its module is imported)."""
    init_linear_temperature: Positive | None = None
    """Start from the linear policy, with its scores divided by this temperature (ppo with moves)."""
    init_from: Annotated[str, Field(pattern="^[^,]+(,[^,]+)*$")] | None = None
    """Model or run folder of the initial network. Several, with commas between them, are averaged: their mean
    plays better than each, if all were trained from the same network."""
    width: Annotated[int, Field(ge=2, le=2**14)] = 64
    """Size of the value's hidden layers (moves)."""
    hidden: Annotated[list[Annotated[int, Field(ge=1, le=2**14)]], Field(max_length=16)] = field(
        default_factory=lambda: [64, 32]
    )
    """Sizes of the hidden layers (moves, mlp)."""
    dig_out: Annotated[int, Field(ge=1, le=100)] = 2
    """Rounds of dig-out features: greedily uncover the next foundation cards (moves)."""
    rollout_lookahead: Annotated[int, Field(ge=0, le=1000)] = 0
    """Rollout lookahead: follow the linear policy after each move until it would draw, for at most this many
    moves, and add the features of that position; 0: off (moves, built by same suit)."""
    relaxed_reachability: Annotated[int, Field(ge=0, le=100)] = 0
    """Number of relaxed-reachability features: foundation progress if all unseen cards were available, then
    with one more card of each pile, and so on; 0: none (moves)."""
    family: Literal[0, 1] = 0
    """1: add the family's features, for a network that plays many games (moves). They are always added with
    "Solitaire/Family-v0"."""
    hidden_cards: Literal[0, 1] = 0
    """1: add the features of hidden cards: what lies face down, and what the stock gives; with information
    "memory" also a stock that has been seen (moves)."""

    minutes: Positive | None = 5.0
    """Minutes of training, over all resumptions, or null for no limit."""
    total_steps: Annotated[int, Field(gt=0)] | None = None
    """Total number of steps of all games, or null for no limit."""
    deals: str | None = None
    """Deals to train on: a split ("train-1k", "train-winnable", "train-easy"), FIRST:END, or several numbers
    and ranges with commas, in a file also as a list; null: all that are not reserved for evaluation."""
    num_envs: Annotated[int, Field(ge=1, le=2**20)] = 512
    """Number of games in parallel."""
    n_steps: Annotated[int, Field(ge=1, le=2**20)] = 64
    """Steps of each game between updates."""
    batch_size: Annotated[int, Field(ge=2)] = 1024
    """Steps in a minibatch."""
    n_epochs: Annotated[int, Field(ge=1)] = 3
    """Passes over the steps of an update."""
    learning_rate: Positive = 1e-3
    """Learning rate of Adam at the start."""
    learning_rate_end: Annotated[float, Field(ge=0)] = 1e-4
    """Learning rate at the end; it falls linearly."""
    gamma: Share = 0.999
    """Discount per step."""
    gae_lambda: Share = 0.95
    """Lambda of the returns: of the generalized advantage estimate (ppo), of Q(lambda) (pqn)."""
    clip_range: Share = 0.15
    """Clip range of the probability ratio (ppo)."""
    value_warmup_steps: Annotated[int, Field(ge=0)] = 0
    """Number of steps at the start in which only the value head learns (ppo)."""
    ent_coef: Annotated[float, Field(ge=0)] = 0.0
    """Weight of the entropy bonus (ppo)."""
    num_playouts: Annotated[int, Field(ge=1, le=4096)] = 6
    """Playouts of each likely move (playouts)."""
    seed: Annotated[int, Field(ge=0, le=2**32 - 1)] = 0
    """Seed of networks, deals and choices."""
    device: Annotated[str, Field(pattern="^(auto|cpu|mps|cuda(:[0-9]{1,3})?)$")] = "cpu"
    """Torch device: "cpu", "cuda", or "auto" for a GPU if there is one."""
    threads: Annotated[int, Field(ge=0, le=1024)] = 0
    """Number of cores, 0 for all. Each has a process with its share of the games (maskable-ppo: number of
    torch threads)."""
    checkpoint_minutes: Positive = 1.0
    """Minutes between checkpoints."""
    selection_deals: str | None = "20000:20500"
    """Deals for choosing the best network of the second half of the training; null: keep the last network."""
    eval_deals: str | None = None
    """Deals of the comparison at the end; null: as many of 0:1000, from the first, as the network plays in a
    quarter of the training's time (with "Solitaire/Family-v0" 0:20 of each game)."""
    wandb: Annotated[str, Field(pattern=r"^[^/\\#?%:\x00-\x1f]{1,128}$")] | None = None
    """Weights & Biases project to which the run is sent; needs the extra wandb."""

    @field_validator("*", mode="before")
    @classmethod
    def _refuse_flags(cls, value: Any, info: ValidationInfo) -> Any:
        is_flag = cls.__dataclass_fields__[str(info.field_name)].type is bool
        if not is_flag and any(
            isinstance(part, bool) for part in (value if isinstance(value, list) else [value])
        ):
            raise ValueError("neither true nor false is allowed")
        return value

    @field_validator("games", "deals", mode="before")
    @classmethod
    def _join(cls, value: Any) -> Any:
        is_list = isinstance(value, list) and all(type(name) in (str, int) for name in value)
        return ",".join(map(str, value)) if is_list else value

    def __post_init__(self) -> None:
        for error in _conflicts(self):
            raise ValueError(error)
        self.variants  # noqa: B018 - refuses unknown ids and impossible rules
        for deals in (self.eval_deals, self.selection_deals):
            if deals is not None:
                parse_deals(deals)
        self.chosen_deals  # noqa: B018 - refuses reserved deals

    @property
    def chosen_deals(self) -> npt.NDArray[np.int64]:
        """The numbers of the deals to train on, int64 ``[n]``; none for all that are not reserved."""
        return chosen_deals(self.deals, self.variants)

    @property
    def init_folders(self) -> list[Path]:
        """The folders whose networks training starts from."""
        return [] if self.init_from is None else [Path(name) for name in self.init_from.split(",")]

    @property
    def is_family(self) -> bool:
        """Whether one network learns many games."""
        return is_family(self.env)

    @property
    def name(self) -> str:
        """Name of the game, or ``family``; run folders start with it."""
        return "family" if self.is_family else self.variant.name

    @property
    def title(self) -> str:
        """Title of the game, or the number of games."""
        return f"{len(self.variants)} games" if self.is_family else self.variant.title

    @property
    def env_id(self) -> str:
        """The Gymnasium id."""
        return FAMILY_ID if self.is_family else env_id(self.variant)

    @property
    def variant(self) -> Variant:
        """The game, with house rules and action set."""
        if self.is_family:
            raise ValueError(f"{FAMILY_ID} is many games, allowed here: a single one")
        return resolve_variant(self.env, build=self.build, spaces=self.spaces, moves=self.moves)

    @property
    def variants(self) -> tuple[Variant, ...]:
        """The games, with house rules and action set. In a family, one-card games have supermoves if the
        configuration asks for them and the game takes them.
        """
        if not self.is_family:
            return (self.variant,)
        return tuple(
            variant.with_rules(moves=self.moves) if self._has_shortcuts(variant) else variant
            for variant in self._published
        )

    @property
    def _published(self) -> tuple[Variant, ...]:
        """The games by their published rules and the house rules."""
        if not self.is_family:
            return (resolve_variant(self.env, build=self.build, spaces=self.spaces),)
        games = self.games or "train"
        return read_games(games if games in SPLITS else games.split(","))

    def _has_shortcuts(self, variant: Variant) -> bool:
        return self.moves == "supermove" and variant.moves == "one card" and variant.takes_supermoves

    @property
    def game(self) -> GameSpec:
        """The game as the network sees it, with the training reward and without limits."""
        return GameSpec(self.variant, Settings(self.observation, self.information, self.reward))

    @property
    def spec(self) -> GameSpec | FamilySpec:
        """The specification of the network: the game, or the games."""
        return self.family_spec if self.is_family else self.game

    @property
    def family_spec(self) -> FamilySpec:
        """The games as the network sees them, with the training reward."""
        settings = Settings(information=self.information, reward=self.reward, stall_limit=self.stall_limit)
        return FamilySpec(self.variants, settings, self.moves)

    @property
    def played_game(self) -> tuple[GameSpec, Moves | None]:
        """The game of evaluation, and the action set of policies that leave it open, if it differs.

        A one-card game is played by its own rules even when the network chooses supermoves.
        """
        self.variant  # noqa: B018 - refuses many games
        return self.played_games[0]

    @property
    def played_games(self) -> list[tuple[GameSpec, Moves | None]]:
        """:attr:`played_game` of each game."""
        return [
            (GameSpec(published), "supermove")
            if self._has_shortcuts(published)
            else (GameSpec(published if self.is_family else published.with_rules(moves=self.moves)), None)
            for published in self._published
        ]

    def rate_at(self, share: float) -> float:
        """The learning rate after a share of the training, 0 to 1."""
        return self.learning_rate + (self.learning_rate_end - self.learning_rate) * share

    @property
    def network_sizes(self) -> dict[str, Any]:
        """Arguments of the network's constructor besides the game; none for a custom network."""
        if ":" in self.network:
            return {}
        if self.network == "mlp":
            return {"hidden": list(self.hidden)}
        further = {
            "rollout_lookahead": self.rollout_lookahead,
            "relaxed_reachability": self.relaxed_reachability,
            "family": self.family or int(self.is_family),
            "hidden_cards": self.hidden_cards,
        }
        sizes = {"hidden": list(self.hidden), "width": self.width, "dig_out": self.dig_out}
        return sizes | {name: n for name, n in further.items() if n}


# ------------------------------------------------------------------------------------ validation

TEXTS: Final = {
    "network": "'moves', 'mlp', or module:Class of a custom network",
    "init_from": "a folder, or several with commas between",
    "device": "auto, cpu, mps, cuda, cuda:0, ...",
    "wandb": "a name of at most 128 characters without / \\ # ? % :",
}
"""What the patterns of texts allow, in words."""
FAMILY_ONLY: Final[dict[str, tuple[Any, ...]]] = {
    "network": ("moves",),
    "observation": ("cards",),
    "information": ("player", "memory"),
    "learner": ("ppo", "pqn"),
    "moves": (None, "supermove"),
    "build": (None,),
    "spaces": (None,),
    "safe_autoplay": (False,),
    "rollout_lookahead": (0,),
}
"""The allowed values of keys when one network learns many games."""


def _conflicts(c: TrainConfig) -> Iterator[str]:
    """The errors of keys whose values cannot be combined."""
    if c.is_family:
        for key, allowed in FAMILY_ONLY.items():
            if getattr(c, key) not in allowed:
                words = " or ".join("null" if value is None else shown(value) for value in allowed)
                yield f"{key} is {shown(getattr(c, key))} with {FAMILY_ID}, allowed: {words}"
    elif c.games is not None:
        yield f"games is {shown(c.games)} with env {shown(c.env)}, allowed: null, or {FAMILY_ID}"
    if c.minutes is None and c.total_steps is None:
        yield "minutes and total_steps are both null, allowed: at least one of them set"
    if c.network == "moves" and c.observation != "cards":
        yield "network 'moves' needs observation 'cards'; network 'mlp' reads 'features'"
    if c.init_linear_temperature is not None:
        given = f"init_linear_temperature is {c.init_linear_temperature}"
        if c.network != "moves":
            yield f"{given} with network {c.network!r}, allowed: null, or network 'moves'"
        if c.learner == "pqn":
            yield f"{given} with learner 'pqn', which learns values, allowed: null"
        if c.init_from is not None:
            yield f"{given} and init_from is {shown(c.init_from)}, allowed: one of them"
    if c.learner == "playouts" and (c.observation, c.information) != ("cards", "player"):
        yield (
            f"learner is 'playouts' with observation {c.observation!r} and information {c.information!r}, "
            "allowed: 'cards' and 'player'"
        )
    if c.learner == "maskable-ppo" and c.num_envs * c.n_steps % c.batch_size == 1:
        # The standard deviation of a single advantage is undefined.
        yield (
            f"num_envs x n_steps is {c.num_envs * c.n_steps} and batch_size {c.batch_size}: a minibatch of "
            "one step would be left, which MaskablePPO cannot learn from"
        )
    if not c.is_family and not has_safe_moves(c.variant):
        for key in ("safe_autoplay", "rollout_lookahead"):
            if getattr(c, key):
                yield f"{key} is {getattr(c, key)} with build {c.variant.build!r}, allowed: only 'same suit'"
    for key in ("safe_autoplay", "finish_games"):
        if getattr(c, key) and c.observation != "cards":
            yield f"{key} is True with observation {c.observation!r}, allowed: 'cards'"


# ------------------------------------------------------------------------------- making a configuration

_ADAPTER = TypeAdapter(TrainConfig)


def make_config(values: dict[str, Any], where: str) -> TrainConfig:
    """A validated configuration; errors name the source of the values. :data:`OLD_KEYS` are read too."""
    values = {new if (new := OLD_KEYS.get(key)) and new not in values else key: values[key] for key in values}
    try:
        return _ADAPTER.validate_python(values)
    except ValidationError as error:
        raise explain(error, where) from None


def explain(error: ValidationError, where: str) -> ConfigError:
    """The errors of a configuration in a sentence."""
    first = error.errors()[0]
    key = ".".join(str(part) for part in first["loc"])
    if first["type"] in ("unexpected_keyword_argument", "extra_forbidden"):
        # Show the first only; there are too many for a sentence.
        likest = get_close_matches(key, TrainConfig.__dataclass_fields__, n=6, cutoff=0)
        return ConfigError(
            f"{where}: unknown key {shown(key)}, allowed: {', '.join(likest)}, and what --help lists"
        )
    message = first["ctx"]["error"] if first["type"] == "value_error" else first["msg"]
    if first["type"] == "string_pattern_mismatch":
        message = f"allowed: {TEXTS[key]}"
    # Errors about the whole configuration name their keys themselves.
    return ConfigError(
        f"{where}: {key} is {shown(first['input'])}: {message}" if key else f"{where}: {message}"
    )
