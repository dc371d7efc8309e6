"""The model cards of the shipped policies, written from their files and from the stored results."""

from pathlib import Path
from typing import Any, Final

from safetensors import safe_open

from agents.config import TrainConfig
from agents.reports import stored as results
from agents.reports.plots import read_curve
from agents.reports.stored import Entry, Training
from agents.reports.tables import cost, home, table, won
from agents.runs.config_files import load_config
from agents.runs.folders import history_of, init_records
from solitaire_env import env_id
from solitaire_env.evaluation import read_games
from solitaire_env.util.files import model_folder, read_json

NOTE: Final = (
    "<!-- Written by `python -m agents leaderboard write`: change that, or the stored results. -->\n"
)

LEARNERS: Final = {
    "ppo": ("PPO, torch", "torch"),
    "maskable-ppo": ("MaskablePPO, sb3-contrib", "sb3-contrib"),
    "pqn": ("PQN, torch", "torch"),
    "playouts": ("playouts of likely moves, torch", "torch"),
}
"""Learners by their names in a configuration: in words, and the package whose version counts."""

CARD: Final = """# {title}: a trained policy

{note}
A network that chooses among the legal moves of {title}: the policy `shipped` of every command.

{facts}

`config.yaml` is the whole configuration, `versions.json` lists the software that trained it, `curve.csv` is
the thinned learning curve: win rate and cards home of the last 1,000 training games.

## Results

{results}

Games won with Wilson's 95 % interval, cards home with a bootstrap interval.{rows}
No training game has a number below 1,048,576, and deals {held_out} were not used for any choice.
{seeds}
## Limits

- It plays this game by its published rules and sees only what a player sees. Another layout of observations
  or actions is an error.
- It samples its moves from the network's probabilities. In an evaluation the random numbers depend on the
  deal alone, and the network computes in 64 bits, so a game is the same whatever is played in parallel.
  Another machine may round the sixteenth digit differently, which in rare cases changes a move.
- It evaluates each legal move{lookahead}. It has no memory: it does not
  recognize a position that repeats.

## Reproduce

```sh
python -m agents.evaluate --policy shipped --env {env} --deals 0:1000
python -m agents leaderboard replay --policy shipped --env {game}    # compare with the stored games
{again}
```

If the budget is in minutes, another machine trains for another number of steps and gets another network.

## Licence

MIT, as the code.
"""


def machine(versions: dict[str, Any]) -> str:
    """Where a network was trained, from its ``versions.json``."""
    gpu = f"{versions['gpu']}, " if versions.get("gpu") else ""
    count = versions.get("threads")
    threads = f", {count} thread{'s' * (count != 1)}" if count else ""
    name = versions.get("processor") or versions.get("machine") or "unknown processor"
    return f"{gpu}{name}, {versions.get('processors') or '?'} processors{threads}"


def training_of(folder: Path) -> Training:
    """The cost of training the network of a run or shipped folder, including its initial networks."""
    parts = [*history_of(folder), folder]
    minutes = [curve[-1]["minutes"] for part in parts if (curve := read_curve(part))]
    return Training(
        steps=sum(int(read_json(model_folder(part) / "model.json")["steps"]) for part in parts),
        minutes=round(sum(minutes), 2) if minutes else None,
        machine=machine(read_json(folder / "versions.json")),
    )


def model_card(folder: Path, entry: Entry | None) -> str:
    """The card of a shipped policy, with results if they are stored."""
    config = load_config(folder / "config.yaml")
    card, versions = read_json(folder / "model.json"), read_json(folder / "versions.json")
    training = training_of(folder)
    with safe_open(folder / "model.safetensors", framework="np") as file:
        numbers = sum(file.get_tensor(name).size for name in file.keys())  # noqa: SIM118 - no mapping
    sizes = ", ".join(f"{name} {value}" for name, value in card["sizes"].items())
    learner, package = LEARNERS[config.learner]
    begin = "random weights"
    if config.init_linear_temperature is not None:
        begin = f"the linear policy at temperature {config.init_linear_temperature:g}"
    elif config.init_from is not None:
        names = [f"`{record.relative_to(folder).as_posix()}/`" for record in init_records(folder, config)]
        begin = f"the mean of {' and '.join(names)}" if len(names) > 1 else f"the network of {names[0]}"
    action_set = card["moves"]
    if action_set == "supermove":
        action_set += ", each played as single moves"
    if card.get("safe_autoplay"):
        action_set += "; safe autoplay"
    facts = {
        "game": f"`{env_id(config.variant)}`, published rules",
        "moves": action_set,
        "observation": f"`{config.observation}`, only what a player knows",
        "network": f"`{card['network']}` ({sizes}), {numbers:,} weights",
        "learner": f"{learner} {versions.get(package, '?')}",
        "initialized from": begin,
        "trained": f"{cost(training)}, seed {config.seed}",
        "on": str(training.machine),
    }
    played, rows = "Not evaluated yet.", ""
    if entry is not None:
        parts = zip(results.parts(), entry.games, strict=True)
        played = table(
            ["deals", "won", "cards home"],
            [[f"{part[0]}-{part[-1]}", won(games), home(games)] for part, games in parts if games],
        )
        rows = f"\nThe games are the rows of `results/leaderboard/{entry.game}/shipped.jsonl`."
    lookahead = card["sizes"].get("rollout_lookahead")
    return CARD.format(
        title=config.variant.title,
        note=NOTE,
        facts=table(["", ""], [[key, value] for key, value in facts.items()], texts=2),
        results=played,
        rows=rows,
        held_out=f"{results.HELD_OUT[0]}-{results.HELD_OUT[-1]}",
        seeds=_seeds(folder),
        env=env_id(config.variant),
        game=config.variant.name,
        again=_again(folder, config),
        lookahead=" with rollout lookahead up to the next draw" if lookahead else "",
    )


def _again(folder: Path, config: TrainConfig) -> str:
    """The commands that train it, and its initial networks."""
    game, commands = config.variant.name, []
    history = {record.name: load_config(record / "config.yaml").name for record in history_of(folder)}
    for part in (*history_of(folder), folder):
        path = Path("solitaire_env/policies/weights", game, part.relative_to(folder), "config.yaml")
        numbers = [init.name for init in load_config(part / "config.yaml").init_folders]
        init_from = ",".join(f"runs/{history.get(number, game)}-{number}" for number in numbers)
        commands.append(
            f"python -m agents.train {path.as_posix()}" + (f" --init-from {init_from}" if init_from else "")
        )
    return "\n".join(commands)


def _seeds(folder: Path) -> str:
    """Results of other seeds, from the games stored beside the model."""
    rows = []
    for path in sorted(folder.glob("games-seed-*.jsonl"), key=lambda path: int(path.stem.split("-")[-1])):
        seed = path.stem.split("-")[-1]
        games = tuple(read_games(path))
        last = read_curve(folder, f"curve-seed-{seed}.csv")[-1]
        took = cost(Training(steps=int(last["steps"]), minutes=last["minutes"]))
        rows.append([seed, took, str(len(games)), won(games), home(games)])
    if not rows:
        each = "Each of its trainings used" if history_of(folder) else "Its training used"
        return f"\n{each} one seed.\n"
    return (
        "\n## Other seeds\n\nThe same configuration with other seeds. Their networks are not stored; their"
        " games and\ncurves are in `games-seed-N.jsonl` and `curve-seed-N.csv`.\n\n"
        f"{table(['seed', 'training', 'deals', 'won', 'cards home'], rows)}\n"
    )
