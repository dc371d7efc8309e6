"""Search: a solver that knows the order of the stock, and a player that does not.

:class:`~agents.search.solver.Solver` finds out whether a game can be won, and how.
:class:`~agents.search.player.Searcher` is a policy: it simulates its likeliest moves on sampled stock orders,
plays each to its end, and makes the move with the best mean.
"""
