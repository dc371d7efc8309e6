"""Thoughts of policies about positions."""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from solitaire_env.core.spec import GameSpec
from solitaire_env.notation import action_text
from solitaire_env.policies.policy import Policy
from solitaire_env.transcripts import Thought

Array = npt.NDArray[Any]
TOP_ACTIONS: Final = 5
"""Maximum number of actions in a thought."""


def think(
    policy: Policy, view: GameSpec, observations: Array, masks: npt.NDArray[np.int8]
) -> list[Thought | None]:
    """The policy's thoughts about ``n`` positions of the game that it sees; None if it has none."""
    if not policy.explains:
        return [None] * len(masks)
    probabilities, values = policy.explain(observations, masks)
    thoughts: list[Thought | None] = []
    for row in range(len(masks)):
        top: tuple[tuple[str, float], ...] = ()
        if probabilities is not None:
            of_row = np.asarray(probabilities[row], dtype=np.float64)
            likeliest = np.argsort(-of_row, kind="stable")[:TOP_ACTIONS]
            # 32-bit probabilities may sum to a little more than 1.
            top = tuple(
                (action_text(view.variant, int(a)), min(1.0, float(of_row[a])))
                for a in likeliest
                if of_row[a] > 0
            )
        value = None if values is None else float(values[row])
        thoughts.append(None if value is None and not top else Thought(value, top))
    return thoughts
