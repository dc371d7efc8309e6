"""A round of expert iteration: ``python -m agents.iterate configs/forty-bandits.yaml``.

1. Search plays, by a network that is there: the expert.
2. The network learns, from where it is, what search did in the games that it won (:mod:`agents.imitate`).
3. Both networks play the same deals without search, and what was gained is told.

Anthony, Tian and Barber, "Thinking Fast and Slow with Deep Learning and Tree Search" (2017). The next round
starts from the model of this one: ``--prior runs/forty-bandits-round-1``.

A round folder holds the games of search (``games/``, ``games.jsonl``), what was learned from them
(``imitation/``), the model (``model/``), the games of both networks (``before.jsonl``, ``after.jsonl``) and
what came of it (``round.json``). What stands there already is not done again: the same command goes on where
it was stopped.
"""

import shutil
import sys
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Final

import tyro

from agents import imitate
from agents.command import parse_options, run_command
from agents.compare import play_policy
from agents.config import TrainConfig, dump_config, load_config, parse_deals
from agents.dataset import EVALUATION_DEALS
from agents.files import read_json, write_json
from agents.learners import check_device
from agents.policies import shipped
from agents.report import summary_table
from agents.search.budget import Budget
from solitaire_env import env_id
from solitaire_env.evaluation import Evaluation, mcnemar
from solitaire_env.files import write_text
from solitaire_env.progress import ProgressLine

SIDE_BY_SIDE: Final = 16
"""So many games of search at a time: Ctrl-C loses those in hand."""


@dataclass
class Arguments:
    """Play by search, learn what it did, and see whether the network plays better for it."""

    config: Annotated[TrainConfig, tyro.conf.arg(name="")]
    round: Path | None = None
    """The round's folder; runs/<game>-round-1, or the next number, by default."""
    prior: str = "shipped"
    """The network that search goes by, and that learns: shipped, a run or model folder."""
    deals: str = "30000:31000"
    """What search plays: deals that no policy is compared on."""
    search: Annotated[Budget, tyro.conf.arg(name="search")] = field(default_factory=Budget)
    """What a move of search may cost."""
    epochs: int = 4
    """Passes over what search did."""
    all_games: bool = False
    """Its moves are learned of all games, not of those alone that it won."""
    keep: float = 1.0
    """How much the network is held to what it was, as of agents.imitate."""
    quiet: bool = False
    """No progress line."""


def round_folder(a: Arguments) -> Path:
    """The folder that was named, or a new one."""
    if a.round is not None:
        return a.round
    number = 1
    while (path := Path("runs") / f"{a.config.variant.name}-round-{number}").exists():
        number += 1
    return path


def check_deals(deals: str) -> None:
    """Refuse deals that policies are compared on."""
    kept = [deal for part in EVALUATION_DEALS for deal in parse_deals(deals) if deal in part]
    if kept:
        raise ValueError(
            f"deal {kept[0]} is kept for evaluation, as are all of 0-999 and 100000-100999; "
            "search may play any others"
        )


def iterate(a: Arguments) -> int:
    """A round, as far as it was not done; the exit status."""
    check_deals(a.deals)
    start = shipped.network_folder(a.prior, a.config.variant.name)
    config = replace(a.config, start=str(start), linear_start=None, learner="ppo")
    check_device(config.device)
    folder = round_folder(a)
    learn = imitate.Arguments(
        config, (folder / "games",), folder / "imitation", a.epochs, a.all_games, a.keep, quiet=a.quiet
    )
    imitate.check(learn)  # what cannot be learned so is refused before anything is made
    line = ProgressLine(a.quiet)
    about = {
        "env": env_id(config.variant), "prior": a.prior, "deals": a.deals, "search": asdict(a.search),
        "epochs": a.epochs, "all_games": a.all_games, "keep": a.keep, "eval_deals": config.eval_deals,
    }  # fmt: skip
    _begin(folder, config, about)

    searched = play_policy(
        "search", replace(config, eval_deals=a.deals), folder / "games.jsonl", line,
        transcripts=folder / "games", num_envs=SIDE_BY_SIDE, prior=a.prior, budget=a.search,
    )  # fmt: skip
    print(f"search, deals {a.deals}\n{_table(('search', searched))}\n")
    if not (folder / "model").is_dir():
        # What was begun and not ended is learned anew.
        shutil.rmtree(learn.runs, ignore_errors=True)
        run, ended = imitate.imitate(learn)
        if not ended:
            return 130
        shutil.copytree(run / "model", folder / "model.part", dirs_exist_ok=True)
        (folder / "model.part").rename(folder / "model")
    before = play_policy(a.prior, config, folder / "before.jsonl", line, label="before")
    after = play_policy(str(folder), config, folder / "after.jsonl", line, label="after")
    only_after, only_before, p = mcnemar(after.games, before.games)
    write_json(
        folder / "round.json",
        {
            **about,
            "expert": asdict(searched.summary),
            "before": asdict(before.summary),
            "after": asdict(after.summary),
            "only_after": only_after,
            "only_before": only_before,
            "p": p,
        },
    )
    print(
        f"\nwithout search, deals {config.eval_deals}\n{_table(('before', before), ('after', after))}\n"
        f"deals that only the new network won: {only_after}, only the old one: {only_before} "
        f"(McNemar p = {p:.2g})\n\nround           {folder}\n"
        f"next round: python -m agents.iterate CONFIG --prior {folder}"
    )
    return 0


def _table(*rows: tuple[str, Evaluation]) -> str:
    return summary_table([(name, done.games[0].moves, done.summary) for name, done in rows])


def _begin(folder: Path, config: TrainConfig, about: dict[str, Any]) -> None:
    """Write down what the round is, or see that it is the one that was begun."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "config.yaml"
    if path.is_file() and load_config(path) != config:
        raise ValueError(f"{folder} was begun with another configuration, {path}; choose another --round")
    write_text(path, dump_config(config))
    if (folder / "about.json").is_file() and read_json(folder / "about.json") != about:
        raise ValueError(
            f"{folder} was begun with other options, {folder / 'about.json'}; choose another --round"
        )
    write_json(folder / "about.json", about)


def main(args: list[str] | None = None) -> int:
    """The command; its exit status."""
    rest = sys.argv[1:] if args is None else args
    return run_command(
        lambda: iterate(parse_options(rest, Arguments, "python -m agents.iterate CONFIG")),
        "stopped; the same command with --round goes on",
    )


if __name__ == "__main__":
    sys.exit(main())
