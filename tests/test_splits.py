"""Deals named in text."""

from __future__ import annotations

import pytest

from solitaire_env.splits import parse_deals
from tests.conftest import Refuses


@pytest.mark.parametrize(
    ("text", "deals"),
    [
        ("7", [7]),
        ("0:3", [0, 1, 2]),
        ("5, 0:2,ms:11982 ,pysol:24", [5, 0, 1, "ms:11982", "pysol:24"]),
    ],
)
def test_deals_are_parsed(text: str, deals: list[int | str]) -> None:
    assert parse_deals(text) == deals


@pytest.mark.parametrize(
    "text",
    ["", "a", "-1", "3:3", "0:", "0:10:2", "ms:", "klondike:4", "1,,2", "\u0661", "9" * 20, "\x1b[7m"],
)
def test_unknown_deals_raise_an_error(text: str, refuses: Refuses) -> None:
    refuses(lambda: parse_deals(text), "unknown deals", "FIRST:END")


def test_too_many_deals_raise_an_error(refuses: Refuses) -> None:
    refuses(lambda: parse_deals("0:99999999999"), "0:99999999999", "1,000,000")
    refuses(lambda: parse_deals("0:9999999999999999999"), "0:9999999999999999999", "1,000,000")
    refuses(lambda: parse_deals("0:600000,600000:1000001"), "600000:1000001", "1,000,000")
    refuses(lambda: parse_deals("0:10,3"), "'0:10,3'", "twice")
