"""Policies that only ``agents`` can load: search, networks in torch, zips of Stable-Baselines3; the solver.

``solitaire_env.policies.load`` calls the first two in a checkout.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from solitaire_env.core import GameSpec, Variant
from solitaire_env.core.variant import Moves
from solitaire_env.policies import Policy, load_policy
from solitaire_env.policies.policy import SB3Policy
from solitaire_env.policies.shipped import network_folder, shipped_games
from solitaire_env.util.messages import one_line
from solitaire_env.variants import get_variant

if TYPE_CHECKING:
    from agents.networks.player import NetworkPlayer
    from agents.search.budget import Budget
    from agents.search.solver import Solver

SEARCH = "search"


def load_search(name: str, spec: GameSpec, prior: str = "shipped", budget: "Budget | None" = None) -> Policy:
    """The policy ``search``. In games like Klondike it needs no network; in the others it takes one:
    ``shipped``, or a run or model folder.
    """
    from agents.search.collapsed import collapses

    if collapses(spec.variant):
        from agents.search.tree_player import TreeSearcher

        return TreeSearcher(spec.variant, budget)
    from agents.search.player import Searcher  # torch is loaded only when it is needed

    return Searcher(spec.variant, torch_network(prior, spec), budget)


def torch_network(name: str, spec: GameSpec) -> "NetworkPlayer":
    """A network in torch, for search and the solver's beams: ``shipped``, or a run or model folder."""
    from agents.runs.models import load_model
    from solitaire_env.util.files import missing_folder, model_folder

    folder = model_folder(network_folder(name, spec.variant.name))
    if not folder.is_dir():
        raise ValueError(f"network {name!r} is not 'shipped', and {missing_folder(Path(name))}")
    return load_model(folder, spec, name)


def make_solver(variant: Variant, network: str = "shipped", megabytes: float = 1000) -> "Solver":
    """The solver of a game.

    Parameters
    ----------
    network
        Ranks the positions of beams: ``shipped`` (the game's, if any), a run or model folder, or ``none``.
    megabytes
        Memory for the positions of an exhaustive search or a beam.

    Raises
    ------
    ValueError
        If the network is for another game, or has no value.
    """
    from agents.search.solver import MAX_EXHAUSTIVE_CARDS, Solver

    player = None
    own = variant.name in shipped_games() and variant == get_variant(variant.name)
    if network != "none" and (network != "shipped" or (own and variant.cards > MAX_EXHAUSTIVE_CARDS)):
        player = torch_network(network, GameSpec(variant))
    return Solver(variant, megabytes=megabytes, network=player)


def load_folder(name: str, spec: GameSpec) -> Policy:
    """A run or model folder whose network needs torch."""
    from agents.runs.models import load_model
    from solitaire_env.util.files import model_folder

    return load_model(model_folder(Path(name)), spec, Path(name).name)


def trust_folder(path: Path) -> None:
    """Import the module of the custom network that a run or model folder names."""
    from agents.networks import network_class
    from solitaire_env.util.files import model_folder, read_json

    name = str(read_json(model_folder(path) / "model.json").get("network"))
    if ":" in name:
        network_class(name)


def load_zip(path: Path, spec: GameSpec) -> Policy:
    """A model that sb3-contrib's MaskablePPO saved. Opening it runs any code in the file."""
    from sb3_contrib import MaskablePPO

    try:
        model = MaskablePPO.load(path, device="cpu")
    except Exception as error:
        raise ValueError(f"{path}: not a MaskablePPO zip ({one_line(error)})") from None
    try:
        return SB3Policy(model, spec, path.stem)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def make_policy(
    name: str,
    spec: GameSpec,
    *,
    moves: Moves | None = None,
    trust_model: bool = False,
    prior: str = "shipped",
    budget: "Budget | None" = None,
) -> Policy:
    """A policy by name, with the options of the commands.

    Parameters
    ----------
    name
        As in :func:`solitaire_env.policies.load_policy`, or an SB3 zip.
    moves
        Action set of a policy that leaves it open.
    trust_model
        Open SB3 zips, which run code from the file, and import the module of a custom network that a model
        folder names.
    prior, budget
        For ``search``: see :func:`load_search`.
    """
    if name == SEARCH:
        return load_search(name, spec, prior, budget)
    path = Path(name)
    if path.is_file():
        if path.suffix != ".zip":
            raise ValueError(f"{path}: is a file, allowed: a run folder, a model folder or an SB3 zip")
        if not trust_model:
            raise ValueError(
                f"{path}: an SB3 zip can run code on loading; pass --trust-model if you made it yourself"
            )
        return load_zip(path, spec)
    if trust_model and path.is_dir():
        trust_folder(path)
    return load_policy(name, spec, moves=moves)
