"""The client of the environment."""

from typing import Any

from openenv.core import EnvClient, State
from openenv.core.client_types import StepResult

from solitaire_openenv.models import SolitaireAction, SolitaireObservation


class SolitaireClient(EnvClient[SolitaireAction, SolitaireObservation, State]):
    """Plays games on a server; each client has its own game."""

    def _step_payload(self, action: SolitaireAction) -> dict[str, Any]:
        return action.model_dump()

    def _parse_result(self, payload: dict[str, Any]) -> StepResult[SolitaireObservation]:
        end = {"done": payload["done"], "reward": payload["reward"]}
        return StepResult(observation=SolitaireObservation(**payload["observation"], **end), **end)

    def _parse_state(self, payload: dict[str, Any]) -> State:
        return State(**payload)
