"""What workers of a cluster compare; tests with workers are in ``tests/ray``."""

from __future__ import annotations

import shutil
from pathlib import Path

from agents.cluster import PACKAGES, stamp_of


def test_the_stamp_of_the_code_covers_every_source_file(tmp_path: Path) -> None:
    copies = tuple(tmp_path / package.name for package in PACKAGES)
    for package, copy in zip(PACKAGES, copies, strict=True):
        shutil.copytree(package, copy, ignore=lambda folder, names: {"__pycache__", "weights"} & {*names})
    before = stamp_of(copies)
    assert before == stamp_of(PACKAGES)
    files = [path for copy in copies for path in copy.rglob("*.py")]
    assert {path.relative_to(tmp_path).as_posix() for path in files} > {
        "agents/solve.py", "solitaire_env/variants.py", "solitaire_env/core/rules/step.py",
    }  # fmt: skip
    for path in files:
        text = path.read_bytes()
        path.write_bytes(text + b"# edited\n")
        stamp_of.cache_clear()
        assert stamp_of(copies) != before, path
        path.write_bytes(text)
    files[0].rename(files[0].with_name("renamed.py"))
    stamp_of.cache_clear()
    assert stamp_of(copies) != before
