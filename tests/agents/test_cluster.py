"""What workers of a cluster compare; tests with workers are in ``tests/ray``."""

from pathlib import Path

from agents.cluster import stamp_of


def test_the_stamp_of_the_code_covers_every_source_file(tmp_path: Path) -> None:
    (tmp_path / "rules").mkdir()
    seen = set()
    for name, text in (("a.py", "1"), ("a.py", "2"), ("rules/b.py", "1"), ("b.py", "1")):
        (tmp_path / name).write_text(text)
        stamp_of.cache_clear()
        seen.add(stamp_of((tmp_path,)))
    assert len(seen) == 4
