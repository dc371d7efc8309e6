"""All input is accepted as valid or refused with a message: a short run of the fuzzer."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from solitaire_env import evaluation, notation
from solitaire_env.core import layout
from solitaire_env.core import position as core_position
from solitaire_env.evaluation import result_files
from tests.fuzz import TARGETS, Finding, Target, try_cases
from tests.games import COMPILED

CASES = 50 if COMPILED else 20


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_inputs_are_read_or_refused(target: Target) -> None:
    try_cases(target, CASES)


def careless(line: str) -> evaluation.Game:
    return evaluation.Game(**json.loads(line))


@pytest.mark.parametrize(
    ("target", "where", "name", "defect", "words"),
    [
        ("position", notation, "position_faults", lambda position: [], "faults: expected"),
        ("position", notation, "parse_card", {}.__getitem__, "KeyError"),
        ("action", layout, "shown", repr, "a message of"),
        ("state", core_position, "position_faults", lambda position: [], "faults of the state"),
        ("results", result_files, "_read_game", careless, "--target results"),
    ],
)
def test_a_defect_is_found(
    target: str,
    where: Any,
    name: str,
    defect: Callable[..., Any],
    words: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(where, name, defect)
    with pytest.raises(Finding, match=words):
        try_cases({target.name: target for target in TARGETS}[target], CASES)
