"""Learning algorithms, one in each file: PPO, PQN, learning from playouts and imitation, and what they share.

Made by :mod:`agents.learners.factory`, run by :mod:`agents.learners.training`. No networks, files or tables.
"""
