"""Training and evaluation of policies; not part of the installed package."""

import solitaire_env  # noqa: F401 - before torch: it settles how OpenMP's threads wait
