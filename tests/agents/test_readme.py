"""Examples of the README and the guides that need torch, or are too long for a doctest, run.

Trainings are shortened to one rollout, games to 300 steps.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ["README.md", "docs/how-to/evaluate.md", "docs/how-to/other-libraries.md"]


@pytest.mark.parametrize("page", PAGES)
def test_every_python_block_runs(
    page: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("solitaire_env.evaluation.evaluator.step_limit", lambda _: 300)
    text = (ROOT / page).read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(re.sub(r"\blearn\([\d_]+\)", "learn(1)", block), page, "exec"), names)
    assert blocks and "cards home" in capsys.readouterr().out
