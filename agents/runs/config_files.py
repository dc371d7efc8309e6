"""Configuration files: YAML with an environment id and, below it, the keys that differ from the defaults.

The values are those of YAML 1.2: ``1e6`` is a number, ``10:50`` and ``yes`` are texts.
"""

import re
from collections.abc import Hashable
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import yaml

from agents.config import ConfigError, TrainConfig, make_config
from solitaire_env.registration import import_module_of
from solitaire_env.util.files import read_text
from solitaire_env.util.messages import one_line, shown

TAG: Final = "tag:yaml.org,2002:"
SCALARS: Final = {
    "null": r"~|null|Null|NULL|",
    "bool": r"true|True|TRUE|false|False|FALSE",
    "int": r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+",
    "float": r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
}
"""The core schema of YAML 1.2: what a text without quotes is; any other is a text. PyYAML has YAML 1.1."""


class _Loader(yaml.SafeLoader):
    """Reads YAML 1.2 without aliases, which make a short text a huge value."""

    yaml_implicit_resolvers: dict[str, Any] = {}

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.AliasEvent):
            raise _error(f"alias {shown(event.anchor)}, allowed: values without aliases", event.start_mark)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        values: dict[Hashable, Any] = {}
        for key_node, value_node in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, Hashable):
                raise _error(f"key {shown(key)}, allowed: a text", key_node.start_mark)
            if key in values:
                raise _error(f"key {shown(key)} is given twice, allowed: once", key_node.start_mark)
            values[key] = self.construct_object(value_node, deep=deep)
        return values

    def construct_int(self, node: yaml.ScalarNode) -> int:
        text = str(self.construct_scalar(node))
        return int(text, 0 if text[:2] in ("0o", "0x") else 10)

    def construct_float(self, node: yaml.ScalarNode) -> float:
        text = str(self.construct_scalar(node)).lower()
        return float(text.replace(".inf", "inf").replace(".nan", "nan"))


class _Dumper(yaml.SafeDumper):
    """Puts texts in quotes that YAML 1.1 or 1.2 would read as something else."""


for _name, _pattern in SCALARS.items():
    for _kind in (_Loader, _Dumper):
        _kind.add_implicit_resolver(TAG + _name, re.compile(f"^(?:{_pattern})$"), None)
_Loader.add_constructor(f"{TAG}int", _Loader.construct_int)
_Loader.add_constructor(f"{TAG}float", _Loader.construct_float)


def _error(problem: str, mark: Any) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=mark)


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
        data = yaml.load(read_text(path), _Loader)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror})") from None
    except Exception as error:  # PyYAML raises unexpected types: IndexError for '!!int' without a number
        mark = getattr(error, "problem_mark", None)
        reason = error if mark is None else f"line {mark.line + 1}: {error.problem}"  # type: ignore[attr-defined]
        raise ConfigError(f"{path}: cannot be read as YAML ({one_line(reason)})") from None
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
    return yaml.dump({values.pop("env"): values}, Dumper=_Dumper, sort_keys=False)
