"""Policies that only ``agents`` can load: networks in torch, zips of Stable-Baselines3."""

import sys
from pathlib import Path

from solitaire_env.core import GameSpec
from solitaire_env.core.variant import Moves
from solitaire_env.loading import SEARCH, load_policy, load_search, trust_folder
from solitaire_env.policies import Policy, SB3Policy
from solitaire_env.search.budget import Budget
from solitaire_env.util.files import model_folder
from solitaire_env.util.messages import one_line


def load_folder(path: Path, spec: GameSpec) -> Policy:
    """A run or model folder whose network needs torch. The module of a custom network must have been
    imported.
    """
    from agents.networks import network_class
    from agents.runs.models import load_model
    from solitaire_env.policies.network import network_kind

    kind = network_kind(path)
    if ":" in kind and kind.partition(":")[0] in sys.modules:
        network_class(kind)
    return load_model(model_folder(path), spec, path.name)


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
    budget: Budget | None = None,
) -> Policy:
    """A policy by name, with the options of the commands.

    Parameters
    ----------
    name
        As in :func:`solitaire_env.loading.load_policy`, or an SB3 zip.
    moves
        Action set of a policy that leaves it open.
    trust_model
        Open SB3 zips, which run code from the file, and import the module of a custom network that a model
        folder names.
    prior, budget
        For ``search``: see :func:`~solitaire_env.loading.load_search`.
    """
    if name == SEARCH:
        return load_search(spec, prior, budget)
    path = Path(name)
    if path.is_file():
        if path.suffix != ".zip":
            raise ValueError(f"{path}: is a file, allowed: a run folder, a model folder or an SB3 zip")
        if not trust_model:
            raise ValueError(
                f"{path}: an SB3 zip can run code on loading; pass --trust-model if you made it yourself"
            )
        return load_zip(path, spec)
    if path.is_dir():
        moves = None  # a model has its own
        if trust_model:
            trust_folder(name)
    return load_policy(name, spec, moves=moves)
