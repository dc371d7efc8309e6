"""Call the rules from compiled code of your own, with numba.

The package needs no numba. With numba installed, your own functions can call those of ``solitaire_env.core``
that are declared by ``@inner``: here they play random games, without Python between the moves.

    pip install numba
    python examples/own_numba.py --deals 1000
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
import tyro
from numba.cpython.unsafe.numbers import trailing_zeros
from numba.extending import overload, register_jitable

from solitaire_env.core import native


class Jitable:
    """Registers functions for numba when their module is imported."""

    def inner(self, function: Callable[..., Any], inline: bool) -> Any:
        """A function that compiled functions call."""
        return register_jitable(function)

    def kernel(self, function: Callable[..., Any], fast: bool, part: int) -> Any:
        """A function that Python calls: it stays the package's own."""
        return native.Kernel(function, part)


overload(native.lowest_bit)(lambda bits: lambda bits: trailing_zeros(bits))
native.compiler = Jitable()

# The rules are imported after that.
from solitaire_env.core import PLAYING, WON, Batch, GameSpec, step  # noqa: E402
from solitaire_env.variants import get_variant  # noqa: E402


@numba.njit(error_model="numpy")
def play(rules, state, events, most):
    """Play the games of a batch to their ends by random legal moves, or for ``most`` moves."""
    for b in range(state.status.shape[0]):
        for _ in range(most):
            if state.status[b] != PLAYING:
                break
            step(rules, state, events, b, np.random.choice(np.flatnonzero(state.mask[b])))


@dataclass
class Args:
    """Play random games."""

    game: str = "busy-aces"
    """The game."""
    deals: int = 1000
    """Deals 0 to this number are played."""
    moves: int = 2000
    """Maximum number of moves of a game."""


def main(a: Args) -> None:
    """Play and print the wins."""
    batch = Batch(GameSpec(get_variant(a.game)), a.deals)
    batch.deal(np.arange(a.deals), list(range(a.deals)))
    play(batch.rules, batch.state, batch.events, a.moves)
    won = int((batch.state.status == WON).sum())
    print(f"won {won} of {a.deals} deals, {batch.state.home.mean():.1f} cards home")


if __name__ == "__main__":
    main(tyro.cli(Args))
