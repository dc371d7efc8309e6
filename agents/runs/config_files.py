"""Configuration files: YAML with a ``default:`` block and a block for each environment id."""

from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import yaml

from agents.config import ConfigError, TrainConfig, make_config
from solitaire_env.core.variant import Variant
from solitaire_env.registration import env_variant, is_family
from solitaire_env.util.messages import one_line, shown

MAX_DEPTH: Final = 10
"""Maximum nesting of brackets."""
MAX_TEXT: Final = 20_000
"""Maximum length of a file, in characters; a file with every key needs a twentieth of it."""


class _Loader(yaml.SafeLoader):
    """Refuses a key that is given twice (PyYAML takes the last one), deep brackets (slow in PyYAML), and
    aliases and merge keys (a few hundred characters would become gigabytes).
    """

    def fetch_flow_collection_start(self, TokenClass: Any) -> None:
        if self.flow_level >= MAX_DEPTH:
            raise yaml.MarkedYAMLError(
                problem=f"brackets in brackets, more than {MAX_DEPTH}", problem_mark=self.get_mark()
            )
        super().fetch_flow_collection_start(TokenClass)

    def fetch_alias(self) -> None:
        raise yaml.MarkedYAMLError(
            problem="an alias (*name), allowed: the value itself", problem_mark=self.get_mark()
        )

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        node = super().compose_mapping_node(anchor)
        seen = set()
        for key, _ in node.value:
            if key.tag == "tag:yaml.org,2002:merge":
                raise yaml.MarkedYAMLError(
                    problem="a merge key (<<), allowed: the keys themselves", problem_mark=key.start_mark
                )
            name = (key.tag, key.value if isinstance(key, yaml.ScalarNode) else id(key))
            if name in seen:
                raise yaml.MarkedYAMLError(
                    problem=f"key {shown(key.value)} occurs twice", problem_mark=key.start_mark
                )
            seen.add(name)
        return node


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
        text = path.read_text(encoding="utf-8")
        if len(text) > MAX_TEXT:
            raise ValueError(f"{len(text)} characters, at most {MAX_TEXT} are read")
        data = yaml.load(text, _Loader)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror})") from None
    except Exception as error:  # PyYAML raises unexpected types: IndexError for '!!int' without a number
        raise ConfigError(f"{path}: not YAML ({one_line(error)})") from None
    if not isinstance(data, dict) or not all(
        isinstance(block, dict) or block is None for block in data.values()
    ):
        raise ConfigError(f"{path}: not a configuration, allowed: a 'default:' block and one for each env id")
    for name, block in data.items():
        if not isinstance(name, str) or "env" in (block or {}):
            raise ConfigError(
                f"{path}: block {shown(name)}: its name is the env, allowed: 'default' or an env id, and no "
                "key 'env' in it"
            )
    return {name: block or {} for name, block in data.items()}


def dump_config(config: TrainConfig) -> str:
    """The configuration as a YAML file that :func:`load_config` reads."""
    values = asdict(config)
    return yaml.safe_dump({values.pop("env"): values}, sort_keys=False)
