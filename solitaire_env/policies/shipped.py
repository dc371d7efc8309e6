"""The shipped policies: a folder a game beside this file, with the network that ``agents.commands.ship`` put there."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from solitaire_env.core.spec import layout_hash
from solitaire_env.policies.linear import LayoutOf
from solitaire_env.util.files import read_json

SHIPPED = Path(__file__).with_name("weights")
"""A folder by the name of the game, each also a model folder."""


def network_folder(name: str, game: str) -> Path:
    """Where a network lies that a command names: the shipped one of a game, or a run or model folder."""
    return SHIPPED / game if name == "shipped" else Path(name)


def shipped_games() -> list[str]:
    """The names of the games that have a shipped policy."""
    return sorted(path.parent.name for path in SHIPPED.glob("*/model.json"))


def load_shipped(layout_of: LayoutOf) -> Any:
    """The shipped policy of the game whose layout ``layout_of`` gives, with the moves it was trained with."""
    games = shipped_games()
    for game in games:
        card = read_json(SHIPPED / game / "model.json")
        observation = dict(card.get("layout") or {}).get("observation")
        wanted = SimpleNamespace(moves=card.get("moves"), observation=observation)
        try:
            layout = layout_of(wanted)
        except ValueError:  # its moves cannot be played here
            continue
        if layout_hash(layout) == card.get("layout_hash"):
            from agents.runs.models import load_model  # torch is loaded only when a network is asked for

            return load_model(SHIPPED / game, layout_of, "shipped")
    raise ValueError(
        f"policy 'shipped' has no network for this game, only for {', '.join(games) or 'none yet'}; "
        "train one with: python -m agents.train CONFIG"
    )
