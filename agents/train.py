"""Train a policy: ``python -m agents.train configs/default.yaml``.

sb3-contrib's MaskablePPO, or PQN (:mod:`agents.pqn`), over the native vector environment. A run folder holds
the resolved configuration (``config.yaml``), versions (``versions.json``), TensorBoard logs (``logs/``), the
learning curve (``curve.csv``), the newest checkpoint (``checkpoint.safetensors``), the model (``model/``),
the evaluation (``evaluation/*.jsonl``), a transcript of the best game (``best_game.txt``), and pictures; with
``wandb`` what is sent to Weights & Biases (``wandb/``, ``wandb.txt``).
"""

import csv
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, TypeVar

import numpy as np
import numpy.typing as npt
import torch as th
import tyro
from pydantic import ValidationError
from safetensors import safe_open
from safetensors.torch import save_file
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import configure
from stable_baselines3.common.vec_env import VecEnv
from stable_baselines3.common.vec_env.base_vec_env import VecEnvStepReturn

from agents.command import run_command
from agents.compare import compare
from agents.config import ConfigError, TrainConfig, dump_config, explain, load_config
from agents.files import model_folder, write_json
from agents.memory import Memory
from agents.models import CARD, Start, load_start, load_weights, save_model
from agents.moves import keep_sure_homes, moves_of, sure_homes
from agents.networks import NETWORKS, MovesNetwork, NetworkPolicy
from agents.plot import plot
from agents.policies.linear import load_linear
from agents.pqn import PQN
from agents.tracking import check_wandb, tracked
from solitaire_env import __version__, env_id
from solitaire_env.batch import describe_layout, layout_hash
from solitaire_env.evaluation import policy_layout
from solitaire_env.files import write_text, write_whole
from solitaire_env.messages import one_line
from solitaire_env.progress import ProgressLine, clock
from solitaire_env.sb3 import SolitaireVecEnv
from solitaire_env.speed import processor

CHECKPOINT = "checkpoint.safetensors"
CURVE = "curve.csv"
START = "start"
"""Folder of a run with the records of the network that it started from."""
CURVE_COLUMNS = ("steps", "minutes", "games", "win_rate", "cards_home", "episode_steps", "steps_per_second")
WINDOW = 1000
"""Rates in progress line and curve are of the last so many games."""


@dataclass
class Arguments:
    """Train a policy."""

    config: Annotated[TrainConfig, tyro.conf.arg(name="")]
    runs: Path = Path("runs")
    """Folder in which run folders are made."""
    resume: Path | None = None
    """Run folder to go on with; its configuration is used."""
    quiet: bool = False
    """No progress line."""


# ------------------------------------------------------------------------------------ checkpoints


Learner = MaskablePPO | PQN


def save_checkpoint(path: Path, model: Learner, progress: dict[str, Any]) -> None:
    """Weights, Adam's moments and how far training is, in one safetensors file, whole or not at all."""
    tensors = {f"policy/{name}": tensor for name, tensor in model.policy.state_dict().items()}
    for index, moments in model.policy.optimizer.state_dict()["state"].items():
        tensors |= {f"adam/{index}/{name}": th.as_tensor(value) for name, value in moments.items()}
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    told = {"progress": json.dumps(progress), "layout": _layout_of(model)}
    write_whole(path, lambda part: save_file(tensors, part, told))


def _layout_of(model: Learner) -> str:
    """The hash of the layout that a model is for: some networks are alike for all games."""
    policy = model.policy
    assert isinstance(policy, NetworkPolicy)
    return layout_hash(policy.layout)


def load_checkpoint(path: Path, model: Learner) -> dict[str, Any]:
    """Put a checkpoint into a model that the same configuration made; how far training was."""
    tensors = load_weights(path)
    with safe_open(path, framework="pt") as file:
        metadata = file.metadata() or {}
    policy = {name.removeprefix("policy/"): t for name, t in tensors.items() if name.startswith("policy/")}
    optimizer = model.policy.optimizer.state_dict()
    parameters = [p for group in model.policy.optimizer.param_groups for p in group["params"]]
    try:
        for name, tensor in tensors.items():
            if name.startswith("adam/"):
                _, index, moment = name.split("/")
                if tensor.shape != (() if moment == "step" else parameters[int(index)].shape):
                    raise ValueError(f"size mismatch for {name}")
                optimizer["state"].setdefault(int(index), {})[moment] = tensor
        progress = _read_progress(metadata["progress"])
        if metadata["layout"] != _layout_of(model):
            raise ValueError("it is for a game with another layout")
        model.set_parameters({"policy": policy, "policy.optimizer": optimizer}, device=model.device)  # type: ignore[dict-item]
    except (LookupError, ValueError, RuntimeError) as error:
        raise ConfigError(
            f"{path}: not a checkpoint of this configuration ({one_line(str(error).splitlines()[-1])})"
        ) from None
    return progress


def _read_progress(text: str) -> dict[str, Any]:
    """How far a training is, as a checkpoint keeps it."""
    progress = json.loads(text)
    numbers = progress if isinstance(progress, dict) else {}
    if set(numbers) != {"steps", "seconds", "games"} or not all(
        type(number) in (int, float) and 0 <= number < 2**63 for number in numbers.values()
    ):
        raise ValueError(f"progress is {text[:80]}, allowed: steps, seconds and games")
    return numbers


# --------------------------------------------------------------------------------------- learning


class Watch(BaseCallback):
    """Progress line, curve, checkpoints and the end of training."""

    def __init__(
        self, config: TrainConfig, run: Path, line: ProgressLine, progress: dict[str, Any],
        told: Callable[["Watch"], None] | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.told = told
        self.config = config
        self.run = run
        self.line = line
        self.games = int(progress["games"])
        self.seconds_before = float(progress["seconds"])
        self.stop = False
        """Set to end training after the step in hand."""
        self.won: deque[bool] = deque(maxlen=WINDOW)
        self.home: deque[int] = deque(maxlen=WINDOW)
        self.lengths: deque[int] = deque(maxlen=WINDOW)

    def _on_training_start(self) -> None:
        self.start = time.monotonic()
        self.steps_before = self.model.num_timesteps
        self.saved = self.start

    @property
    def seconds(self) -> float:
        """Training time, of earlier parts of the run too."""
        return self.seconds_before + time.monotonic() - self.start

    @property
    def share(self) -> float:
        """How much of the training is done, 0 to 1."""
        shares = []
        if self.config.minutes is not None:
            shares.append(self.seconds / (60 * self.config.minutes))
        if self.config.total_steps is not None:
            shares.append(self.model.num_timesteps / self.config.total_steps)
        return min(1.0, max(shares))

    @property
    def progress(self) -> dict[str, Any]:
        """What a checkpoint keeps besides the tensors."""
        return {"steps": self.model.num_timesteps, "seconds": self.seconds, "games": self.games}

    def _on_rollout_start(self) -> None:
        policy = self.model.policy
        assert isinstance(policy, NetworkPolicy)
        policy.value_only = self.model.num_timesteps < self.config.value_steps
        if isinstance(policy.network, MovesNetwork) and policy.network.memory:
            policy.network.memory.forget()

    def _on_step(self) -> bool:
        for row in np.flatnonzero(self.locals["dones"]).tolist():
            info = self.locals["infos"][row]
            self.won.append(info["is_success"])
            self.home.append(info["cards_home"])
            self.lengths.append(info["episode"]["l"])
            self.games += 1
        self.line.show(self._text)
        return not self.stop and self.share < 1.0

    def _text(self) -> str:
        steps = self.model.num_timesteps
        speed = (steps - self.steps_before) / max(time.monotonic() - self.start, 1e-9)
        rates = "no game has ended yet"
        if self.won:
            rates = f"won {100 * np.mean(self.won):.1f} %, cards home {np.mean(self.home):.1f}"
        share = self.share
        left = self.seconds * (1 - share) / share if share > 0.01 else None
        ends = f"{clock(left)} left" if left is not None else "starting"
        return f"training: {steps / 1e6:.2f} M steps, {speed:,.0f}/s, {rates}, {ends}"

    def _on_rollout_end(self) -> None:
        if self.won:
            self.logger.record("rollout/cards_home", float(np.mean(self.home)))
        self._write_row()
        if self.told is not None:
            self.told(self)
        if time.monotonic() - self.saved > 60 * self.config.checkpoint_minutes:
            # Before the update that follows: weights and counts belong together.
            save_checkpoint(self.run / CHECKPOINT, self.model, self.progress)  # type: ignore[arg-type]
            self.saved = time.monotonic()

    def _write_row(self) -> None:
        path = self.run / CURVE
        speed = (self.model.num_timesteps - self.steps_before) / max(time.monotonic() - self.start, 1e-9)
        rates = ("", "", "")
        if self.won:
            rates = (f"{np.mean(self.won):.4f}", f"{np.mean(self.home):.3f}", f"{np.mean(self.lengths):.1f}")
        row = (self.model.num_timesteps, f"{self.seconds / 60:.4f}", self.games, *rates, f"{speed:.0f}")
        new = not path.exists()
        with path.open("a", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            if new:
                writer.writerow(CURVE_COLUMNS)
            writer.writerow(row)


class TrainingEnv(SolitaireVecEnv):
    """The native vector environment, in which a game that is cut off is a game lost.

    PPO would add the value of the position in which it was cut off: standing still would pay as well as going
    on, and in games that cannot be won better.

    With ``sure_home`` what is sure to go home goes home in the same step.
    """

    def __init__(self, *args: Any, sure_home: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.table = moves_of(describe_layout(self.variant, self.settings)) if sure_home else None

    def _play(self) -> int:
        ended = super()._play()
        if self.table is None:
            return ended
        batch = self.batch
        rewards = batch.rewards.copy()
        flags = (batch.terminated, batch.truncated, batch.ended)
        ends = [flag.copy() for flag in flags]
        while True:
            sure = sure_homes(batch.observations(), batch.state.mask, self.table)
            sent = sure >= 0
            if not sent.any():
                break
            batch.step(np.maximum(sure, 0), sent.astype(np.int8))
            rewards += batch.rewards
            for end, now in zip(ends, flags, strict=True):
                # A game that was to be cut off goes on, as a card went home.
                end[sent] = now[sent]
        batch.rewards[:] = rewards
        for flag, end in zip(flags, ends, strict=True):
            flag[:] = end
        return int(np.count_nonzero(ends[-1]))

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """The moves to choose among, bool ``[num_envs, actions]``."""
        masks = super().action_masks()
        if self.table is None:
            return masks
        # A new deal may begin with a card that is sure to go home.
        return keep_sure_homes(self.batch.observations(), masks, self.table)

    def step_wait(self) -> VecEnvStepReturn:
        """Play the actions; finished games start anew."""
        observations, rewards, dones, infos = super().step_wait()
        for row in np.flatnonzero(dones).tolist():
            infos[row]["TimeLimit.truncated"] = False
        return observations, rewards, dones, infos


def make_env(config: TrainConfig, num_envs: int | None = None) -> TrainingEnv:
    """The native vector environment of a configuration."""
    return TrainingEnv(
        config.variant,
        num_envs or config.num_envs,
        observation=config.observation,
        information=config.information,
        reward=config.reward,
        stall_limit=config.stall_limit,
        sure_home=config.sure_home,
    )


def make_model(config: TrainConfig, env: VecEnv, layout: dict[str, Any], share: Any = lambda: 0.0) -> Learner:
    """The learner of a configuration with its network; ``share()`` tells how much of the training is done."""

    def learning_rate(_: float) -> float:
        return config.rate_at(float(share()))

    common: dict[str, Any] = {
        "learning_rate": learning_rate,
        "policy_kwargs": {"kind": config.network, "layout": layout, "sizes": config.network_sizes},
    }
    for key in ("n_steps", "batch_size", "n_epochs", "gamma", "max_grad_norm", "seed", "device"):
        common[key] = getattr(config, key)
    model: Learner
    if config.learner == "pqn":
        exploration = config.exploration, config.exploration_end
        model = PQN(env, trace=config.gae_lambda, exploration=exploration, share=share, **common)
    else:
        keys = ("gae_lambda", "clip_range", "ent_coef", "vf_coef")
        model = MaskablePPO(NetworkPolicy, env, **{key: getattr(config, key) for key in keys}, **common)
    policy = model.policy
    assert isinstance(policy, NetworkPolicy)
    if config.learner == "ppo" and isinstance(policy.network, MovesNetwork):
        network = policy.network
        network.memory = Memory(network.moves, config.num_envs * config.n_steps, network.digs)
    begin(config, policy)
    return model


def begin(config: TrainConfig, policy: NetworkPolicy) -> None:
    """Give a policy the weights that a configuration has it start from, if any."""
    if config.linear_start is not None:
        linear = load_linear(lambda policy: policy_layout(config.variant, policy))
        assert isinstance(policy.network, MovesNetwork)
        with th.no_grad():
            policy.network.linear.weight.copy_(th.from_numpy(linear.weights) / config.linear_start)
    if weights := start_of(config):
        policy.network.load_state_dict(weights[0])
        if weights[1] is not None:
            policy.value_net.load_state_dict(weights[1])


def start_of(config: TrainConfig) -> Start | None:
    """What ``start`` names, when it is a model that fits."""
    if config.start is None:
        return None
    layout = policy_layout(config.variant, config)
    values = config.learner == "pqn"
    return load_start(Path(config.start), config.network, config.network_sizes, layout, values=values)


def warm_up(config: TrainConfig) -> None:
    """Have engine and networks compiled, or their compiled code loaded, before the clock starts."""
    env = make_env(config, 2)
    observations, masks = th.as_tensor(env.reset()), env.action_masks()
    network = NETWORKS[config.network](describe_layout(env.variant, env.settings), **config.network_sizes)
    network.score(observations, masks)
    network.value(observations)
    env.step(masks.argmax(1))


def learn(
    config: TrainConfig, run: Path, *, resume: bool, quiet: bool, told: Callable[[Watch], None] | None = None
) -> bool:
    """Train in a run folder; whether it came to its end. A first Ctrl-C ends it after the step in hand.

    ``told``, if given, is called before each update; what it raises ends the training.
    """
    th.set_num_threads(config.threads or os.cpu_count() or 1)
    # Checking every distribution costs a tenth of the time; the mask leaves none that could fail.
    th.distributions.Distribution.set_default_validate_args(False)
    warm_up(config)
    env = make_env(config)
    layout = describe_layout(env.variant, env.settings)
    watch: Watch | None = None
    # A checkpoint takes the place of what the training started from.
    first = replace(config, start=None) if resume else config
    model = make_model(first, env, layout, lambda: watch.share if watch is not None else 0.0)
    progress: dict[str, Any] = {"steps": 0, "seconds": 0.0, "games": 0}
    if resume:
        progress = load_checkpoint(run / CHECKPOINT, model)
        write_text(run / "config.yaml", dump_config(config))  # with what the command line changes
        model.num_timesteps = int(progress["steps"])
        _cut_curve(run / CURVE, model.num_timesteps)
        # Not the deals again with which the run began.
        env.seed(config.seed + model.num_timesteps)
    else:
        env.seed(config.seed)
    model.set_logger(configure(str(run / "logs"), ["tensorboard"]))
    line = ProgressLine(quiet)
    watch = Watch(config, run, line, progress, told)

    def end(*_: Any) -> None:
        assert watch is not None
        watch.stop = True
        signal.signal(signal.SIGINT, before)

    before = signal.signal(signal.SIGINT, end)
    terminate = signal.signal(signal.SIGTERM, end)
    try:
        model.learn(total_timesteps=2**62, callback=watch, reset_num_timesteps=False)
    finally:
        signal.signal(signal.SIGINT, before)
        signal.signal(signal.SIGTERM, terminate)
        line.close()
        model.logger.close()
    save_checkpoint(run / CHECKPOINT, model, watch.progress)
    policy = model.policy
    assert isinstance(policy, NetworkPolicy)
    save_model(
        run / "model",
        model.average.module if isinstance(model, PQN) else policy.network,
        env=env_id(config.variant),
        moves=config.variant.moves,
        kind=config.network,
        sizes=config.network_sizes,
        layout=layout,
        steps=model.num_timesteps,
        value=None if config.learner == "pqn" else policy.value_net,
        temperature=config.temperature if config.learner == "pqn" else None,
        sure_home=config.sure_home,
    )
    plot([run], run, names=("curve",), quiet=quiet)
    return not watch.stop


def _cut_curve(path: Path, steps: int) -> None:
    """Leave out what a curve tells of steps after the checkpoint: they are made again."""
    if path.exists():
        head, *rows = path.read_text(encoding="utf-8", errors="replace").splitlines() or [""]
        kept = [row for row in rows if re.match("[0-9]{1,19},", row) and int(row.partition(",")[0]) <= steps]
        write_text(path, "\n".join([head, *kept]) + "\n")


# ------------------------------------------------------------------------------------- run folders


def new_run(runs: Path, config: TrainConfig) -> Path:
    """Make a run folder, ``runs/busy-aces-1`` or the next number, with configuration and versions."""
    try:
        runs.mkdir(parents=True, exist_ok=True)
        numbers = (
            path.name.removeprefix(f"{config.variant.name}-")
            for path in runs.glob(f"{config.variant.name}-*")
        )
        number = max((int(n) for n in numbers if n.isdecimal()), default=0) + 1
        while True:
            run = runs / f"{config.variant.name}-{number}"
            try:
                run.mkdir()
                break
            except FileExistsError:  # another training has begun meanwhile
                number += 1
        write_text(run / "config.yaml", dump_config(config))
        write_json(run / "versions.json", versions(config))
        if config.start is not None:
            keep_start(Path(config.start), run / START)
    except OSError as error:
        raise ConfigError(f"{error.filename or runs}: cannot be written ({error.strerror})") from None
    return run


def keep_start(start: Path, folder: Path) -> None:
    """Keep how the network was made that a training starts from, as far as its folder tells."""
    records = [start / name for name in ("config.yaml", "versions.json", CURVE, "imitation.json")]
    records.append(model_folder(start) / CARD)
    for path in filter(Path.is_file, records):
        folder.mkdir(exist_ok=True)
        shutil.copyfile(path, folder / path.name)
    if (start / START).is_dir():
        shutil.copytree(start / START, folder / START)


def versions(config: TrainConfig) -> dict[str, Any]:
    """What a run is made with."""
    packages = ("gymnasium", "numpy", "numba", "torch", "stable-baselines3", "sb3-contrib")
    git = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--abbrev=40"],
        cwd=Path(__file__).parent, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return {
        "solitaire-env": __version__,
        "python": platform.python_version(),
        **{name: version(name) for name in packages},
        "git": git.stdout.strip() or None,
        "machine": platform.machine(),
        "processor": processor(),
        "processors": os.cpu_count(),
        "threads": config.threads or os.cpu_count(),
        "gpu": th.cuda.get_device_name() if th.cuda.is_available() else None,
    }


def check_device(name: str) -> None:
    """Refuse a device that is not here, where SB3 would quietly take the CPU."""
    here = ["auto", "cpu"]
    if th.backends.mps.is_available():
        here.append("mps")
    if th.cuda.is_available():
        here += ["cuda", *(f"cuda:{number}" for number in range(th.cuda.device_count()))]
    if name not in here:
        raise ConfigError(f"device is {name!r}, which is not here, allowed: {', '.join(here)}")


def run_training(config: TrainConfig, run: Path, *, resume: bool, quiet: bool) -> int:
    """Train, compare, and say where things are; the exit status."""
    name = config.variant.title
    if not quiet:
        print(
            f"{name}: training {run}, {_budget(config)}; Ctrl-C stops and keeps what was learned",
            file=sys.stderr,
        )
    with tracked(config, run, quiet=quiet):
        ended = learn(config, run, resume=resume, quiet=quiet)
    if not ended:
        print(f"stopped; go on with: python -m agents.train --resume {run}", file=sys.stderr)
        return 130
    table = compare(config, run, quiet=quiet)
    plot([run], run, names=("win_rates", "endings"), quiet=quiet)
    print(table)
    print(f"\nrun folder      {run}")
    for file, what in (
        ("curve.png", "learning curve"),
        ("win_rates.png", "games won by each policy"),
        ("endings.png", "where games end"),
        ("model", "the network"),
        ("best_game.txt", "its best game"),
        ("evaluation", "every game played, JSON lines"),
    ):
        print(f"  {file:<14}{what}")
    moves = f" --moves '{config.moves}'" if config.moves else ""
    print(
        f"\nnext: python -m agents.evaluate --policy {run} --env {env_id(config.variant)} --deals 1000:2000"
    )
    print(f"      python -m solitaire_env watch {config.variant.name} --policy agents:policy@{run}")
    print(f"      python -m solitaire_env play {config.variant.name}{moves}")
    return 0


def _budget(config: TrainConfig) -> str:
    unit = "minute" if config.minutes == 1 else "minutes"
    parts = [] if config.minutes is None else [f"{config.minutes:g} {unit}"]
    parts += [] if config.total_steps is None else [f"{config.total_steps:,} steps"]
    return " or ".join(parts)


def value_of(args: list[str], option: str) -> str | None:
    """Of ``--option VALUE`` or ``--option=VALUE``, before the rest of the command line is read."""
    for place, arg in enumerate(args):
        name, joined, value = arg.partition("=")
        if name == option:
            return value if joined else next(iter(args[place + 1 :]), None)
    return None


Options = TypeVar("Options")


def parse_arguments(args: list[str]) -> Arguments:
    """The command line: a configuration file (or ``--resume RUN``), then any key of it as an option."""
    return parse_options(args, Arguments, "python -m agents.train CONFIG")


def parse_options(args: list[str], kind: Callable[[TrainConfig], Options], prog: str) -> Options:
    """A command line that begins with a configuration file, which ``kind`` takes."""
    config = TrainConfig()
    rest = list(args)

    folder = value_of(rest, "--resume")
    if folder is not None:
        config = load_config(Path(folder) / "config.yaml")
    elif rest and not rest[0].startswith("-"):
        config = load_config(Path(rest.pop(0)), value_of(rest, "--env"))
    try:
        default = kind(config)
        return tyro.cli(
            type(default),
            args=rest,
            default=default,
            prog=prog,
            config=(tyro.conf.FlagCreatePairsOff,),
        )
    except ValidationError as error:
        raise explain(error, "command line") from None


def main(args: list[str] | None = None) -> int:
    """The command; its exit status."""
    run: Path | None = None

    def begin_or_resume() -> int:
        nonlocal run
        arguments = parse_arguments(sys.argv[1:] if args is None else args)
        check_device(arguments.config.device)
        check_wandb(arguments.config)
        resume = arguments.resume is not None
        if not resume:
            start_of(arguments.config)  # which is refused before anything is made
        run = arguments.resume if arguments.resume is not None else new_run(arguments.runs, arguments.config)
        return run_training(arguments.config, run, resume=resume, quiet=arguments.quiet)

    return run_command(begin_or_resume, lambda: f"stopped; what is done is in {run}" if run else "stopped")


if __name__ == "__main__":
    sys.exit(main())
