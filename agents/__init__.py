"""Training and search; not part of the installed package.

Commands: ``python -m agents.train``, ``agents.evaluate``, ``agents.solve``, and ``python -m agents COMMAND``.
"""

import solitaire_env  # noqa: F401 - before torch: it settles how OpenMP's threads wait
