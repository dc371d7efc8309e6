"""Training, and the results of all policies; not part of the installed package.

What learns: :mod:`agents.learners`, :mod:`agents.networks`, :mod:`agents.runs`. What plays:
:mod:`agents.playing`. What keeps results: :mod:`agents.results`.

Commands: ``python -m agents.train``, ``agents.evaluate``, ``agents.solve``, and ``python -m agents COMMAND``.
"""

import os
import sys
from importlib.util import find_spec

# torch reads it when it is imported. A waiting OpenMP thread spins for a moment, then sleeps. With the
# default, 30 times that moment, two threads took five to twenty times as long beside other busy processes.
os.environ.setdefault("GOMP_SPINCOUNT", "10000")

# Python names the program so while it looks for the module of `python -m agents...`. All commands need these.
if sys.argv[:1] == ["-m"]:
    import solitaire_env  # noqa: F401  # from now on Ctrl-C ends them with a sentence

    # They draw into files. A notebook's backend, which they inherit, may not be installed here.
    os.environ["MPLBACKEND"] = "agg"
    for package in ("pydantic", "yaml"):
        if find_spec(package) is None:
            from solitaire_env.util.messages import not_installed

            print(f"error: {not_installed('agents', package)}", file=sys.stderr)
            sys.exit(2)
