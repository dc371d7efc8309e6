"""Training, and the results of all policies; not part of the installed package.

What learns: :mod:`agents.learners`, :mod:`agents.networks`, :mod:`agents.runs`. What plays:
:mod:`agents.playing`. What keeps results: :mod:`agents.results`.

``import agents`` lets :func:`solitaire_env.load_policy` load networks in torch.

Commands: ``python -m agents.train``, ``agents.evaluate``, ``agents.solve``, and ``python -m agents COMMAND``.
"""

import os
import sys
from importlib.util import find_spec
from pathlib import Path

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

from solitaire_env.core import GameSpec
from solitaire_env.loading import register_networks
from solitaire_env.policies import Policy
from solitaire_env.util.messages import not_installed


def _load_folder(path: Path, spec: GameSpec) -> Policy:
    """A run or model folder whose network needs torch, which is imported here and not with the package."""
    try:
        from agents.policies import load_folder

        return load_folder(path, spec)
    except ModuleNotFoundError as error:
        raise ValueError(not_installed("the folder 'agents'", error.name)) from None


register_networks(_load_folder)
