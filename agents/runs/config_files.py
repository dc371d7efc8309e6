"""Configuration files: YAML with a ``default:`` block and a block for each environment id."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import yaml

from agents.config import ConfigError, TrainConfig, make_config
from solitaire_env.core.variant import Variant
from solitaire_env.registration import env_variant, is_family
from solitaire_env.util.messages import one_line, shown


def load_config(path: Path, env: str | None = None) -> TrainConfig:
    """The configuration of a YAML file: its ``default:`` block, overridden by the block of an env id.

    Parameters
    ----------
    env
        Block to take, an id or a variant's name; not needed if the file has only one.

    Raises
    ------
    ConfigError
        The message names the file and the error.
    """
    blocks = _read_blocks(path)
    default = blocks.pop("default", None)
    if env is None and len(blocks) != 1:
        choice = one_line(", ".join(blocks)) or "an id"
        raise ConfigError(f"{path}: has {len(blocks)} env blocks; choose one with --env: {choice}")
    wanted = next(iter(blocks)) if env is None else env
    try:
        game = _game_of(wanted)
        names = [name for name in blocks if _game_of(name) == game]
    except ValueError as error:
        raise ConfigError(f"{path}: {error}") from None
    if len(names) > 1:
        raise ConfigError(f"{path}: blocks {shown(names)} are for the same env, allowed: one")
    if blocks and not names and default is None:
        # Otherwise the whole file would be ignored silently.
        raise ConfigError(
            f"{path}: has no block for {shown(wanted)} and no 'default:' one, "
            f"allowed: {one_line(', '.join(blocks))}"
        )
    block = blocks[names[0]] if names else {}
    return make_config({**(default or {}), **block, "env": wanted}, str(path))


def _game_of(env: str) -> Variant | None:
    """The game of an id or a name; None for the environment of many games."""
    return None if is_family(env) else env_variant(env)


def _read_blocks(path: Path) -> dict[str, dict[str, Any]]:
    """The blocks of a YAML file by name."""
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror})") from None
    except Exception as error:  # PyYAML raises unexpected types: IndexError for '!!int' without a number
        raise ConfigError(f"{path}: not YAML ({one_line(error)})") from None
    blocks = {name: block or {} for name, block in data.items()} if isinstance(data, dict) else {}
    if (
        not blocks
        or not all(isinstance(name, str) for name in blocks)
        or not all(isinstance(block, dict) and "env" not in block for block in blocks.values())
    ):
        raise ConfigError(
            f"{path}: not a configuration, allowed: a 'default:' block, and a block for each env id, without "
            "a key 'env'"
        )
    return blocks


def dump_config(config: TrainConfig) -> str:
    """The configuration as a YAML file that :func:`load_config` reads."""
    values = asdict(config)
    return yaml.safe_dump({values.pop("env"): values}, sort_keys=False)
