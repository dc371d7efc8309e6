"""Keys of configurations and models that were renamed. Files with the old names are still read."""

from functools import cache
from typing import Any, Final

from solitaire_env.util.messages import say

RENAMED: Final = {
    "linear_start": "init_linear_temperature",
    "start": "init_from",
    "value_steps": "value_warmup_steps",
    "digs": "dig_out",
    "onward": "rollout_lookahead",
    "reach": "relaxed_reachability",
    "depth": "cards_per_pile",
    "rounds": "context_rounds",
    "least": "min_prob",
    "sure_home": "safe_autoplay",
}
"""New names by old names: keys of ``config.yaml`` and ``model.json``, and of the network sizes in them."""


def rename_keys(where: object, *tables: dict[str, Any]) -> list[dict[str, Any]]:
    """Copies of the tables of a file, with the new names of renamed keys. A notice lists the old ones.

    Parameters
    ----------
    where
        The file, for messages.

    Raises
    ------
    ValueError
        If a table has a key under both names.
    """
    old: dict[str, str] = {}
    for table in tables:
        old |= {key: RENAMED[key] for key in table if key in RENAMED}
        for key, new in old.items():
            if key in table and new in table:
                raise ValueError(f"{where}: has {key!r} and {new!r}, allowed: only {new!r}")
    if old:
        _say_once(f"{where}: " + ", ".join(f"{key!r} is now {new!r}" for key, new in old.items()))
    return [{RENAMED.get(key, key): value for key, value in table.items()} for table in tables]


_say_once = cache(say)
