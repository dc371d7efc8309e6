"""Training configurations: valid files are read, invalid ones are refused in one helpful line."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from agents.config import TrainConfig, make_config
from agents.reports.stored import read_abouts
from agents.runs.config_files import dump_config, load_config
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
    assert path.stem in ("default", config.name)
    assert load_config(written(tmp_path, dump_config(config))) == config


def test_each_trained_game_has_a_configuration_file() -> None:
    names = {load_config(path).name for path in CONFIGS}
    assert names == {*THE_FIVE, "freecell", "klondike-draw-3", "family"}


BLOCKS = """
default: {width: 32, minutes: 1}
Solitaire/BusyAces-v0: {width: 48, moves: supermove}
eights-down:
"""


def test_the_block_of_an_env_overrides_the_default(tmp_path: Path) -> None:
    path = written(tmp_path, BLOCKS)
    for env, width, moves in (
        ("busy-aces", 48, "supermove"),
        ("Solitaire/BusyAces-v0", 48, "supermove"),
        ("solitaire_env:Solitaire/BusyAces-v0", 48, "supermove"),
        ("Eight Off", 32, None),
        ("forty-thieves", 32, None),
    ):
        config = load_config(path, env)
        assert (config.width, config.moves, config.minutes, config.cards_per_pile) == (width, moves, 1.0, 8)
        assert config.env == env


def test_values_are_converted(tmp_path: Path) -> None:
    text = "busy-aces: {learning_rate: 6e-4, minutes: null, total_steps: '4096', hidden: [], build: any suit}"
    config = load_config(written(tmp_path, text))
    assert (config.learning_rate, config.minutes, config.total_steps, config.hidden) == (6e-4, None, 4096, [])
    assert config.variant == get_variant("busy-aces").with_rules(build="any suit")


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"network": "mlp", "observation": "features", "hidden": [3, 4]},
        {"env": "eights-down", "minutes": None, "total_steps": 7, "stall_limit": None, "seed": 2**32 - 1},
        {"safe_autoplay": True},
    ],
)
def test_a_dumped_configuration_loads_unchanged(values: dict[str, Any], tmp_path: Path) -> None:
    config = make_config(values, "test")
    assert load_config(written(tmp_path, dump_config(config))) == config


def test_stored_configurations_are_read() -> None:
    for path in ROOT.glob("solitaire_env/policies/weights/**/config.yaml"):
        load_config(path)
    for about in read_abouts("ablations").values():
        [(env, values)] = (about.config or {}).items()
        make_config({"env": env, **values}, "stored")


def test_network_sizes_depend_on_the_network() -> None:
    assert TrainConfig().network_sizes == {"hidden": [64, 32], "width": 64, "dig_out": 2}
    more = TrainConfig(relaxed_reachability=3).network_sizes
    assert more == {"hidden": [64, 32], "width": 64, "dig_out": 2, "relaxed_reachability": 3}
    piles = TrainConfig(network="piles").network_sizes
    assert piles == {"width": 64, "embedding": 16, "cards_per_pile": 8, "context_rounds": 2}
    assert TrainConfig(network="mlp", hidden=[5]).network_sizes == {"hidden": [5]}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        # Not a configuration.
        ("", ["'default:'", "each env id"]),
        ("7", ["'default:'"]),
        ("- busy-aces", ["'default:'"]),
        ("busy-aces: 3", ["'default:'"]),
        ("busy-aces: {", ["not YAML", "line 1"]),
        ("\tbusy-aces: {}", ["not YAML"]),
        ("[" * 5000, ["not YAML"]),
        (b"\xff\xfe\x00", ["not YAML"]),
        ("busy-aces: !!python/object/apply:os.getcwd []", ["not YAML", "os.getcwd"]),
        ("busy-aces: {width: " + "9" * 5000 + "}", ["not YAML"]),
        ("busy-aces: !!int", ["not YAML"]),
        ("busy-aces: " + "[" * 11 + "]" * 11, ["not YAML", "brackets in brackets, more than 10", "line 1"]),
        ("#" * 20_001, ["20001 characters, at most 20000"]),
        # A key that occurs twice.
        ("busy-aces:\n  width: 8\n  cards_per_pile: 4\n  width: 16", ["key 'width' occurs twice", "line 4"]),
        ("busy-aces: {width: 8}\nbusy-aces: {cards_per_pile: 4}", ["key 'busy-aces' occurs twice", "line 2"]),
        ("busy-aces: {<<: {width: 8}}", ["a merge key (<<), allowed: the keys themselves", "line 1"]),
        ("busy-aces: &a {hidden: *a}", ["an alias (*name), allowed: the value itself", "line 1"]),
        ("busy-aces: {hidden: [{a: 1, a: 2}]}", ["key 'a' occurs twice", "line 1"]),
        ("busy-aces: {width: 8}\nSolitaire/BusyAces-v0: {cards_per_pile: 4}", ["2 env blocks"]),
        # Blocks.
        ("default: {width: 32}", ["0 env blocks", "--env"]),
        (BLOCKS, ["2 env blocks", "--env", "Solitaire/BusyAces-v0, eights-down"]),
        ("Solitaire/BusyAce-v0: {}", ["'Solitaire/BusyAce-v0'", "Solitaire/BusyAces-v0"]),
        ("busy-ace: {}", ["'busy-ace'", "busy-aces"]),
        ("7: {}", ["block 7", "'default'"]),
        ("null: {}", ["block None", "'default'"]),
        ("busy-aces: {env: eights-down}", ["'busy-aces'", "'default'"]),
        # Keys and types.
        ("busy-aces: {widht: 64}", ["'widht'", "width"]),
        ("default: {widht: 64}\nbusy-aces:", ["'widht'", "width"]),
        ("busy-aces: {7: 64}", ["7"]),
        ("busy-aces: {width: many}", ["width is 'many'", "integer"]),
        ("busy-aces: {width: 1.5}", ["width is 1.5", "integer"]),
        ("busy-aces: {width: yes}", ["width is True", "number"]),
        ("busy-aces: {width: null}", ["width is None", "integer"]),
        ("busy-aces: {width: {a: 1}}", ["width is {'a': 1}", "integer"]),
        ("busy-aces: {gamma: high}", ["gamma is 'high'", "number"]),
        ("busy-aces: {learning_rate: .nan}", ["learning_rate is nan", "finite"]),
        ("busy-aces: {minutes: .inf}", ["minutes is inf", "finite"]),
        ("busy-aces: {hidden: 64}", ["hidden is 64", "list"]),
        ("busy-aces: {hidden: [64, big]}", ["hidden.1 is 'big'", "integer"]),
        ("busy-aces: {eval_deals: 5}", ["eval_deals is 5", "string"]),
        (
            "busy-aces: {moves: " + "fly" * 300 + "}",
            ["moves is 'flyfly", "'one card', 'supermove', 'sequence' or 'any group'"],
        ),
        ("busy-aces: {spaces: aces}", ["spaces is 'aces'", "'any', 'kings', 'none' or 'base - 1'"]),
        ("busy-aces: {reward: money}", ["reward is 'money'", "'progress'"]),
        # Values.
        ("busy-aces: {num_envs: 0}", ["num_envs is 0", "1 to 1,048,576"]),
        *(
            (f"busy-aces: {{{key}: {value}}}", [f"{key} is {value}", allowed])
            for key, value, allowed in (
                ("num_envs", 10**12, "1 to 1,048,576"),
                ("n_steps", 10**12, "1 to 1,048,576"),
                ("width", 10**9, "2 to 16,384"),
                ("embedding", 10**9, "1 to 16,384"),
                ("hidden", [64, 10**9], "1 to 16,384"),
                ("hidden", [8] * 17, "at most 16"),
                ("context_rounds", 10**6, "1 to 100"),
                ("dig_out", 10**6, "1 to 100"),
                ("num_playouts", 10**6, "1 to 4,096"),
                ("threads", 10**6, "0 to 1,024"),
                ("temperature", 1e9, "below 1,000,000"),
            )
        ),
        ("busy-aces: {num_envs: 65536, n_steps: 2048}", ["num_envs x n_steps is 134,217,728", "67,108,864"]),
        ("busy-aces: {batch_size: 1}", ["batch_size is 1", "at least 2"]),
        ("busy-aces: {width: 1}", ["width is 1", "2 to 16,384"]),
        ("busy-aces: {hidden: [64, 0]}", ["hidden is [64, 0]", "sizes of 1 to"]),
        ("busy-aces: {minutes: -1}", ["minutes is -1", "more than 0", "null"]),
        ("busy-aces: {seed: -1}", ["seed is -1", "at least 0"]),
        ("busy-aces: {seed: 4294967296}", ["seed is 4294967296", "below"]),
        ("busy-aces: {width: 9223372036854775808}", ["width is 9223372036854775808", "below 2**63"]),
        ("busy-aces: {hidden: [0x" + "f" * 5000 + "]}", ["hidden is [a number of 20000 bits]", "2**63"]),
        ("busy-aces: {device: 'cuda:\u0661'}", ["device is", "cuda:0"]),
        ("busy-aces: {gamma: 1.5}", ["gamma is 1.5", "at most 1"]),
        ("busy-aces: {device: abacus}", ["device is 'abacus'", "cpu"]),
        ("busy-aces: {wandb: ''}", ["wandb is ''", "null", "128"]),
        ("busy-aces: {wandb: 'team/project'}", ["wandb is 'team/project'", "without /"]),
        ("busy-aces: {eval_deals: all}", ["'all'", "FIRST:END"]),
        # Contradictions.
        ("busy-aces: {minutes: null}", ["minutes and total_steps", "at least one"]),
        ("busy-aces: {network: piles, observation: features}", ["'piles'", "'cards'", "'mlp'"]),
        ("busy-aces: {observation: features}", ["'moves'", "'cards'", "'mlp'"]),
        (
            "busy-aces: {network: piles, init_linear_temperature: 1}",
            ["init_linear_temperature", "1.0", "'piles'", "'moves'"],
        ),
        ("busy-aces: {safe_autoplay: 1}", ["safe_autoplay is 1", "true and false"]),
        ("busy-aces: {width: true}", ["width is True", "a number or text"]),
        ("busy-aces: {safe_autoplay: true, build: any suit}", ["safe_autoplay", "'any suit'", "'same suit'"]),
        (
            "busy-aces: {safe_autoplay: true, network: mlp, observation: features}",
            ["safe_autoplay", "'features'", "'cards'"],
        ),
        ("busy-aces: {init_linear_temperature: 0}", ["init_linear_temperature", "0.0", "above 0"]),
        ("busy-aces: {init_from: 'runs/a,,runs/b'}", ["init_from is 'runs/a,,runs/b'", "commas"]),
        ("busy-aces: {init_from: ''}", ["init_from is ''", "a folder"]),
        ("busy-aces: {value_warmup_steps: -1}", ["value_warmup_steps", "-1", "at least 0"]),
        ("busy-aces: {rollout_lookahead: -1}", ["rollout_lookahead is -1", "0 to 1,000"]),
        ("busy-aces: {rollout_lookahead: 1001}", ["rollout_lookahead is 1001", "0 to 1,000"]),
        (
            "busy-aces: {rollout_lookahead: 2, build: any suit}",
            ["rollout_lookahead is 2", "'any suit'", "allowed: 0"],
        ),
        ("busy-aces: {relaxed_reachability: -1}", ["relaxed_reachability is -1", "0 to 100"]),
        ("busy-aces: {relaxed_reachability: 101}", ["relaxed_reachability is 101", "0 to 100"]),
        (
            "busy-aces: {learner: maskable-ppo, num_envs: 3, n_steps: 3, batch_size: 4}",
            ["is 9", "batch_size 4", "one step"],
        ),
    ],
    ids=lambda value: str(value)[:50] if not isinstance(value, list) else "",
)
def test_invalid_configurations_are_refused(
    text: str | bytes, words: list[str], tmp_path: Path, refuses: Refuses
) -> None:
    path = written(tmp_path, text)
    refuses(lambda: load_config(path), str(path), *words)


@pytest.mark.parametrize("value", ["[*{0}, *{0}]", "{{<<: [*{0}, *{0}]}}", "{{x: *{0}, y: *{0}}}"])
def test_values_that_grow_with_each_line_are_refused(value: str, tmp_path: Path, refuses: Refuses) -> None:
    """Without aliases and merge keys a file cannot be much larger in memory than on disk."""
    lines = "".join(f"{b}: &{b} {value.format(a)}\n" for a, b in pairwise("abcdefghijklmnopqrstuvwxyz"))
    path = written(tmp_path, f"a: &a {{width: 8}}\n{lines}")
    refuses(lambda: load_config(path), str(path), "an alias (*name), allowed: the value itself", "line 2")


def test_two_blocks_for_a_game_are_refused(tmp_path: Path, refuses: Refuses) -> None:
    path = written(tmp_path, "busy-aces: {width: 8}\nSolitaire/BusyAces-v0: {cards_per_pile: 4}")
    refuses(
        lambda: load_config(path, "busy-aces"), str(path), "['busy-aces', 'Solitaire/BusyAces-v0']", "one"
    )


def test_a_file_without_a_block_for_the_env_is_refused(tmp_path: Path, refuses: Refuses) -> None:
    """Otherwise all of its values would be ignored, and the defaults used."""
    path = written(tmp_path, "Solitaire/EightsDown-v0: {learner: pqn}")
    words = str(path), "'busy-aces'", "no 'default:'", "Solitaire/EightsDown-v0"
    refuses(lambda: load_config(path, "busy-aces"), *words)


def test_unreadable_files_are_refused(tmp_path: Path, refuses: Refuses) -> None:
    refuses(lambda: load_config(tmp_path / "none.yaml"), "none.yaml", "cannot be read")
    refuses(lambda: load_config(tmp_path), str(tmp_path), "cannot be read")
    refuses(lambda: load_config(CONFIGS[0], "busy-ace"), str(CONFIGS[0]), "'busy-ace'", "busy-aces")
