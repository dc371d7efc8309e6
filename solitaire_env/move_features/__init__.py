"""Hand-crafted features of positions and legal moves, read from the engine's state by compiled code.

The linear policy, playouts, networks and search use them: from observations by ``reader.MoveReader``, from
games in play by ``table.MoveTable``, from a state by the functions of the other modules. Not the same as
``observation="features"``.
"""
