"""Text and JSON files, written atomically, and locks between the processes that write them."""

import codecs
import contextlib
import io
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Any, BinaryIO, Final
from uuid import uuid4

from solitaire_env.util.messages import one_line, shown

if sys.platform == "win32":
    import msvcrt

    def _lock(file: int) -> None:
        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _lock(file: int) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


LOCK_TIMEOUT_S: Final = 60.0
"""Seconds to wait for another process that adds to a file or rewrites it, which takes milliseconds."""


@contextlib.contextmanager
def locked(path: Path, timeout_s: float = LOCK_TIMEOUT_S) -> Iterator[None]:
    """Keep other processes that call this from writing to a file or folder meanwhile.

    The system locks a file in the folder, or beside the file, and unlocks it even if this process is killed.
    On a file system without locks there is no protection.

    Raises
    ------
    BlockingIOError
        If another process still has the lock after ``timeout_s`` seconds.
    """
    lock = path / ".lock" if path.is_dir() else path.with_name(f"{path.name}.lock")
    until = time.monotonic() + timeout_s
    while True:
        with naming(path):
            file = _open_locked(lock)
        if file is not None:
            break
        if time.monotonic() >= until:
            raise BlockingIOError(f"{path}: another process writes to it, allowed: one at a time")
        time.sleep(0.002)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):  # Windows does not remove an open file
            lock.unlink()
        os.close(file)


def _open_locked(lock: Path) -> int | None:
    """Create and lock a file; None if another process has locked it."""
    file = os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        _lock(file)
        # The process before removes the file, perhaps after it was opened here.
        if os.path.samestat(os.fstat(file), lock.stat()):
            return file
    except (BlockingIOError, PermissionError, FileNotFoundError):
        pass
    except OSError:  # the file system has no locks
        return file
    os.close(file)
    return None


@contextlib.contextmanager
def naming(path: Path) -> Iterator[None]:
    """Name a file or folder in the system's errors of writing it; a full disk's error has no name."""
    try:
        yield
    except OSError as error:
        if error.strerror is None:  # not the system's
            raise
        raise type(error)(f"{path}: cannot be written ({error.strerror})") from None


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Let ``write`` create a file next to ``path``, then rename it to ``path``."""
    part = path.with_name(f"{path.name}.{uuid4().hex[:8]}.part")  # other processes may write the same file
    with naming(path):
        try:
            write(part)
            os.replace(part, path)
        finally:
            part.unlink(missing_ok=True)


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file atomically."""
    write_whole(path, lambda part: part.write_bytes(data))


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically."""
    write_whole(path, lambda part: part.write_text(text, encoding="utf-8"))


def json_lines(rows: Iterable[Any]) -> str:
    """Rows as JSON, one a line."""
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def append_lines(path: Path, rows: Iterable[Any]) -> None:
    """Append rows to a file of JSON lines that other processes may append to, or rewrite while it is locked.

    A last line that another writer did not finish, as it was killed or the disk was full, is removed.
    """
    text = json_lines(rows)
    with locked(path), naming(path), path.open("a+b") as file:
        _end_last_line(file)
        file.write(text.encode())


def _end_last_line(file: BinaryIO) -> None:
    """End the last line of a file if it lacks only the line break; remove it if it lacks more."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - 1))
    if file.read() in (b"", b"\n"):
        return
    file.seek(0)
    last = file.read().rpartition(b"\n")[2]
    if _is_json(last):
        file.write(b"\n")
    else:
        file.truncate(size - len(last))


def _is_json(text: str | bytes) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def read_lines(path: Path, read: Callable[[str], Any] = json.loads, what: str = "JSON") -> list[Any]:
    """The rows of a file of JSON lines, without empty lines and an unfinished last one.

    Parameters
    ----------
    read
        Reads a line; a ValueError says what is wrong with it.
    what
        What a line should be: ``a game of an evaluation``.

    Raises
    ------
    ValueError
        If the file is not text, or a line is wrong; the message names the file and the line.
    """
    data = path.read_bytes()
    whole_lines = data[: data.rfind(b"\n") + 1]  # the unfinished line may end within a character
    for part in (data, whole_lines):
        with contextlib.suppress(UnicodeDecodeError):
            *lines, last = _decode(part).split("\n")
            whole = [*lines, last] if _is_json(last) else lines
            break
    else:
        raise ValueError(f"{path}: it is not text, allowed: JSON lines")
    rows = []
    for number, line in enumerate(whole, 1):
        if not line.strip():
            continue
        try:
            rows.append(read(line))
        except ValueError as error:
            raise ValueError(f"{path}, line {number}: not {what} ({error})") from None
    return rows


def write_json(path: Path, data: Any) -> None:
    """Write a JSON file atomically."""
    write_text(path, json.dumps(data, indent=2) + "\n")


def read_text(path: Path) -> str:
    """A text file in UTF-8, or in UTF-16 with a byte order mark. The mark is not part of the text."""
    return _decode(path.read_bytes())


def _decode(data: bytes) -> str:
    encoding = "utf-16" if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig"
    return io.TextIOWrapper(io.BytesIO(data), encoding=encoding).read()


def read_given(path: Path, what: str) -> str:
    """A text file that a user names; errors name it, and what it should contain."""
    try:
        return read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise ValueError(f"cannot read {str(path)!r}, {reason}; allowed: a file with {what}") from None


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file; errors name the file."""
    try:
        data = json.loads(read_text(path))
    except OSError as error:
        raise ValueError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: not JSON ({one_line(error)})") from None
    if not isinstance(data, dict):
        raise ValueError(f"{path}: contains a {type(data).__name__}, allowed: an object")
    return data


def model_folder(path: Path) -> Path:
    """The model folder of a run folder; other folders are returned unchanged."""
    inner = path / "model"
    return inner if inner.is_dir() else path


def missing_folder(path: Path) -> str:
    """The error of a policy's folder that does not exist, with those beside it that have a similar name."""
    allowed = "allowed: a run or model folder"
    if path.exists():
        return f"{shown(str(path))} is a file, {allowed}"
    names: list[str] = []
    with contextlib.suppress(OSError):
        names = [other.name for other in path.parent.iterdir() if other.is_dir()]
    close = [one_line(path.parent / name) for name in get_close_matches(path.name, names)]
    nearest = f"; closest: {', '.join(close)}" if close else ""
    return f"folder {shown(str(path))} does not exist, {allowed}{nearest}"
