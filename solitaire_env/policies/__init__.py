"""Policies that need no torch: random, greedy, linear, and the shipped networks with their weights.

What a policy is (:class:`Policy`), and how one is found by name (:func:`load_policy`). Training them is the
business of ``agents/``; playing them that of :mod:`solitaire_env.evaluation`.
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
