"""The check of instruction counts: its input and output. Counting needs valgrind: ``make instructions``."""

import json
from pathlib import Path

import pytest

from benchmarks import GAMES, instructions
from benchmarks.instructions import figures_text, main, read_totals, versions

COUNTED = dict.fromkeys(GAMES, 1000.25)
FIGURES = dict.fromkeys(COUNTED, 1000)


def test_the_output_of_callgrind_is_read(tmp_path: Path) -> None:
    """A part for each request; the last part is the end of the program."""
    dumps = {
        "callgrind.out": ("Program termination", 7),
        "callgrind.out.1": ("Client Request: eights-down", 228014554),
        "callgrind.out.2": ("Client Request: busy-aces", 137170714),
    }
    for name, (trigger, total) in dumps.items():
        (tmp_path / name).write_text(
            f"# callgrind format\nversion: 1\ndesc: Trigger: {trigger}\n\nevents: Ir\nfn=(1) f\n"
            f"16 {total}\n\ntotals: {total}\n"
        )
    assert read_totals(tmp_path) == {"eights-down": 228014554, "busy-aces": 137170714}


def test_the_command_writes_and_checks_figures(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No figures, figures written, met, of other versions, a slower engine."""
    monkeypatch.setattr(instructions, "FIGURES", tmp_path / "instructions.json")
    monkeypatch.setattr(instructions, "count", lambda: COUNTED)
    assert main([]) == 1
    assert "has no figure" in capsys.readouterr().err
    assert main(["--update"]) == 0
    assert json.loads((tmp_path / "instructions.json").read_text())["instructions"] == FIGURES
    assert main([]) == 0
    assert "figures are of" not in capsys.readouterr().out
    (tmp_path / "instructions.json").write_text(figures_text(COUNTED, {**versions(), "numba": "0.1"}))
    assert main([]) == 0
    assert "numba 0.1," in capsys.readouterr().out
    monkeypatch.setattr(instructions, "count", lambda: {**COUNTED, "busy-aces": 2000.0})
    assert main([]) == 1
    assert "busy-aces takes 2,000 instructions a step, 100.0% over" in capsys.readouterr().err
    (tmp_path / "instructions.json").write_text("{")
    assert main([]) == 2


def test_the_stored_figures_cover_every_measured_game() -> None:
    """One figure for each."""
    figures = json.loads(instructions.FIGURES.read_text(encoding="utf-8"))
    assert tuple(figures["instructions"]) == GAMES
    assert set(figures["versions"]) == set(versions())
