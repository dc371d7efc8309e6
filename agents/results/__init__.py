"""What keeps results: stored rows, tables, plots, pages, model cards, datasets. Nothing here plays or trains.

What plays is in :mod:`agents.playing`.
"""
