"""The configuration of a training: the record with its defaults, and what values are refused.

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
from solitaire_env.policies.model_files import MAX_ONWARD, MAX_REACH
from solitaire_env.registration import FAMILY_ID, env_variant, is_family, resolve_variant
from solitaire_env.util.messages import shown


class ConfigError(ValueError):
    """A configuration that cannot be used; says which key, what it holds and what is allowed."""


@dataclass(config=ConfigDict(extra="forbid", allow_inf_nan=False))
class TrainConfig:
    """What a training run does. Defaults stand here; a file names what differs."""

    env: str = "Solitaire/BusyAces-v0"
    """Gymnasium id, or name of a variant; "Solitaire/Family-v0" trains one network on many games."""
    games: str | None = None
    """The games of "Solitaire/Family-v0": "train" (the default), "test", "all", or names with commas between,
    in a file also as a list."""
    moves: Moves | None = None
    """Action set: "supermove" lets a one-card game carry a sequence as one action."""
    build: Build | None = None
    """House rule: what builds on the tableau."""
    spaces: Spaces | None = None
    """House rule: what fills a space."""
    observation: Literal["cards", "features"] = "cards"
    """What the network sees."""
    information: Literal["player", "thoughtful"] = "player"
    """Whether the order of the stock is hidden."""
    reward: Literal["progress", "win", "progress+win"] = "progress+win"
    """Reward scheme."""
    stall_limit: int | None = 40
    """A game is cut off after so many steps without a card going home or coming off the stock."""

    sure_home: bool = False
    """What is sure to go home goes home by itself, in training and in the model's play: a card whose next
    lower ones are home, of all decks (cards, built by same suit)."""

    learner: Literal["ppo", "maskable-ppo", "pqn", "playouts"] = "ppo"
    """PPO learns how likely to make each move ("maskable-ppo" is sb3-contrib's, slower), PQN what each is
    worth; "playouts" learns which of a network's likely moves playouts find best."""
    network: str = "moves"
    """"moves" reads what each legal move leads to; "piles" embeds cards and treats piles alike; "mlp" is a
    plain multilayer perceptron; a custom network is "module:Class"."""
    linear_start: float | None = None
    """Start from the linear policy, its scores divided by this temperature (ppo with moves)."""
    start: str | None = None
    """Model or run folder whose network training starts from. Of several, with commas between them, it is the
    mean of their weights: a better network than each, if they went on from the same one."""
    width: int = 64
    """Size of a pile's vector (piles), of the layers for the value (moves)."""
    embedding: int = 16
    """Size of a card's embedding (piles)."""
    depth: int = 8
    """Cards of a pile that are read from its playable end, 0 for all (piles)."""
    rounds: int = 2
    """Rounds of pooled context (piles)."""
    hidden: list[int] = field(default_factory=lambda: [64, 32])
    """Hidden layers (moves, mlp)."""
    digs: int = 2
    """Rounds in which the wanted cards are dug out in the mind (moves)."""
    onward: int = 0
    """So many moves at most the linear policy goes on from where each move leads, until it would draw, and
    where it comes to is read too; 0: it does not (moves, built by same suit)."""
    reach: int = 0
    """How many cards of each pile, but for one, are taken in hand besides the unseen to see how far the
    foundations would come; 0: it is not looked at (moves)."""
    family: int = 0
    """1: the family's features are read too, for a network that plays many games (moves). With
    "Solitaire/Family-v0" they always are."""

    minutes: float | None = 5.0
    """Training stops after so many minutes, pauses not counted."""
    total_steps: int | None = None
    """Training stops after so many steps of all games together."""
    num_envs: int = 512
    """Games side by side."""
    n_steps: int = 64
    """Steps of each game between updates."""
    batch_size: int = 1024
    """Steps in a minibatch."""
    n_epochs: int = 3
    """Passes over the steps of an update."""
    learning_rate: float = 1e-3
    """Of Adam, at the start."""
    learning_rate_end: float = 1e-4
    """Of Adam, at the end; linear in between."""
    gamma: float = 0.999
    """Discount a step."""
    gae_lambda: float = 0.95
    """Lambda of the returns: of the generalized advantage estimate (ppo), of Q(lambda) (pqn)."""
    clip_range: float = 0.15
    """How far an update may change a probability (ppo)."""
    value_steps: int = 0
    """For so many steps, at the start, only the value is learned (ppo)."""
    ent_coef: float = 0.0
    """Weight of the entropy bonus (ppo)."""
    vf_coef: float = 1.0
    """Weight of the value loss; returns are at most 2 (ppo)."""
    exploration: float = 0.1
    """Share of moves drawn from all legal ones at the start (pqn)."""
    exploration_end: float = 0.01
    """The same from the middle of the training on (pqn)."""
    temperature: float = 0.01
    """What is trained draws its moves by their values divided by this (pqn)."""
    num_playouts: int = 6
    """Playouts of each likely move (playouts)."""
    least: float = 0.003
    """Moves that the network finds less likely are not played out (playouts)."""
    kl_coef: float = 0.001
    """Weight of the Kullback-Leibler divergence from the network of the start: what a nat of it must bring
    (playouts)."""
    max_grad_norm: float = 1.0
    """Gradients are clipped to this norm."""
    seed: int = 0
    """Of networks, deals and choices."""
    device: str = "cpu"
    """torch's name of the device: "cpu", "cuda", "auto" for a GPU where there is one."""
    threads: int = 0
    """Cores to train on, 0 for all. Each has a process with its share of the games (maskable-ppo: threads of
    torch)."""
    checkpoint_minutes: float = 1.0
    """A stop loses at most so much."""
    held_out_deals: str | None = "20000:20500"
    """Deals by which the best network of the second half of the training is chosen, and kept; null: the last
    is kept."""
    eval_deals: str = "0:1000"
    """Deals on which the policies are compared at the end."""
    wandb: str | None = None
    """Project of Weights & Biases that the run is sent to; needs the extra wandb."""

    @field_validator("games", mode="before")
    @classmethod
    def _join_games(cls, value: Any) -> Any:
        is_list = isinstance(value, list) and all(isinstance(name, str) for name in value)
        return ",".join(value) if is_list else value

    @field_validator("*", mode="before")
    @classmethod
    def _no_truth(cls, value: Any, info: ValidationInfo) -> Any:
        if isinstance(value, bool) != (info.field_name == "sure_home"):
            # Pydantic would take each for the other.
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
    def starts(self) -> list[Path]:
        """The folders whose networks training starts from."""
        return [] if self.start is None else [Path(name) for name in self.start.split(",")]

    @property
    def is_family(self) -> bool:
        """Whether one network learns many games."""
        return is_family(self.env)

    @property
    def name(self) -> str:
        """Of the game, or ``family``: what run folders are called."""
        return "family" if self.is_family else self.variant.name

    @property
    def title(self) -> str:
        """Of the game, or how many games there are."""
        return f"{len(self.variants)} games" if self.is_family else self.variant.title

    @property
    def env_id(self) -> str:
        """The Gymnasium id."""
        return FAMILY_ID if self.is_family else env_id(self.variant)

    @property
    def variant(self) -> Variant:
        """The game that is learned, with house rules and action set."""
        if self.is_family:
            raise ValueError(f"{FAMILY_ID} is many games, allowed here: a single one")
        return resolve_variant(env_variant(self.env), build=self.build, spaces=self.spaces, moves=self.moves)

    @property
    def variants(self) -> tuple[Variant, ...]:
        """The games that are learned, with house rules and action set. Of a family, those of one card have
        supermoves where the configuration says so and they take them.
        """
        if not self.is_family:
            return (self.variant,)
        return tuple(
            variant.with_rules(moves=self.moves) if self._has_shortcuts(variant) else variant
            for variant in self._published
        )

    @property
    def _published(self) -> tuple[Variant, ...]:
        """The games by their published rules, but for house rules."""
        if not self.is_family:
            return (env_variant(self.env).with_rules(build=self.build, spaces=self.spaces),)
        games = self.games or "train"
        return read_games(games if games in SPLITS else games.split(","))

    def _has_shortcuts(self, variant: Variant) -> bool:
        return self.moves == "supermove" and variant.moves == "one card" and variant.takes_supermoves

    @property
    def game(self) -> GameSpec:
        """The game as the network sees it, with the reward that it learns from; no limits."""
        return GameSpec(self.variant, Settings(self.observation, self.information, self.reward))

    @property
    def spec(self) -> GameSpec | FamilySpec:
        """What the network is made for: the game, or the games."""
        return self.family_spec if self.is_family else self.game

    @property
    def family_spec(self) -> FamilySpec:
        """The games as the network sees them, with the reward that it learns from."""
        settings = Settings(reward=self.reward, stall_limit=self.stall_limit)
        return FamilySpec(self.variants, settings, self.moves)

    @property
    def played_game(self) -> tuple[GameSpec, Moves | None]:
        """The game that is played, and the action set of policies that leave it open, if it is another.

        A one-card game is played by its own rule also when the network chooses supermoves.
        """
        self.variant  # noqa: B018 - refuses many games
        return self.played_games[0]

    @property
    def played_games(self) -> list[tuple[GameSpec, Moves | None]]:
        """The same of each game."""
        return [
            (GameSpec(published), "supermove")
            if self._has_shortcuts(published)
            else (GameSpec(published if self.is_family else published.with_rules(moves=self.moves)), None)
            for published in self._published
        ]

    def rate_at(self, share: float) -> float:
        """The learning rate after that share of the training, 0 to 1."""
        return self.learning_rate + (self.learning_rate_end - self.learning_rate) * share

    @property
    def network_sizes(self) -> dict[str, Any]:
        """What the network's constructor takes besides the game; nothing for a custom network."""
        if ":" in self.network:
            return {}
        if self.network == "mlp":
            return {"hidden": list(self.hidden)}
        if self.network == "moves":
            sizes = {"hidden": list(self.hidden), "width": self.width, "digs": self.digs}
            further = {
                "onward": self.onward,
                "reach": self.reach,
                "family": self.family or int(self.is_family),
            }
            return sizes | {name: n for name, n in further.items() if n}
        return {name: getattr(self, name) for name in ("width", "embedding", "depth", "rounds")}


# ------------------------------------------------------------------------------------ what is refused


class Limit(NamedTuple):
    """What the value of a key may be."""

    keys: tuple[str, ...]
    holds: Callable[[Any], bool]
    allowed: str


LIMITS: Final = (
    Limit(
        (
            "embedding", "rounds", "digs", "num_envs", "n_steps", "n_epochs", "num_playouts", "temperature",
            "learning_rate", "kl_coef", "max_grad_norm", "checkpoint_minutes",
        ),
        lambda number: number > 0,
        "more than 0",
    ),
    Limit(("width", "batch_size"), lambda number: number >= 2, "at least 2"),
    Limit(
        ("minutes", "total_steps", "stall_limit"),
        lambda number: number is None or number > 0,
        "more than 0, or null for none",
    ),
    Limit(
        ("depth", "threads", "value_steps", "ent_coef", "vf_coef", "learning_rate_end", "seed"),
        lambda number: number >= 0,
        "at least 0",
    ),
    Limit(("seed",), lambda number: number < 2**32, "below 2**32"),
    Limit(
        ("network",),
        lambda name: bool(re.fullmatch(r"moves|piles|mlp|[\w.]+:\w+", name)),
        "'moves', 'piles', 'mlp', or module:Class of a custom network",
    ),
    Limit(("onward",), lambda number: 0 <= number <= MAX_ONWARD, f"0 to {MAX_ONWARD}"),
    Limit(("reach",), lambda number: 0 <= number <= MAX_REACH, f"0 to {MAX_REACH}"),
    Limit(("family",), lambda number: number in (0, 1), "0 and 1"),
    Limit(("gamma", "gae_lambda", "clip_range"), lambda number: 0 < number <= 1, "above 0, at most 1"),
    Limit(("exploration", "exploration_end", "least"), lambda number: 0 <= number <= 1, "0 to 1"),
    Limit(("hidden",), lambda sizes: all(size > 0 for size in sizes), "sizes of at least 1"),
    Limit(
        ("start",),
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
    """Keys whose values do not go together."""

    found: Callable[[TrainConfig], bool]
    message: Callable[[TrainConfig], str]


def _many_need(key: str, *allowed: Any) -> Conflict:
    """Refuses other values of a key where one network learns many games."""
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
    _many_need("sure_home", False),
    _many_need("onward", 0),
)
"""Where one network learns many games; looked at before the games are."""

CONFLICTS: Final = (
    Conflict(
        lambda c: c.linear_start is not None and (c.network != "moves" or c.linear_start <= 0),
        lambda c: (
            f"linear_start is {c.linear_start} with network {c.network!r}, "
            "allowed: null, or above 0 with 'moves'"
        ),
    ),
    Conflict(
        lambda c: c.linear_start is not None and c.learner == "pqn",
        lambda c: f"linear_start is {c.linear_start} with learner 'pqn', which learns values, allowed: null",
    ),
    Conflict(
        lambda c: c.start is not None and c.linear_start is not None,
        lambda c: f"start is {shown(c.start)} and linear_start {c.linear_start}, allowed: one of them",
    ),
    Conflict(
        lambda c: c.sure_home and (c.observation != "cards" or not has_safe_moves(c.variant)),
        lambda c: (
            f"sure_home is true with observation {c.observation!r} and build {c.variant.build!r}, "
            "allowed: false, or 'cards' and 'same suit'"
        ),
    ),
    Conflict(
        lambda c: c.onward > 0 and not has_safe_moves(c.variant),
        lambda c: f"onward is {c.onward} with build {c.variant.build!r}, allowed: 0",
    ),
    Conflict(
        lambda c: c.learner == "playouts" and (c.observation, c.information) != ("cards", "player"),
        lambda c: (
            f"learner is 'playouts' with observation {c.observation!r} and information "
            f"{c.information!r}, allowed: 'cards' and 'player'"
        ),
    ),
    Conflict(
        # The standard deviation of one advantage is not a number.
        lambda c: c.learner == "maskable-ppo" and c.num_envs * c.n_steps % c.batch_size == 1,
        lambda c: (
            f"num_envs x n_steps is {c.num_envs * c.n_steps} and batch_size {c.batch_size}: "
            "a minibatch of one step would be left, which MaskablePPO cannot learn from"
        ),
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


# ------------------------------------------------------------------------------- records from values

_ADAPTER = TypeAdapter(TrainConfig)


def make_config(values: dict[str, Any], where: str) -> TrainConfig:
    """A validated configuration; errors say where the values came from."""
    try:
        return _ADAPTER.validate_python(values)
    except ValidationError as error:
        raise explain(error, where) from None


def explain(error: ValidationError, where: str) -> ConfigError:
    """What is wrong with a configuration, in a sentence."""
    first = error.errors()[0]
    key = ".".join(str(part) for part in first["loc"])
    if first["type"] in ("unexpected_keyword_argument", "extra_forbidden"):
        # The likest first; there are too many for a sentence.
        likest = get_close_matches(key, TrainConfig.__dataclass_fields__, n=6, cutoff=0)
        return ConfigError(
            f"{where}: unknown key {shown(key)}, allowed: {', '.join(likest)}, and what --help lists"
        )
    message = first["ctx"]["error"] if first["type"] == "value_error" else first["msg"]
    # What the whole configuration is refused for names its keys itself.
    return ConfigError(
        f"{where}: {key} is {shown(first['input'])}: {message}" if key else f"{where}: {message}"
    )
