"""Solitaire in words, as an OpenEnv environment."""

from solitaire_openenv.client import SolitaireClient
from solitaire_openenv.models import SolitaireAction, SolitaireObservation

__all__ = ["SolitaireAction", "SolitaireClient", "SolitaireObservation"]
