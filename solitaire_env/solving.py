"""Solve deals and positions whose cards are all known."""

from collections.abc import Callable

from solitaire_env.core.batch import Start
from solitaire_env.core.spec import GameSpec
from solitaire_env.core.variant import Variant
from solitaire_env.loading import load_prior
from solitaire_env.notation import parse_position
from solitaire_env.policies.shipped import shipped_games
from solitaire_env.registration import resolve_variant
from solitaire_env.search.solver import MAX_EXHAUSTIVE_CARDS, Solution, Solver
from solitaire_env.variants import get_variant


def solve(
    game: str | Variant, deal: Start | str, *, seconds: float = 10.0, memory: float = 1000.0,
    network: str = "shipped", progress: Callable[[int, int], None] | None = None,
) -> Solution:  # fmt: skip
    """Find out whether a game can be won when the order of the stock and the face-down cards are known.

    Parameters
    ----------
    game
        An id, a variant's name or a variant.
    deal
        A deal number, ``ms:N`` or ``pysol:N``, a position, a position text, or the state of an environment.
    seconds
        Time limit, kept within a tenth; for the shortest ones within half a second.
    memory
        Megabytes for the positions of the search.
    network
        Ranks the positions of beam searches: ``shipped`` (the game's, if any), a run or model folder, or
        ``none``.
    progress
        Called during the search with the number of positions and the most cards home.

    Returns
    -------
    The solution. A game that is not decided within the limits is ``open``; its line brings the most cards
    home that were found.

    Raises
    ------
    ValueError
        If there is no such game, deal or network, a card of the position is hidden, or a limit is out of
        range.
    solitaire_env.search.solver.SolverInterrupted
        At Ctrl-C. It has the solution up to then.

    Examples
    --------
    >>> from solitaire_env import solve
    >>> solve("eights-down", 251).status
    'unwinnable'
    >>> solution = solve("freecell", 7)
    >>> solution.status, solution.texts[:4]
    ('won', ('t1>c', 't3>f', 't2>c', 't2>f'))
    """
    variant = resolve_variant(game)
    if isinstance(deal, str) and "\n" in deal:
        deal = parse_position(deal, variant)
    return load_solver(variant, network, memory).solve_deal(deal, seconds=seconds, progress=progress)


def load_solver(variant: Variant, network: str = "shipped", megabytes: float = 1000) -> Solver:
    """The solver of a game. It decides many deals faster than :func:`solve` for each.

    Parameters
    ----------
    network
        As in :func:`solve`.
    megabytes
        Memory for the positions of the search.

    Raises
    ------
    ValueError
        If the network is for another game, or has no value.
    """
    own = variant.name in shipped_games() and variant == get_variant(variant.name)
    needed = network != "shipped" or (own and variant.cards > MAX_EXHAUSTIVE_CARDS)
    prior = load_prior(network, GameSpec(variant)) if needed and network != "none" else None
    return Solver(variant, megabytes=megabytes, network=prior)
