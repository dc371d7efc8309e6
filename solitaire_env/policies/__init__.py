"""Policies that need no torch: random, greedy, linear, and the shipped networks with their weights.

:class:`Policy` is the interface of policies, and :func:`load_policy` finds one by name. ``agents/`` trains
them; :mod:`solitaire_env.evaluation` plays them.
"""

from solitaire_env.policies.load import BUILT_IN, as_policy, load_class, load_policy
from solitaire_env.policies.policy import FunctionPolicy, Policy, SB3Policy, view_of

__all__ = [
    "BUILT_IN",
    "FunctionPolicy",
    "Policy",
    "SB3Policy",
    "as_policy",
    "load_class",
    "load_policy",
    "view_of",
]
