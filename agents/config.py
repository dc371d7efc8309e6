"""The configuration of training: its keys, their defaults, and the allowed values.

YAML files are read in :mod:`agents.runs.config_files`.
"""

import re
from collections.abc import Callable
from dataclasses import asdict, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from pydantic import ConfigDict, TypeAdapter, ValidationError, ValidationInfo, field_validator
from pydantic.dataclasses import dataclass

from agents.family import FamilySpec
from solitaire_env import Variant, env_id
from solitaire_env.core.spec import GameSpec, Settings
from solitaire_env.core.variant import Build, Moves, Spaces
from solitaire_env.evaluation.deals import parse_deals
from solitaire_env.family import SPLITS, read_games
from solitaire_env.move_features.autoplay import has_safe_moves
from solitaire_env.policies.model_files import MAX_RELAXED_REACHABILITY, MAX_ROLLOUT_LOOKAHEAD
from solitaire_env.registration import FAMILY_ID, env_variant, is_family, resolve_variant
from solitaire_env.util.messages import shown

RESUMABLE: Final = (
    "minutes", "total_steps", "device", "threads", "checkpoint_minutes", "held_out_deals", "eval_deals",
    "wandb",
)  # fmt: skip
"""Keys that a resumed training may change. The others describe what the run is, from its beginning."""


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
    information: Literal["player", "thoughtful"] = "player"
    """"player": the order of the stock is hidden; "thoughtful": it is observed."""
    reward: Literal["progress", "win", "progress+win"] = "progress+win"
    """Reward: "progress" for each card that goes home, "win" for a win, or both."""
    stall_limit: int | None = 40
    """A game is truncated after this many steps in which no card went home for the first time, left the
    stock (counted only while redeals are limited) or was turned up."""

    safe_autoplay: bool = False
    """Safe autoplay in training and in the model's play: cards whose next lower cards, of all decks, are home
    go home by themselves (cards, built by same suit)."""

    learner: Literal["ppo", "maskable-ppo", "pqn", "playouts"] = "ppo"
    """"ppo"; "maskable-ppo": sb3-contrib's, slower; "pqn": Q-learning; "playouts": learns which of a
    network's likely moves have the best playouts."""
    network: str = "moves"
    """"moves" reads features of each legal move; "piles" embeds cards and shares weights between piles; "mlp"
    is a plain multilayer perceptron; a custom network is "module:Class" (in a file only with --trust-model:
    its module is imported)."""
    init_linear_temperature: float | None = None
    """Start from the linear policy, with its scores divided by this temperature (ppo with moves)."""
    init_from: str | None = None
    """Model or run folder of the initial network. Several, with commas between them, are averaged: their mean
    plays better than each, if all were trained from the same network."""
    width: int = 64
    """Size of a pile's vector (piles), or of the value's hidden layers (moves)."""
    embedding: int = 16
    """Size of a card's embedding (piles)."""
    cards_per_pile: int = 8
    """Number of cards that are read of each pile, from its playable end; 0: all (piles)."""
    context_rounds: int = 2
    """Rounds in which piles read a context pooled over all piles (piles)."""
    hidden: list[int] = field(default_factory=lambda: [64, 32])
    """Sizes of the hidden layers (moves, mlp)."""
    dig_out: int = 2
    """Rounds of dig-out features: greedily uncover the next foundation cards (moves)."""
    rollout_lookahead: int = 0
    """Rollout lookahead: follow the linear policy after each move until it would draw, for at most this many
    moves, and add the features of that position; 0: off (moves, built by same suit)."""
    relaxed_reachability: int = 0
    """Number of relaxed-reachability features: foundation progress if all unseen cards were available, then
    with one more card of each pile, and so on; 0: none (moves)."""
    family: int = 0
    """1: add the family's features, for a network that plays many games (moves). They are always added with
    "Solitaire/Family-v0"."""

    minutes: float | None = 5.0
    """Minutes of training, over all resumptions, or null for no limit."""
    total_steps: int | None = None
    """Total number of steps of all games, or null for no limit."""
    num_envs: int = 512
    """Number of games in parallel."""
    n_steps: int = 64
    """Steps of each game between updates."""
    batch_size: int = 1024
    """Steps in a minibatch."""
    n_epochs: int = 3
    """Passes over the steps of an update."""
    learning_rate: float = 1e-3
    """Learning rate of Adam at the start."""
    learning_rate_end: float = 1e-4
    """Learning rate at the end; it falls linearly."""
    gamma: float = 0.999
    """Discount per step."""
    gae_lambda: float = 0.95
    """Lambda of the returns: of the generalized advantage estimate (ppo), of Q(lambda) (pqn)."""
    clip_range: float = 0.15
    """Clip range of the probability ratio (ppo)."""
    value_warmup_steps: int = 0
    """Number of steps at the start in which only the value head learns (ppo)."""
    ent_coef: float = 0.0
    """Weight of the entropy bonus (ppo)."""
    vf_coef: float = 1.0
    """Weight of the value loss; returns are at most 2 (ppo)."""
    exploration: float = 0.1
    """Probability of a random legal move at the start (pqn)."""
    exploration_end: float = 0.01
    """Probability of a random legal move from the middle of the training (pqn)."""
    temperature: float = 0.01
    """The trained policy draws moves with the softmax of their values divided by this (pqn)."""
    num_playouts: int = 6
    """Playouts of each likely move (playouts)."""
    min_prob: float = 0.003
    """Minimum probability of a move that is played out (playouts)."""
    kl_coef: float = 0.001
    """Weight of the KL penalty to the initial network, in units of the reward a nat (playouts)."""
    max_grad_norm: float = 1.0
    """Maximum norm of the gradient."""
    seed: int = 0
    """Seed of networks, deals and choices."""
    device: str = "cpu"
    """Torch device: "cpu", "cuda", or "auto" for a GPU if there is one."""
    threads: int = 0
    """Number of cores, 0 for all. Each has a process with its share of the games (maskable-ppo: number of
    torch threads)."""
    checkpoint_minutes: float = 1.0
    """Minutes between checkpoints."""
    held_out_deals: str | None = "20000:20500"
    """Deals for choosing the best network of the second half of the training; null: keep the last network."""
    eval_deals: str = "0:1000"
    """Deals of the comparison at the end."""
    wandb: str | None = None
    """Weights & Biases project to which the run is sent; needs the extra wandb."""

    @field_validator("games", mode="before")
    @classmethod
    def _join_games(cls, value: Any) -> Any:
        is_list = isinstance(value, list) and all(isinstance(name, str) for name in value)
        return ",".join(value) if is_list else value

    @field_validator("*", mode="before")
    @classmethod
    def _no_truth(cls, value: Any, info: ValidationInfo) -> Any:
        if isinstance(value, bool) != (info.field_name == "safe_autoplay"):
            # Pydantic would convert one into the other.
            raise ValueError(
                f"allowed: {'a number or text' if isinstance(value, bool) else 'true and false'}"
            )
        return value

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            numbers = value if isinstance(value, list) else [value]
            if any(isinstance(number, int) and abs(number) >= 2**63 for number in numbers):
                raise ValueError(f"{name} is {shown(value)}, allowed: whole numbers below 2**63")
        for conflict in FAMILY_CONFLICTS:
            if conflict.found(self):
                raise ValueError(conflict.message(self))
        self.variants  # noqa: B018 - refuses unknown ids and impossible rules
        for limit in LIMITS:
            for name in limit.keys:
                value = getattr(self, name)
                if not limit.holds(value):
                    raise ValueError(f"{name} is {shown(value)}, allowed: {limit.allowed}")
        for conflict in CONFLICTS:
            if conflict.found(self):
                raise ValueError(conflict.message(self))
        parse_deals(self.eval_deals)
        if self.held_out_deals is not None:
            parse_deals(self.held_out_deals)

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
        return resolve_variant(env_variant(self.env), build=self.build, spaces=self.spaces, moves=self.moves)

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
            return (env_variant(self.env).with_rules(build=self.build, spaces=self.spaces),)
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
        settings = Settings(reward=self.reward, stall_limit=self.stall_limit)
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
        if self.network == "moves":
            sizes = {"hidden": list(self.hidden), "width": self.width, "dig_out": self.dig_out}
            further = {
                "rollout_lookahead": self.rollout_lookahead,
                "relaxed_reachability": self.relaxed_reachability,
                "family": self.family or int(self.is_family),
            }
            return sizes | {name: n for name, n in further.items() if n}
        return {
            name: getattr(self, name) for name in ("width", "embedding", "cards_per_pile", "context_rounds")
        }


# ------------------------------------------------------------------------------------ validation


class Limit(NamedTuple):
    """The allowed values of some keys."""

    keys: tuple[str, ...]
    holds: Callable[[Any], bool]
    allowed: str


def _between(low: float, high: float, *keys: str) -> Limit:
    """The limit of numbers in a range."""
    return Limit(keys, lambda number: low <= number <= high, f"{low:,} to {high:,}")


MAX_STEPS: Final = 2**26
"""Maximum of num_envs x n_steps: the steps between updates are in memory, about 500 bytes each."""

LIMITS: Final = (
    Limit(
        ("n_epochs", "temperature", "learning_rate", "kl_coef", "max_grad_norm", "checkpoint_minutes"),
        lambda number: number > 0,
        "more than 0",
    ),
    # Larger ones do not fit in memory, or take hours to set up.
    _between(1, 2**20, "num_envs", "n_steps"),
    _between(1, 2**14, "embedding"),
    _between(2, 2**14, "width"),
    _between(1, 4096, "num_playouts"),
    _between(1, 100, "context_rounds", "dig_out"),
    _between(0, 1024, "threads"),
    _between(0, MAX_ROLLOUT_LOOKAHEAD, "rollout_lookahead"),
    _between(0, MAX_RELAXED_REACHABILITY, "relaxed_reachability"),
    _between(0, 1, "exploration", "exploration_end", "min_prob"),
    Limit(("batch_size",), lambda number: number >= 2, "at least 2"),
    Limit(("temperature",), lambda number: number < 1e6, "below 1,000,000"),
    Limit(
        ("minutes", "total_steps", "stall_limit"),
        lambda number: number is None or number > 0,
        "more than 0, or null for none",
    ),
    Limit(
        (
            "cards_per_pile", "value_warmup_steps", "ent_coef", "vf_coef", "learning_rate_end",
            "seed",
        ),
        lambda number: number >= 0,
        "at least 0",
    ),
    Limit(("seed",), lambda number: number < 2**32, "below 2**32"),
    Limit(
        ("network",),
        lambda name: bool(re.fullmatch(r"moves|piles|mlp|[\w.]+:\w+", name)),
        "'moves', 'piles', 'mlp', or module:Class of a custom network",
    ),
    Limit(("family",), lambda number: number in (0, 1), "0 and 1"),
    Limit(("gamma", "gae_lambda", "clip_range"), lambda number: 0 < number <= 1, "above 0, at most 1"),
    Limit(
        ("hidden",),
        lambda sizes: len(sizes) <= 16 and all(1 <= size <= 2**14 for size in sizes),
        f"at most 16 sizes of 1 to {2**14:,}",
    ),
    Limit(
        ("init_from",),
        lambda text: text is None or all(text.split(",")),
        "a folder, or several with commas between",
    ),
    Limit(
        ("device",),
        lambda name: bool(re.fullmatch("auto|cpu|mps|cuda(:[0-9]{1,3})?", name)),
        "auto, cpu, mps, cuda, cuda:0, ...",
    ),
    Limit(
        ("wandb",),
        lambda name: name is None or bool(re.fullmatch(r"[^/\\#?%:\x00-\x1f]{1,128}", name)),
        "null, or a name of at most 128 characters without / \\ # ? % :",
    ),
)  # fmt: skip


class Conflict(NamedTuple):
    """Keys whose values cannot be combined."""

    found: Callable[[TrainConfig], bool]
    message: Callable[[TrainConfig], str]


def _many_need(key: str, *allowed: Any) -> Conflict:
    """A conflict of training many games with other values of a key."""
    names = " or ".join("null" if value is None else shown(value) for value in allowed)
    return Conflict(
        lambda c: c.is_family and getattr(c, key) not in allowed,
        lambda c: f"{key} is {shown(getattr(c, key))} with {FAMILY_ID}, allowed: {names}",
    )


FAMILY_CONFLICTS: Final = (
    Conflict(
        lambda c: c.games is not None and not c.is_family,
        lambda c: f"games is {shown(c.games)} with env {shown(c.env)}, allowed: null, or {FAMILY_ID}",
    ),
    _many_need("network", "moves"),
    _many_need("observation", "cards"),
    _many_need("information", "player"),
    _many_need("learner", "ppo", "pqn"),
    _many_need("moves", None, "supermove"),
    _many_need("build", None),
    _many_need("spaces", None),
    _many_need("safe_autoplay", False),
    _many_need("rollout_lookahead", 0),
)
"""Conflicts of training many games; checked before the games are read."""

CONFLICTS: Final = (
    Conflict(
        lambda c: (
            c.init_linear_temperature is not None and (c.network != "moves" or c.init_linear_temperature <= 0)
        ),
        lambda c: (
            f"init_linear_temperature is {c.init_linear_temperature} with network {c.network!r}, "
            "allowed: null, or above 0 with 'moves'"
        ),
    ),
    Conflict(
        lambda c: c.init_linear_temperature is not None and c.learner == "pqn",
        lambda c: (
            f"init_linear_temperature is {c.init_linear_temperature} with learner 'pqn', which learns "
            "values, allowed: null"
        ),
    ),
    Conflict(
        lambda c: c.init_from is not None and c.init_linear_temperature is not None,
        lambda c: (
            f"init_from is {shown(c.init_from)} and init_linear_temperature is {c.init_linear_temperature}, "
            "allowed: one of them"
        ),
    ),
    Conflict(
        lambda c: c.safe_autoplay and (c.observation != "cards" or not has_safe_moves(c.variant)),
        lambda c: (
            f"safe_autoplay is true with observation {c.observation!r} and build {c.variant.build!r}, "
            "allowed: false, or 'cards' and 'same suit'"
        ),
    ),
    Conflict(
        lambda c: c.rollout_lookahead > 0 and not has_safe_moves(c.variant),
        lambda c: f"rollout_lookahead is {c.rollout_lookahead} with build {c.variant.build!r}, allowed: 0",
    ),
    Conflict(
        lambda c: c.learner == "playouts" and (c.observation, c.information) != ("cards", "player"),
        lambda c: (
            f"learner is 'playouts' with observation {c.observation!r} and information "
            f"{c.information!r}, allowed: 'cards' and 'player'"
        ),
    ),
    Conflict(
        # The standard deviation of a single advantage is undefined.
        lambda c: c.learner == "maskable-ppo" and c.num_envs * c.n_steps % c.batch_size == 1,
        lambda c: (
            f"num_envs x n_steps is {c.num_envs * c.n_steps} and batch_size {c.batch_size}: "
            "a minibatch of one step would be left, which MaskablePPO cannot learn from"
        ),
    ),
    Conflict(
        lambda c: c.num_envs * c.n_steps > MAX_STEPS,
        lambda c: f"num_envs x n_steps is {c.num_envs * c.n_steps:,}, allowed: at most {MAX_STEPS:,}",
    ),
    Conflict(
        lambda c: c.minutes is None and c.total_steps is None,
        lambda _: "minutes and total_steps are both null, allowed: at least one of them set",
    ),
    Conflict(
        lambda c: c.network in ("moves", "piles") and c.observation != "cards",
        lambda c: f"network {c.network!r} needs observation 'cards'; network 'mlp' reads 'features'",
    ),
)


# ------------------------------------------------------------------------------- making a configuration

_ADAPTER = TypeAdapter(TrainConfig)


def make_config(values: dict[str, Any], where: str) -> TrainConfig:
    """A validated configuration; errors name the source of the values."""
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
    # Errors about the whole configuration name their keys themselves.
    return ConfigError(
        f"{where}: {key} is {shown(first['input'])}: {message}" if key else f"{where}: {message}"
    )
