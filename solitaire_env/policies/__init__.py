"""Policies that need no torch: random, greedy, linear, and the shipped networks with their weights.

Training them is the business of ``agents/``.
"""
