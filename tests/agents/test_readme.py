"""The code and the links of the README work."""

import re
from pathlib import Path

import pytest

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def test_every_link_has_a_target() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (Path(__file__).parents[2] / target).exists(), target


@pytest.mark.training
def test_every_python_block_runs(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(BLOCKS) >= 4
    names: dict[str, object] = {}
    for block in BLOCKS:
        exec(compile(block, "README.md", "exec"), names)
    assert "Forty Thieves" in capsys.readouterr().out
