"""Training configurations: valid files are read, invalid ones are refused in one helpful line."""

from itertools import pairwise
from pathlib import Path

import pytest

from agents.commands.options import parse_options
from agents.config import OLD_KEYS, TrainConfig, make_config
from agents.results.stored import read_abouts
from agents.runs.config_files import dump_config, load_config
from agents.train import Arguments
from solitaire_env.variants import get_variant
from tests.conftest import Refuses
from tests.games import THE_FIVE

ROOT = Path(__file__).parents[2]
CONFIGS = sorted((ROOT / "configs").glob("*.yaml"))


def written(tmp_path: Path, text: str | bytes) -> Path:
    path = tmp_path / "config.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.name)
def test_every_configuration_file_loads(path: Path, tmp_path: Path) -> None:
    config = load_config(path)
    assert path.stem in ("default", "tiny", config.name)
    assert load_config(written(tmp_path, dump_config(config))) == config


def test_each_trained_game_has_a_configuration_file() -> None:
    names = {load_config(path).name for path in CONFIGS}
    assert names == {*THE_FIVE, "freecell", "klondike", "klondike-draw-3", "family", "tiny-klondike"}


def test_values_are_converted(tmp_path: Path) -> None:
    text = "busy-aces: {learning_rate: 6e-4, minutes: null, total_steps: '4096', hidden: [], build: any suit}"
    config = load_config(written(tmp_path, text))
    assert (config.learning_rate, config.minutes, config.total_steps, config.hidden) == (6e-4, None, 4096, [])
    assert config.variant == get_variant("busy-aces").with_rules(build="any suit")


def test_keys_are_read_by_their_earlier_names_too(tmp_path: Path, refuses: Refuses) -> None:
    assert {*OLD_KEYS.values()} <= {*TrainConfig.__dataclass_fields__}
    for old, new in OLD_KEYS.items():
        config = load_config(written(tmp_path, f"busy-aces: {{{old}: '7:9'}}"))
        assert getattr(config, new) == "7:9" and old not in dump_config(config)
        both = written(tmp_path, f"busy-aces: {{{old}: '7:9', {new}: '8:9'}}")
        refuses(lambda path=both: load_config(path), f"unknown key '{old}'", new)


def test_stored_configurations_load() -> None:
    for path in ROOT.glob("solitaire_env/policies/weights/**/config.yaml"):
        load_config(path)
    for about in read_abouts("ablations").values():
        [(env, values)] = (about.config or {}).items()
        make_config({"env": env, **values}, "stored")


def test_network_sizes_depend_on_the_network() -> None:
    assert TrainConfig().network_sizes == {"hidden": [64, 32], "width": 64, "dig_out": 2}
    more = TrainConfig(relaxed_reachability=3).network_sizes
    assert more == {"hidden": [64, 32], "width": 64, "dig_out": 2, "relaxed_reachability": 3}
    assert TrainConfig(network="mlp", hidden=[5]).network_sizes == {"hidden": [5]}


def nested(level: str) -> str:
    """A text whose value doubles with each line, if aliases are read."""
    names = "abcdefghijklmnopqrstuvwxy"
    lines = [f"  {name}: &{name} {level % (before, before, name)}" for before, name in pairwise(names)]
    return "\n".join(["busy-aces:", "  a: &a {x: 1}", *lines])


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("total_steps: 1e6", 1_000_000),
        ("total_steps: 12.0E+2", 1200),
        ("total_steps: 010", 10),
        ("total_steps: 0o17", 15),
        ("total_steps: 0x1F", 31),
        ("total_steps: ~", None),
        ("total_steps: ", None),
        ("learning_rate: 6e-4", 6e-4),
        ("learning_rate: .5", 0.5),
        ("minutes: !!float 7", 7.0),
        ("seed: !!int 010", 10),
        ("eval_deals: 10:50", "10:50"),
        ("wandb: no", "no"),
        ("wandb: 2001-01-01", "2001-01-01"),
        ("wandb: 1_000", "1_000"),
        ("wandb: '1e6'", "1e6"),
        ("wandb: '0o17'", "0o17"),
        ("safe_autoplay: TRUE", True),
    ],
)
def test_values_are_those_of_yaml_1_2(text: str, value: object, tmp_path: Path) -> None:
    key = text.partition(":")[0]
    config = load_config(written(tmp_path, f"busy-aces:\n  {text}\n"))
    assert getattr(config, key) == value and type(getattr(config, key)) is type(value)
    assert load_config(written(tmp_path, dump_config(config))) == config


NUMBERS = [
    name
    for name, about in TrainConfig.__dataclass_fields__.items()
    if isinstance(about.default, int | float) and about.type is not bool
]


@pytest.mark.parametrize("key", [*NUMBERS, "total_steps", "init_linear_temperature", "hidden"])
@pytest.mark.parametrize("text", ["true", "False", "yes", "1:30", "0b1"])
def test_numbers_are_written_as_numbers(key: str, text: str, tmp_path: Path, refuses: Refuses) -> None:
    path = written(tmp_path, f"busy-aces: {{{key}: {f'[{text}]' if key == 'hidden' else text}}}")
    refuses(lambda: load_config(path), f"{path}: {key}", text.title() if text in ("true", "False") else text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        # Not a configuration.
        ("", ["not a configuration", "an env id"]),
        ("busy-aces: {}\neights-down: {}", ["not a configuration"]),
        ("busy-aces: {env: eights-down}", ["not a configuration", "'env'"]),
        ("busy-aces: {", ["cannot be read as YAML", "line 1"]),
        (b"\xff\xfe\x00", ["cannot be read as YAML"]),
        # Short texts of huge values, with and without a merge key.
        ("a: &a [0]\nbusy-aces: {hidden: *a}", ["line 2", "alias 'a'"]),
        ("busy-aces: {wandb: &a x, init_from: *a}", ["line 1", "alias 'a'"]),
        (nested("{<<: [*%s, *%s], %s: 1}"), ["line 3", "alias 'a'"]),
        (nested("[*%s, *%s, %s]"), ["line 3", "alias 'a'"]),
        ("busy-aces: {<<: {width: 8}}", ["unknown key '<<'"]),
        # Keys.
        ("busy-aces:\n  minutes: 1\n  seed: 2\n  minutes: 3", ["line 4", "'minutes' is given twice"]),
        ("busy-aces: {}\nbusy-aces: {}", ["line 2", "'busy-aces' is given twice"]),
        ("busy-aces: {[minutes]: 1}", ["line 1", "key ['minutes']"]),
        ("busy-aces: !!python/object/apply:os.getcwd []", ["cannot be read as YAML", "os.getcwd"]),
        ("Solitaire/BusyAce-v0: {}", ["'Solitaire/BusyAce-v0'", "Solitaire/BusyAces-v0"]),
        # Keys and types.
        ("busy-aces: {widht: 64}", ["'widht'", "width"]),
        ("busy-aces: {width: many}", ["width is 'many'", "integer"]),
        ("busy-aces: {learning_rate: .nan}", ["learning_rate is nan", "finite"]),
        ("busy-aces: {hidden: [64, big]}", ["hidden.1 is 'big'", "integer"]),
        ("busy-aces: {moves: " + "fly" * 300 + "}", ["moves is 'flyfly", "'one card', 'supermove'"]),
        # Values.
        ("busy-aces: {num_envs: 0}", ["num_envs is 0", "greater than or equal to 1"]),
        ("busy-aces: {width: 1000000000}", ["width is 1000000000", "less than or equal to 16384"]),
        ("busy-aces: {hidden: [64, 0]}", ["hidden.1 is 0", "greater than or equal to 1"]),
        ("busy-aces: {device: abacus}", ["device is 'abacus'", "cpu"]),
        ("busy-aces: {wandb: 'team/project'}", ["wandb is 'team/project'", "without /"]),
        ("busy-aces: {wandb: [a, b]}", ["wandb is ['a', 'b']", "string"]),
        ("busy-aces: {init_from: 'runs/a,,runs/b'}", ["init_from is 'runs/a,,runs/b'", "commas"]),
        ("busy-aces: {network: wise}", ["network is 'wise'", "'moves', 'mlp', or module:Class"]),
        # Contradictions.
        ("busy-aces: {minutes: null}", ["minutes and total_steps", "at least one"]),
        ("busy-aces: {observation: features}", ["'moves'", "'cards'", "'mlp'"]),
        ("busy-aces: {network: mlp, init_linear_temperature: 1}", ["init_linear_temperature", "'moves'"]),
        ("busy-aces: {learner: pqn, init_linear_temperature: 1}", ["init_linear_temperature", "'pqn'"]),
        ("busy-aces: {init_from: a, init_linear_temperature: 1}", ["init_from is 'a'", "one of them"]),
        ("busy-aces: {safe_autoplay: true, build: any suit}", ["safe_autoplay", "'any suit'", "'same suit'"]),
        ("busy-aces: {rollout_lookahead: 2, build: any suit}", ["rollout_lookahead is 2", "'any suit'"]),
        ("busy-aces: {safe_autoplay: true, network: mlp, observation: features}", ["'features'", "'cards'"]),
        ("busy-aces: {finish_games: true, network: mlp, observation: features}", ["finish_games", "'cards'"]),
        ("busy-aces: {learner: playouts, information: thoughtful}", ["'thoughtful'", "'player'"]),
        ("Solitaire/Family-v0: {network: mlp}", ["network is 'mlp'", "'moves'"]),
        ("Solitaire/Family-v0: {learner: playouts}", ["learner is 'playouts'", "'ppo' or 'pqn'"]),
        ("Solitaire/Family-v0: {moves: sequence}", ["moves is 'sequence'", "null or 'supermove'"]),
        ("Solitaire/Family-v0: {games: [klondike, klondike]}", ["each once"]),
        ("busy-aces: {games: [klondike, yukon]}", ["games is 'klondike,yukon'", "null"]),
    ],
    ids=lambda value: str(value)[:50] if not isinstance(value, list) else "",
)
def test_invalid_configurations_are_refused(
    text: str | bytes, words: list[str], tmp_path: Path, refuses: Refuses
) -> None:
    path = written(tmp_path, text)
    refuses(lambda: load_config(path), str(path), *words)


@pytest.mark.parametrize("option", ["--total-steps", "--hidden", "--stall-limit", "--num-envs"])
def test_whole_numbers_on_the_command_line_may_have_an_exponent(option: str) -> None:
    def read(number: str) -> TrainConfig:
        return parse_options([str(CONFIGS[0]), option, number], Arguments, "train").config

    assert read("1.5e3") == read("1500") != load_config(CONFIGS[0])
    for text in ("1.5", "1e999", "nan", "x"):
        with pytest.raises(SystemExit):
            read(text)
