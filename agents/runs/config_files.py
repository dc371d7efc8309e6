"""Configuration files: YAML with an environment id and, below it, the keys that differ from the defaults."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import yaml

from agents.config import ConfigError, TrainConfig, make_config
from solitaire_env.registration import import_module_of
from solitaire_env.util.messages import one_line


def load_config(path: Path, *, trust: bool = False) -> TrainConfig:
    """The configuration of a YAML file.

    Parameters
    ----------
    trust
        Import the modules of custom variants that the file names, which can run any code.

    Raises
    ------
    ConfigError
        The message names the file and the error.
    """
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror})") from None
    except Exception as error:  # PyYAML raises unexpected types: IndexError for '!!int' without a number
        raise ConfigError(f"{path}: not YAML ({one_line(error)})") from None
    [(env, values)] = data.items() if isinstance(data, dict) and len(data) == 1 else [(None, {})]
    values = {} if values is None else values
    if not isinstance(env, str) or not isinstance(values, dict) or "env" in values:
        raise ConfigError(f"{path}: not a configuration, allowed: an env id, and keys except 'env' below it")
    if trust:
        import_games(env, values.get("games"))
    return make_config({**values, "env": env}, str(path))


def import_games(env: str | None, games: Any) -> None:
    """Import the modules of custom variants, which can run any code.

    Parameters
    ----------
    env, games
        The values of these keys of a configuration, perhaps not validated yet.
    """
    names = games.split(",") if isinstance(games, str) else games if isinstance(games, list) else []
    for name in (env, *names):
        if isinstance(name, str):
            import_module_of(name)


def dump_config(config: TrainConfig) -> str:
    """The configuration as a YAML file that :func:`load_config` reads."""
    values = asdict(config)
    return yaml.safe_dump({values.pop("env"): values}, sort_keys=False)
