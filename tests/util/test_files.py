"""JSON files whose errors name the file, locks between processes, and the model folder of a run."""

import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from solitaire_env.util.files import (
    append_lines,
    locked,
    model_folder,
    read_json,
    read_lines,
    write_bytes,
    write_json,
    write_text,
    write_whole,
)
from tests.conftest import Refuses


def test_files_have_the_mode_of_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o002)
    try:
        write_json(tmp_path / "data.json", {})
    finally:
        os.umask(before)
    assert (tmp_path / "data.json").stat().st_mode & 0o777 == 0o664


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "cannot be read"),
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[1]", "contains a list, allowed: an object"),
    ],
    ids=["missing", "cut off", "nested", "a list"],
)
def test_invalid_files_raise_an_error(text: str | None, words: str, tmp_path: Path, refuses: Refuses) -> None:
    path = tmp_path / "data.json"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    refuses(lambda: read_json(path), str(path), words)


def test_a_file_can_be_written_while_it_is_written(tmp_path: Path) -> None:
    """Each writer has a partial file of its own."""
    path = tmp_path / "data.txt"

    def write_both(part: Path) -> None:
        part.write_text("outer")
        write_text(path, "inner")

    write_whole(path, write_both)
    assert path.read_text() == "outer" and list(tmp_path.iterdir()) == [path]


HOLD = """
import sys, time
from pathlib import Path
from solitaire_env.util.files import locked
with locked(Path(sys.argv[1])):
    print("locked", flush=True)
    time.sleep(600)
"""


@pytest.mark.parametrize("is_folder", [False, True], ids=["file", "folder"])
def test_a_lock_excludes_other_processes_until_they_end(is_folder: bool, tmp_path: Path) -> None:
    path = tmp_path / "data"
    if is_folder:
        path.mkdir()
    holder = subprocess.Popen([sys.executable, "-c", HOLD, path], stdout=subprocess.PIPE)
    try:
        assert holder.stdout is not None and holder.stdout.readline().strip() == b"locked"
        with pytest.raises(BlockingIOError, match="data: another process writes to it"), locked(path, 0):
            pass
    finally:
        holder.kill()
        holder.communicate()
    with locked(path, 0), pytest.raises(BlockingIOError), locked(path, 0):
        pass
    assert list(tmp_path.rglob("*")) == [path] * is_folder, "no lock file is left"


def test_no_line_is_lost_if_others_append_and_rewrite(tmp_path: Path) -> None:
    path = tmp_path / "lines.txt"

    def add(writer: int) -> None:
        for number in range(50):
            append_lines(path, [[writer, number]])
            if number % 10 == 0:
                with locked(path):
                    write_text(path, path.read_text())

    with ThreadPoolExecutor() as pool:
        list(pool.map(add, range(4)))
    expected = sorted(f"[{writer}, {number}]" for writer in range(4) for number in range(50))
    assert sorted(path.read_text().splitlines()) == expected and list(tmp_path.iterdir()) == [path]


ROWS = [{"deal": 1, "of": "é"}, {"deal": 2, "won": [True, 52]}, {"deal": 3}]


@pytest.mark.parametrize("damage", [b"", b"\xc3", b"\0\0\0"], ids=["cut", "in a character", "zeros"])
def test_lines_that_a_writer_did_not_finish_harm_no_others(damage: bytes, tmp_path: Path) -> None:
    """A writer may be killed, or find the disk full, after any byte. Only its own rows are lost."""
    path = tmp_path / "rows.jsonl"
    append_lines(path, ROWS[:2])
    data = path.read_bytes()
    for size in range(len(data) + 1):
        path.write_bytes(data[:size] + damage)
        # A line that lacks only its line break is whole.
        whole = ROWS[: (data[:size] + (b"" if damage else b"\n")).count(b"}\n")]
        assert read_lines(path) == whole
        append_lines(path, ROWS[2:])
        assert read_lines(path) == [*whole, ROWS[2]]
        assert path.read_bytes().count(b"\n") == len(whole) + 1


def test_a_line_that_is_no_row_is_refused_by_its_number(tmp_path: Path, refuses: Refuses) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"deal": 1}\n\n{"deal": 2\n{"deal": 3}\n')
    refuses(lambda: read_lines(path), f"{path}, line 3: not JSON")
    path.write_text("1\n2\nx\n")
    refuses(lambda: read_lines(path, int, "a number"), f"{path}, line 3: not a number", "'x'")


def test_rows_are_readable_after_the_disk_was_full(tmp_path: Path, full_disk: Callable[[], None]) -> None:
    path = tmp_path / "rows.jsonl"
    append_lines(path, ROWS)
    resource = pytest.importorskip("resource")
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    full_disk()
    with pytest.raises(OSError, match="cannot be written"):
        append_lines(path, ROWS * 9)
    resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert path.stat().st_size == 100, "a line is cut"
    before = read_lines(path)
    append_lines(path, ROWS[:1])
    assert read_lines(path) == [*before, ROWS[0]] and before[:3] == ROWS


@pytest.mark.parametrize(
    "write",
    [
        lambda path: write_text(path, "x" * 500),
        lambda path: write_bytes(path, b"x" * 500),
        lambda path: write_json(path, ["x"] * 500),
        lambda path: append_lines(path, ["x" * 500]),
    ],
    ids=["text", "bytes", "json", "append"],
)
def test_errors_of_a_full_disk_name_the_file(
    write: Callable[[Path], None], tmp_path: Path, full_disk: Callable[[], None]
) -> None:
    path = tmp_path / "data"
    full_disk()
    with pytest.raises(OSError, match=r"data: cannot be written \(File too large\)$"):
        write(path)
    assert not list(tmp_path.glob("data.*"))


def test_a_run_folder_gives_its_model_folder(tmp_path: Path) -> None:
    assert model_folder(tmp_path) == tmp_path
    (tmp_path / "model").mkdir()
    assert model_folder(tmp_path) == tmp_path / "model"
