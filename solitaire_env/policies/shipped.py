"""The shipped policies: trained networks, a folder for each in ``weights/``.

Some games have a network of their own; one network plays every game.
"""

from pathlib import Path
from typing import Final

from solitaire_env.core.spec import GameSpec
from solitaire_env.core.variant import rules_to_dict
from solitaire_env.policies.model_files import CARD
from solitaire_env.policies.policy import Policy
from solitaire_env.util.files import read_json

SHIPPED = Path(__file__).with_name("weights")
"""Model folders: one per game with a network of its own, by the game's name, and :data:`FAMILY`."""
FAMILY: Final = "family"
"""The folder of the network that plays every game."""


def network_folder(name: str, spec: GameSpec) -> Path:
    """The folder of a network in a command: that of ``shipped`` or ``family``, or a run or model folder."""
    if name == "shipped":
        return _shipped_folder(spec)
    return SHIPPED / FAMILY if name == FAMILY else Path(name)


def shipped_games() -> list[str]:
    """The names of the games that have a network of their own."""
    return sorted(path.parent.name for path in SHIPPED.glob(f"*/{CARD}") if path.parent.name != FAMILY)


def load_shipped(spec: GameSpec) -> Policy:
    """The best shipped network for a game, with the action set that it was trained with.

    It is the game's own, named ``shipped``, or, without one, the network that plays every game, named
    ``family``. House rules make another game.
    """
    from solitaire_env.policies.network import load_network

    folder = _shipped_folder(spec)
    return load_network(folder, spec, FAMILY if folder.name == FAMILY else "shipped")


def load_family(spec: GameSpec) -> Policy:
    """The shipped network that plays every game."""
    from solitaire_env.policies.network import load_network

    return load_network(SHIPPED / FAMILY, spec)


def _shipped_folder(spec: GameSpec) -> Path:
    """The folder of the best shipped network for a game."""
    for game in shipped_games():
        card = read_json(SHIPPED / game / CARD)
        try:
            seen = spec.view(moves=card["moves"])
        except ValueError:  # its moves cannot be used here
            continue
        if rules_to_dict(seen.variant) == card["rules"]:
            return SHIPPED / game
    return SHIPPED / FAMILY
