"""Fuzzing of the text that agents read: configurations, learning curves, deals.

See :mod:`tests.fuzz`, whose script runs these targets too.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from agents.config import ConfigError, TrainConfig
from agents.reports.plots import read_curve
from agents.runs.config_files import dump_config, load_config
from agents.runs.folders import CURVE_COLUMNS
from solitaire_env.evaluation.deals import parse_deals
from solitaire_env.variants import VARIANTS
from tests.fuzz import Target, Texts, as_bytes, expect, folder, try_cases, written

# --------------------------------------------------------------------------------- configurations

CONFIGS = [path.read_text() for path in sorted((Path(__file__).parents[2] / "configs").glob("*.yaml"))]
CONFIG_TEXTS = Texts(
    [
        *CONFIGS,
        dump_config(TrainConfig()),
        dump_config(TrainConfig(env="eights-down", network="mlp", minutes=None, total_steps=7)),
        "default: {width: 32, minutes: 1}\nSolitaire/BusyAces-v0: {width: 48, moves: supermove}\n",
    ],
    [
        *TrainConfig.__dataclass_fields__,
        *[variant.name for variant in VARIANTS],
        *["\n  ", "\n", ": ", "- ", "? ", "|", ">", "!!int", "!!float", "!!set", "!!binary", "!!null"],
        *["&a ", "*a", "<<: *a", "null", "~", "yes", "2001-01-01", "1:30:00", ".nan", ".inf", "0o17", "1e-4"],
        *["[" * 2000, "{a: " * 500, "default:", "supermove", "0:1000", "any suit"],
    ],
)  # fmt: skip


def make_config_file(rng: Random) -> tuple[bytes, str | None]:
    env = rng.choice((None, None, "busy-aces", "eights-down", "busy-ace"))
    return as_bytes(rng, CONFIG_TEXTS.make(rng)), env


def read_config(case: tuple[bytes, str | None]) -> TrainConfig:
    return load_config(written("config.yaml", case[0]), case[1])


def check_config(_: object, config: TrainConfig) -> None:
    again = load_config(written("config.yaml", dump_config(config).encode()))
    expect("configuration, written and read", config, again)


DEALS = Texts(
    ["0:1000", "7", "ms:11982", "0:3,5,pysol:24", "1000:2000, 3"],
    ["0", "7", "1000", "9999999", ":", ",", "ms:", "pysol:", "-"],
)


def check_deals(text: str, deals: list[int | str]) -> None:
    """All deals are different, and each can be parsed alone."""
    assert deals and len(set(deals)) == len(deals)
    some = deals[:1000]
    expect("deals one by one", some, parse_deals(",".join(map(str, some))))


# ----------------------------------------------------------------------------------- learning curves

CURVE_ROWS = ["256,0.1000,0,,,,2600", "512,0.2000,7,0.1429,31.000,80.1,2600", "768,0.3,9,0.2,32.5,81.0,2599"]
CURVES = Texts(
    ["", *("\r\n".join([",".join(CURVE_COLUMNS), *CURVE_ROWS[:count]]) + "\r\n" for count in range(4))],
    [*CURVE_COLUMNS, ",", '"', "\r\n", "\r", "1e5", "x" * 200_000],
)


def make_curve(rng: Random) -> bytes:
    return as_bytes(rng, CURVES.make(rng))


def curve(data: bytes) -> list[dict[str, float]]:
    written("curve.csv", data)
    return read_curve(folder())


def check_curve(_: object, rows: list[dict[str, float]]) -> None:
    assert all(isinstance(key, str) and isinstance(n, float) for row in rows for key, n in row.items())


ERRORS = (ValueError, ConfigError)
TARGETS = (
    Target("config", make_config_file, read_config, check_config, (ConfigError,)),
    Target("deals", DEALS.make, parse_deals, check_deals, ERRORS),
    Target("curve", make_curve, curve, check_curve, ERRORS),
)


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_inputs_are_read_or_refused(target: Target) -> None:
    try_cases(target, 50)
