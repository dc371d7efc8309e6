"""What plays: policies on numbered deals, here or on a cluster; comparisons of policies; games for datasets.

The results are kept by :mod:`agents.results`.
"""
