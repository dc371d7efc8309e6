"""Policies for the tests of playing, by name: ``tests.play.policies:First``."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from solitaire_env.core.spec import GameSpec
from solitaire_env.evaluation import draw


class First:
    """The first legal action, with high probability."""

    name = "first"
    deterministic = True

    def __init__(self, spec: GameSpec | None = None) -> None:
        self.asked = 0

    def __call__(self, observations: Any, masks: Any) -> Any:
        self.asked += 1
        return masks.argmax(1)

    def explain(self, observations: Any, masks: Any) -> Any:
        chances = np.where(masks, np.float32(0.1) / np.maximum(1, masks.sum(1, keepdims=True) - 1), 0)
        chances[np.arange(len(masks)), masks.argmax(1)] = 0.9
        return chances, np.full(len(masks), 0.125)


class Last(First):
    """The last legal action, among supermoves."""

    name = "last"
    moves = "supermove"

    def __call__(self, observations: Any, masks: Any) -> Any:
        return masks.shape[1] - 1 - masks[:, ::-1].argmax(1)

    explain = None  # type: ignore[assignment]


class Whim:
    """A random legal action."""

    name = "whim"
    stochastic = True

    def __init__(self, spec: GameSpec) -> None:
        pass

    def __call__(self, observations: Any, masks: Any, *, uniforms: Any, games: Any) -> Any:
        return draw(masks, uniforms)


class Broken(First):
    """Raises an error."""

    def __call__(self, observations: Any, masks: Any) -> Any:
        raise ZeroDivisionError("a policy's own mistake")


class Picky(First):
    """Plays only games with cells."""

    def __init__(self, spec: GameSpec) -> None:
        if not spec.variant.cells:
            raise ValueError("no cells, allowed: games with cells")
        super().__init__(spec)


class Slow(First):
    """Slow, and may cycle forever."""

    deterministic = False

    def __call__(self, observations: Any, masks: Any) -> Any:
        time.sleep(0.01)
        return masks.argmax(1)


class Nameless(First):
    """Its name is not a line of text."""

    name = "a\nb"
