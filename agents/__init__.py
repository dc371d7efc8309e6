"""Training and search; not part of the installed package.

Commands: ``python -m agents.train``, ``agents.evaluate``, ``agents.solve``, and ``python -m agents COMMAND``.
"""

import os

# torch reads it when it is imported. A waiting OpenMP thread spins for a moment, then sleeps. With the
# default, 30 times that moment, two threads took five to twenty times as long beside other busy processes.
os.environ.setdefault("GOMP_SPINCOUNT", "10000")
