"""What looking ahead may cost."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Budget:
    """How much is tried before a move."""

    simulations: int = 512
    """Trials in all, where there is more than one move to choose from."""
    candidates: int = 6
    """So many moves are tried at most, the likeliest."""
    least: float = 0.003
    """Moves that the network finds less likely than this are not tried."""
    depth: int = 0
    """Moves that the network plays in a trial after the candidate."""
    playouts: bool = True
    """After these the linear policy plays a trial to its end, and the network's value is not asked."""
    prior_weight: float = 0.001
    """What e times the network's probability is worth; a win is worth 1, and so are all cards home."""
    milliseconds: float | None = None
    """If given, a move takes so long instead, and what comes out hangs on the machine."""
    nodes: int = 1_000_000
    """Where nothing is hidden: moves that the solver plays at most, for a whole game; 0: it is not asked."""
    verify: int = 0
    """Where nothing is hidden: moves that the solver plays at most to see whether a likely move still wins,
    which is made then; 0: the line that was found is kept to."""

    def __post_init__(self) -> None:
        for name, least in (("simulations", 2), ("candidates", 1), ("depth", 0), ("nodes", 0), ("verify", 0)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} is {getattr(self, name)}, allowed: at least {least}")
        if not 0 <= self.prior_weight < float("inf"):
            raise ValueError(f"prior_weight is {self.prior_weight}, allowed: 0 and above")
        if not 0 <= self.least <= 1:
            raise ValueError(f"least is {self.least}, allowed: 0 to 1")
        if self.milliseconds is not None and not self.milliseconds > 0:
            raise ValueError(f"milliseconds is {self.milliseconds}, allowed: above 0")
