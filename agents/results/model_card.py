"""The model cards of the shipped policies, written from their files and from the stored results."""

from pathlib import Path
from typing import Any, Final

import yaml
from safetensors import safe_open

from agents.config import TrainConfig
from agents.results import stored
from agents.results.plots import read_curve
from agents.results.stored import Entry, Training
from agents.results.tables import cost, home, range_text, table, won
from agents.runs.config_files import load_config
from agents.runs.folders import history_of, init_records
from solitaire_env import env_id
from solitaire_env.evaluation import summarize
from solitaire_env.util.files import model_folder, read_json

NOTE: Final = (
    "<!-- Written by `python -m agents leaderboard write`: change that, or the stored results. -->\n"
)

CARD: Final = """---
{front_matter}---

# {title}: a trained policy

{note}
A network that chooses among the legal moves of {title}: the policy `shipped` of every command.

{facts}

`config.yaml` is the whole configuration, `versions.json` lists the software that trained it, `curve.csv` is
the learning curve: win rate and cards home of the last 1,000 training games.

## Results

{results}

Games won with Wilson's 95 % interval, cards home with a bootstrap interval. The games are in `results/`.
No training game has a number below 1,048,576, and deals {final_test} were not used for any choice.

## Limits

- It plays this game by its published rules and sees only what a player sees. Another layout of observations
  or actions is an error.
- It samples its moves from the network's probabilities. In an evaluation the random numbers depend on the
  deal alone, and the network computes in 64 bits, so a game is the same whatever is played in parallel.
  Another machine may round the sixteenth digit differently, which in rare cases changes a move.
- It evaluates each legal move{lookahead}.
- {memory}

## Reproduce

```sh
python -m agents.evaluate --policy shipped --env {env} --deals 0:1000
python -m agents leaderboard replay {game}/shipped    # compare with the stored games
python -m agents.train solitaire_env/policies/weights/{game}/config.yaml{init_from}
```

{history}If the budget is in minutes, another machine trains for another number of steps and gets another
network.

## Licence

MIT, as the code.
"""


HISTORY: Final = """`history/` has the configuration of each training before it, the first one in `1/`.
Where `init_from` names `history/N`, give the run folder of that training as `--init-from`; of two, both with
a comma between.

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


def front_matter(config: TrainConfig, entry: Entry | None) -> str:
    """What the Hugging Face Hub reads of a card, as YAML: license, library, tags and results."""
    env = env_id(config.variant)
    results = []
    for part in (stored.STANDARD, stored.FINAL_TEST):
        if entry is not None and (games := entry.of(part)):
            s = summarize(games)
            low, high = s.win_interval
            win_rate = {
                "type": "win_rate",
                "name": f"win rate, 95 % interval {low:.3f} to {high:.3f}",
                "value": s.win_rate,
            }
            cards = {"type": "cards_home", "name": "mean cards home", "value": round(s.cards_home, 2)}
            results.append(
                {
                    "task": {"type": "reinforcement-learning", "name": "reinforcement learning"},
                    "dataset": {"type": env, "name": f"{env}, deals {range_text(part)}"},
                    "metrics": [win_rate, cards],
                }
            )
    data = {
        "license": "mit",
        "library_name": "solitaire-env",
        "tags": ["reinforcement-learning", "gymnasium", "solitaire", env],
        "model-index": [{"name": config.variant.name, "results": results}] if results else [],
    }
    return yaml.safe_dump(data, sort_keys=False, width=200)


def model_card(folder: Path, entry: Entry | None) -> str:
    """The card of a shipped policy, with results if they are stored."""
    config = load_config(folder / "config.yaml")
    card = read_json(folder / "model.json")
    training = training_of(folder)
    with safe_open(folder / "model.safetensors", framework="np") as file:
        numbers = sum(file.get_tensor(name).size for name in file.keys())  # noqa: SIM118 - no mapping
    sizes = ", ".join(f"{name} {value}" for name, value in card["sizes"].items())
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
    if card.get("avoid_repeats"):
        action_set += "; rarely the same move twice in a position"
    if card.get("finish_games"):
        action_set += "; a move after which `greedy` wins goes first"
    facts = {
        "game": f"`{env_id(config.variant)}`, published rules",
        "moves": action_set,
        "observation": f"`{config.observation}`, only what a player knows",
        "network": f"`{card['network']}` ({sizes}), {numbers:,} weights",
        "learner": f"`{config.learner}`",
        "initialized from": begin,
        "trained": f"{cost(training)}, seed {config.seed}",
        "on": str(training.machine),
    }
    played = "Not evaluated yet."
    if entry is not None:
        played = table(
            ["deals", "won", "cards home"],
            [
                [range_text(part), won(games), home(summarize(games))]
                for part in (stored.STANDARD, stored.FINAL_TEST)
                if (games := entry.of(part))
            ],
        )
    lookahead = card["sizes"].get("rollout_lookahead")
    return CARD.format(
        front_matter=front_matter(config, entry),
        title=config.variant.title,
        note=NOTE,
        facts=table(["", ""], [[key, value] for key, value in facts.items()], texts=2),
        results=played,
        final_test=range_text(stored.FINAL_TEST),
        env=env_id(config.variant),
        game=config.variant.name,
        init_from=" --init-from RUN" if config.init_from else "",
        history=HISTORY if config.init_from else "",
        lookahead=" with rollout lookahead up to the next draw" if lookahead else "",
        memory="It remembers the positions of its game, and nothing else."
        if card.get("avoid_repeats")
        else "It has no memory: it does not recognize a position that repeats.",
    )
