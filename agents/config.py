"""Training configurations: YAML files, validated, every key of which the command line may override."""

import re
from collections.abc import Sequence
from dataclasses import asdict, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import ConfigDict, TypeAdapter, ValidationError, ValidationInfo, field_validator
from pydantic.dataclasses import dataclass

from solitaire_env import Variant
from solitaire_env.core.spec import GameSpec, Settings
from solitaire_env.registration import env_variant, resolve_variant
from solitaire_env.util.messages import one_line, shown


class ConfigError(ValueError):
    """A configuration that cannot be used; says which key, what it holds and what is allowed."""


FURTHEST = 1000
"""More moves than so many the linear policy never goes on."""
DEEPEST = 100
"""More cards than so many do not lie on a pile."""


@dataclass(config=ConfigDict(extra="forbid", allow_inf_nan=False))
class TrainConfig:
    """What a training run does. Defaults stand here; a file names what differs."""

    env: str = "Solitaire/BusyAces-v0"
    """Gymnasium id, or name of a variant."""
    moves: Literal["one card", "supermove", "sequence"] | None = None
    """Action set: "supermove" lets a one-card game carry a sequence as one action."""
    build: Literal["same suit", "alternate color", "any suit"] | None = None
    """House rule: what builds on the tableau."""
    spaces: Literal["any", "kings", "none"] | None = None
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

    learner: Literal["ppo", "pqn", "playouts"] = "ppo"
    """PPO learns how likely to make each move (sb3-contrib's MaskablePPO), PQN what each is worth; "playouts"
    learns which of a network's likely moves playouts find best."""
    network: Literal["moves", "piles", "mlp"] = "moves"
    """"moves" reads what each legal move leads to; "piles" embeds cards and treats piles alike; "mlp" is a
    plain multilayer perceptron."""
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
    """Threads of torch, 0 for one a core."""
    checkpoint_minutes: float = 1.0
    """A stop loses at most so much."""
    eval_deals: str = "0:1000"
    """Deals on which the policies are compared at the end."""
    wandb: str | None = None
    """Project of Weights & Biases that the run is sent to; needs the extra wandb."""

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
        if self.linear_start is not None and (self.network != "moves" or self.linear_start <= 0):
            raise ValueError(
                f"linear_start is {self.linear_start} with network {self.network!r}, "
                "allowed: null, or above 0 with 'moves'"
            )
        if self.sure_home and (self.observation != "cards" or self.variant.build != "same suit"):
            raise ValueError(
                f"sure_home is true with observation {self.observation!r} and build {self.variant.build!r}, "
                "allowed: false, or 'cards' and 'same suit'"
            )
        if not 0 <= self.onward <= FURTHEST:
            raise ValueError(f"onward is {self.onward}, allowed: 0 to {FURTHEST}")
        if self.onward and self.variant.build != "same suit":
            raise ValueError(f"onward is {self.onward} with build {self.variant.build!r}, allowed: 0")
        if not 0 <= self.reach <= DEEPEST:
            raise ValueError(f"reach is {self.reach}, allowed: 0 to {DEEPEST}")
        if self.learner == "pqn" and self.linear_start is not None:
            raise ValueError(
                f"linear_start is {self.linear_start} with learner 'pqn', which learns values, allowed: null"
            )
        if self.start is not None and self.linear_start is not None:
            raise ValueError(
                f"start is {shown(self.start)} and linear_start {self.linear_start}, allowed: one of them"
            )
        if self.start is not None and not all(self.start.split(",")):
            raise ValueError(
                f"start is {shown(self.start)}, allowed: a folder, or several with commas between"
            )
        if self.learner == "playouts" and (self.observation, self.information) != ("cards", "player"):
            raise ValueError(
                f"learner is 'playouts' with observation {self.observation!r} and information "
                f"{self.information!r}, allowed: 'cards' and 'player'"
            )
        sizes = ("embedding", "rounds", "digs", "num_envs", "n_steps", "n_epochs", "num_playouts")
        rates = ("temperature", "learning_rate", "kl_coef", "max_grad_norm", "checkpoint_minutes")
        for name in (*sizes, *rates):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} is {getattr(self, name)}, allowed: more than 0")
        for name in ("width", "batch_size"):
            if getattr(self, name) < 2:
                raise ValueError(f"{name} is {getattr(self, name)}, allowed: at least 2")
        for name in ("minutes", "total_steps", "stall_limit"):
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise ValueError(f"{name} is {value}, allowed: more than 0, or null for none")
        for name in ("depth", "threads", "value_steps", "ent_coef", "vf_coef", "learning_rate_end", "seed"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} is {getattr(self, name)}, allowed: at least 0")
        for name in ("gamma", "gae_lambda", "clip_range"):
            if not 0 < getattr(self, name) <= 1:
                raise ValueError(f"{name} is {getattr(self, name)}, allowed: above 0, at most 1")
        for name in ("exploration", "exploration_end", "least"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} is {getattr(self, name)}, allowed: 0 to 1")
        if self.seed >= 2**32:
            raise ValueError(f"seed is {self.seed}, allowed: below 2**32")
        if any(size <= 0 for size in self.hidden):
            raise ValueError(f"hidden is {shown(self.hidden)}, allowed: sizes of at least 1")
        if self.learner == "ppo" and self.num_envs * self.n_steps % self.batch_size == 1:
            # The spread of one advantage is not a number.
            raise ValueError(
                f"num_envs x n_steps is {self.num_envs * self.n_steps} and batch_size {self.batch_size}: "
                "a minibatch of one step would be left, which PPO cannot learn from"
            )
        if not re.fullmatch("auto|cpu|mps|cuda(:[0-9]{1,3})?", self.device):
            raise ValueError(f"device is {shown(self.device)}, allowed: auto, cpu, mps, cuda, cuda:0, ...")
        if self.wandb is not None and not re.fullmatch(r"[^/\\#?%:\x00-\x1f]{1,128}", self.wandb):
            raise ValueError(
                f"wandb is {shown(self.wandb)}, allowed: null, or a name of at most 128 characters "
                "without / \\ # ? % :"
            )
        if self.minutes is None and self.total_steps is None:
            raise ValueError("minutes and total_steps are both null, allowed: at least one of them set")
        if self.network != "mlp" and self.observation != "cards":
            raise ValueError(
                f"network {self.network!r} needs observation 'cards'; network 'mlp' reads 'features'"
            )
        parse_deals(self.eval_deals)
        self.variant  # noqa: B018 - refuses an unknown id or impossible rules

    @property
    def starts(self) -> list[Path]:
        """The folders whose networks training starts from."""
        return [] if self.start is None else [Path(name) for name in self.start.split(",")]

    @property
    def variant(self) -> Variant:
        """The game that is learned, with house rules and action set."""
        return resolve_variant(env_variant(self.env), build=self.build, spaces=self.spaces, moves=self.moves)

    @property
    def game(self) -> GameSpec:
        """The game as the network sees it, with the reward that it learns from; no limits."""
        return GameSpec(self.variant, Settings(self.observation, self.information, self.reward))

    def rate_at(self, share: float) -> float:
        """The learning rate after that share of the training, 0 to 1."""
        return self.learning_rate + (self.learning_rate_end - self.learning_rate) * share

    @property
    def network_sizes(self) -> dict[str, Any]:
        """What the network's constructor takes besides the game."""
        if self.network == "mlp":
            return {"hidden": list(self.hidden)}
        if self.network == "moves":
            sizes = {"hidden": list(self.hidden), "width": self.width, "digs": self.digs}
            return sizes | {name: n for name in ("onward", "reach") if (n := getattr(self, name))}
        return {name: getattr(self, name) for name in ("width", "embedding", "depth", "rounds")}


MAX_DEALS = 1_000_000
"""So many deals are evaluated at most."""


def parse_deals(text: str) -> list[int | str]:
    """Deals from text: ``0:1000`` (without the last), ``7``, ``ms:11982``, or several with commas."""
    deals: list[int | str] = []
    for part in text.split(","):
        part = part.strip()
        names: Sequence[int | str] = ()
        if match := re.fullmatch("([0-9]{1,19})(?::([0-9]{1,19}))?", part):
            first = int(match[1])
            end = int(match[2]) if match[2] else first + 1
            names = range(first, min(end, first + MAX_DEALS + 1))
        elif re.fullmatch("(ms|pysol):[0-9]{1,20}", part):
            names = (part,)
        if not names:
            raise ValueError(
                f"unknown deals {shown(part)}, allowed: N, FIRST:END, ms:N, pysol:N, or several with commas"
            )
        if len(deals) + len(names) > MAX_DEALS:
            raise ValueError(f"deals {shown(part)} make more than {MAX_DEALS:,}")
        deals.extend(names)
    if len(set(deals)) != len(deals):
        raise ValueError(f"deals {shown(text)} name a deal twice")
    return deals


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


MAX_DEPTH = 10
MAX_TEXT = 20_000
"""Longest configuration that is read, in characters; one with every key needs a twentieth of it."""


class _Loader(yaml.SafeLoader):
    """In YAML no key may stand twice; PyYAML takes the last one.

    Nor may brackets stand deep in brackets: PyYAML takes seconds for a thousand.
    """

    def fetch_flow_collection_start(self, TokenClass: Any) -> None:
        if self.flow_level >= MAX_DEPTH:
            raise yaml.MarkedYAMLError(
                problem=f"brackets in brackets, more than {MAX_DEPTH}", problem_mark=self.get_mark()
            )
        super().fetch_flow_collection_start(TokenClass)

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        node = super().compose_mapping_node(anchor)
        seen = set()
        for key, _ in node.value:
            name = (key.tag, key.value if isinstance(key, yaml.ScalarNode) else id(key))
            if name in seen:
                raise yaml.MarkedYAMLError(
                    problem=f"key {shown(key.value)} stands twice", problem_mark=key.start_mark
                )
            seen.add(name)
        return node


def load_config(path: Path, env: str | None = None) -> TrainConfig:
    """The configuration of a YAML file: its ``default:`` block, overridden by the block of an env id.

    Parameters
    ----------
    env
        Which block to take, an id or a variant's name; not needed when the file has one.
    """
    try:
        text = path.read_text(encoding="utf-8")
        if len(text) > MAX_TEXT:
            raise ValueError(f"{len(text)} characters, at most {MAX_TEXT} are read")
        data = yaml.load(text, _Loader)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror})") from None
    except Exception as error:  # PyYAML raises what it meets: IndexError for '!!int' without a number
        raise ConfigError(f"{path}: not YAML ({one_line(error)})") from None
    if not isinstance(data, dict) or not all(
        isinstance(block, dict) or block is None for block in data.values()
    ):
        raise ConfigError(f"{path}: allowed is a 'default:' block and a block for each env id")
    for name, block in data.items():
        if not isinstance(name, str) or "env" in (block or {}):
            raise ConfigError(
                f"{path}: block {shown(name)}: allowed as its name is 'default' or the env that it is for"
            )
    blocks = {name: block or {} for name, block in data.items() if name != "default"}
    wanted = env
    if wanted is None:
        if len(blocks) != 1:
            choice = one_line(", ".join(blocks)) or "an id"
            raise ConfigError(f"{path}: has {len(blocks)} env blocks; choose with --env: {choice}")
        wanted = next(iter(blocks))
    try:
        variant = env_variant(wanted)
        names = [name for name in blocks if env_variant(name) == variant]
    except ValueError as error:
        raise ConfigError(f"{path}: {error}") from None
    if len(names) > 1:
        raise ConfigError(f"{path}: blocks {shown(names)} are for the same env, allowed: one")
    if blocks and not names and "default" not in data:
        # All that stands there would be left out, and not seen to be.
        raise ConfigError(
            f"{path}: has no block for {shown(wanted)} and no 'default:' one, "
            f"allowed: {one_line(', '.join(blocks))}"
        )
    block = blocks[names[0]] if names else {}
    return make_config({**(data.get("default") or {}), **block, "env": wanted}, str(path))


def dump_config(config: TrainConfig) -> str:
    """The configuration as a YAML file that :func:`load_config` reads."""
    values = asdict(config)
    return yaml.safe_dump({values.pop("env"): values}, sort_keys=False)
