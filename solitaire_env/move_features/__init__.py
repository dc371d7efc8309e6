"""Hand-crafted features of positions and legal moves, compiled.

The linear policy, playouts, networks and search read them. Not to be confused with ``observation="features"``.
"""
