"""Policies that need no torch: random, greedy, linear, and the shipped networks with their weights.

:class:`Policy` is the interface of policies. ``agents/`` trains them, :mod:`solitaire_env.loading` finds one
by name, and :mod:`solitaire_env.evaluation` plays them.
"""

from solitaire_env.policies.policy import FunctionPolicy, Policy, view_of
from solitaire_env.policies.sb3_model import SB3Policy

__all__ = ["FunctionPolicy", "Policy", "SB3Policy", "view_of"]
