"""Looking ahead: a solver that knows the stock, and a player that does not.

:class:`~agents.search.solver.Solver` says of a game whether it can be won, and how.
:class:`~agents.search.player.Searcher` is a policy: it tries its likeliest moves on stocks that might be,
plays on by a network, and makes the move that came out best.
"""
