"""The shipped policies: trained networks, a folder for each game in ``weights/``."""

from pathlib import Path

from solitaire_env.core.spec import GameSpec
from solitaire_env.core.variant import rules_to_dict
from solitaire_env.policies.policy import Policy
from solitaire_env.util.files import read_json

SHIPPED = Path(__file__).with_name("weights")
"""A folder per game, by its name; each is a model folder."""


def network_folder(name: str, game: str) -> Path:
    """The folder of a network in a command: the shipped one of a game, or a run or model folder."""
    return SHIPPED / game if name == "shipped" else Path(name)


def shipped_games() -> list[str]:
    """The names of the games that have a shipped policy."""
    return sorted(path.parent.name for path in SHIPPED.glob("*/model.json"))


def load_shipped(spec: GameSpec) -> Policy:
    """The shipped policy of a game, with the action set it was trained with."""
    from solitaire_env.policies.network import load_network

    games = shipped_games()
    for game in games:
        card = read_json(SHIPPED / game / "model.json")
        try:
            seen = spec.view(moves=card["moves"])
        except ValueError:  # its moves cannot be used here
            continue
        if rules_to_dict(seen.variant) == card["rules"]:
            return load_network(SHIPPED / game, spec, "shipped")
    raise ValueError(
        f"policy 'shipped' has no network for this game, only for {', '.join(games) or 'none yet'}; "
        "train one in a clone of the repository: python -m agents.train CONFIG"
    )
