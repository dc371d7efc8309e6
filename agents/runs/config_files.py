"""Configuration files: YAML with an environment id and, below it, the keys that differ from the defaults."""

import sys
from dataclasses import asdict
from pathlib import Path

import yaml

from agents.config import ConfigError, TrainConfig, make_config
from solitaire_env.registration import import_module_of
from solitaire_env.util.messages import one_line, shown


def load_config(path: Path, *, trust: bool = False) -> TrainConfig:
    """The configuration of a YAML file.

    Parameters
    ----------
    trust
        Import the module of a custom variant that the file names, which can run any code.

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
        import_module_of(env)
    module = env.rpartition(":")[0]
    if module and module not in sys.modules:
        raise ConfigError(
            f"{path}: env is {shown(env)}: importing {shown(module)} can run any code; pass --trust-model "
            "if you trust the file"
        )
    return make_config({**values, "env": env}, str(path))


def dump_config(config: TrainConfig) -> str:
    """The configuration as a YAML file that :func:`load_config` reads."""
    values = asdict(config)
    return yaml.safe_dump({values.pop("env"): values}, sort_keys=False)
