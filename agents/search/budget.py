"""The search budget."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Budget:
    """Search budget of a move."""

    simulations: int = 512
    """Total number of simulations, where there is more than one move to choose from."""
    candidates: int = 6
    """Maximum number of candidate moves, the likeliest."""
    min_prob: float = 0.003
    """Minimum prior probability of a candidate move."""
    prior_weight: float = 0.001
    """Weight of the logarithm of the prior probability. A win is worth 1, and so are all cards home."""
    milliseconds: float | None = None
    """Time of a move, used instead of the number of simulations. Results then depend on the machine."""
    nodes: int = 1_000_000
    """Where nothing is hidden: maximum number of moves that the solver plays for a game; 0: no solver."""

    def __post_init__(self) -> None:
        for name, least in (("simulations", 2), ("candidates", 1), ("nodes", 0)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} is {getattr(self, name)}, allowed: at least {least}")
        if not 0 <= self.prior_weight < float("inf"):
            raise ValueError(f"prior_weight is {self.prior_weight}, allowed: 0 and above")
        if not 0 <= self.min_prob <= 1:
            raise ValueError(f"min_prob is {self.min_prob}, allowed: 0 to 1")
        if self.milliseconds is not None and not self.milliseconds > 0:
            raise ValueError(f"milliseconds is {self.milliseconds}, allowed: above 0")
