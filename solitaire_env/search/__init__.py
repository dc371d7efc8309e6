"""Search: a solver that knows the order of the stock, and a player that does not.

:class:`~solitaire_env.search.solver.Solver` finds out whether a game can be won, and how.
:class:`~solitaire_env.search.player.Searcher` is a policy: it simulates its likeliest moves on sampled
stock orders, plays each to its end, and makes the move with the best mean.
:class:`~solitaire_env.search.tree_player.TreeSearcher` is that policy in games like Klondike.
:mod:`solitaire_env.loading` and :mod:`solitaire_env.solving` find the network that they ask.
"""
