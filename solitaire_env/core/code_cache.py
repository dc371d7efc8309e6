"""The files that keep compiled code between runs: which sources they are valid for, and where they are.

Numba's own cache watches only the file that holds a function, fails where it may not write, and fails for
ever on a damaged file. Here:

- The stamp of a function covers every source file whose code or constants can be compiled into it.
- There is no index. A file holds one compiled function for one signature. Its name has the stamp and a hash
  of the key (signature, processor, settings); its first bytes prove that it is whole and belongs to both.
- Of several processes that need the same function at the same time, one compiles it and the others wait. If
  they cannot wait, they compile it too and write the same file.
- A file that cannot be read is a miss. A file that cannot be written costs the time to compile again.
"""

import contextlib
import hashlib
import os
import stat
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

from solitaire_env.util.messages import say

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

Built = TypeVar("Built")

_CORE: Final = Path(os.path.abspath(__file__)).parent
_DIGEST_SIZE: Final = hashlib.sha256().digest_size
PATIENCE: Final = 120.0
"""Seconds for which a process waits for another that compiles the same function."""


# ---------------------------------------------------------------------------------------- sources


_edited: Final[set[str]] = set()
"""Files that were imported after an edit that no stamp knows."""


def stamp_of(file: str) -> str | None:
    """A hash of all source files that can be compiled into the functions of a file that is being imported.

    These are the files of all folders of ``solitaire_env`` that hold compiled code, because kernels take
    constants from files beside them; and those of the file's own top-level package, or of its folder if it is
    in no package.

    Returns
    -------
    str or None
        None if the functions must not be kept: their source is in no file, or it was edited after the stamp
        was made (a long process imports a file late, a notebook reloads one). What is imported after that may
        be a mixture of old and new code, which belongs to no stamp.
    """
    try:
        status = os.stat(file)
        now = _digest(file, status.st_mtime_ns, status.st_size)
    except OSError:
        return None
    folder, in_package = _top(os.path.dirname(file))
    if now != _digests(folder, in_package).get(file):
        _edited.add(file)
    return None if _edited else _stamp(folder, in_package)


def stamp_of_package(folder: Path) -> str:
    """A hash of the source files, as they were at first, of all folders of ``solitaire_env`` and of another
    package that hold compiled code.
    """
    return _stamp(folder, True)


@cache
def _top(folder: str) -> tuple[Path, bool]:
    """The folder of the top-level package around a folder, or the folder itself; and whether there is one."""
    top = Path(folder)
    in_package = (top / "__init__.py").is_file()
    while in_package and (top.parent / "__init__.py").is_file():
        top = top.parent
    return top, in_package


@cache
def _digest(file: str, mtime: int, size: int) -> bytes:
    """The hash of a file; its times and size are arguments so that an edited file is read again."""
    return hashlib.sha256(Path(file).read_bytes()).digest()


@cache
def _digests(folder: Path, whole_tree: bool) -> dict[str, bytes]:
    """The hashes of the files, as they were at first, in those folders of a tree that hold compiled code."""
    texts = {}
    for path in sorted(folder.rglob("*.py") if whole_tree else folder.glob("*.py")):
        # An editor's lock file, for example, cannot be read; it is not imported either.
        with contextlib.suppress(OSError):
            texts[path] = path.read_bytes()
    # The name of every decorator of the gate has "jit" in it. Files beside kernels may hold their constants.
    folders = {_CORE} | {path.parent for path, text in texts.items() if b"jit" in text}
    return {
        str(path): hashlib.sha256(text).digest() for path, text in texts.items() if path.parent in folders
    }


@cache
def _stamp(folder: Path, whole_tree: bool) -> str:
    digests = {**_digests(_CORE.parent, True), **_digests(folder, whole_tree)}
    return hashlib.sha256(b"".join(digests.values())).hexdigest()[:16]


# ---------------------------------------------------------------------------------------- folders


class Folder(NamedTuple):
    """A folder that may keep compiled code."""

    path: Path
    own: Path | None
    """The folder around it that must be the user's own, if any."""

    def prepare(self) -> None:
        """Make the folder if it is not there.

        Raises
        ------
        OSError
            If that is not possible, or if others could put files there: what is read from it is executed.
        """
        if self.own is not None:
            _make_private(self.own)
        self.path.mkdir(parents=True, exist_ok=True)


class Folders:
    """The folders that may keep the compiled code of one source folder; the last of ``tried`` is written to.

    Parameters
    ----------
    source
        The folder of the source files.
    chosen
        The folder that the user chose for all compiled code, or ``""``.
    """

    _reported = False

    def __init__(self, source: Path, chosen: str) -> None:
        self.tried: list[Folder] = []
        """Read in this order: a folder that cannot be written may have been filled by somebody who can."""
        self.writable = False
        self._reason = ""
        self._left = _candidates(source, chosen)
        self.advance()

    def advance(self, error: OSError | None = None) -> None:
        """Take the next folder that can be written; the error says why the last one cannot."""
        self._reason = self._reason or _reason(error)
        self.writable = False
        for folder in self._left:
            self.tried.append(folder)
            try:
                folder.prepare()
                with tempfile.TemporaryFile(dir=folder.path) as file:
                    file.write(b"probe")
            except OSError as fault:
                self._reason = self._reason or _reason(fault)
            else:
                self.writable = True
                return

    def report(self) -> None:
        """Say once per process that another folder than the first is written to, or none."""
        if self._reason and not Folders._reported:
            Folders._reported = True
            where = f"is kept in {self.tried[-1].path}" if self.writable else "is not kept"
            say(
                f"solitaire-env: compiled code {where}: cannot write to {self.tried[0].path} ({self._reason})"
            )


def _reason(error: OSError | None) -> str:
    return "" if error is None else error.strerror or str(error) or type(error).__name__


folders_of: Final = cache(Folders)


def _candidates(source: Path, chosen: str) -> Iterator[Folder]:
    """Folders for the compiled code of a source folder, the best first."""
    # Folders that keep the code of several source folders need a part for each.
    part = f"{source.name}_{hashlib.sha256(str(source).encode()).hexdigest()[:16]}"
    if chosen:
        yield Folder(Path(chosen, part), None)
    yield Folder(source / "__pycache__", None)
    for own in (_user_cache_folder(), _temporary_folder()):
        if own is not None:
            yield Folder(own / part, own)


def _user_cache_folder() -> Path | None:
    """Where the platform wants a user's caches."""
    try:
        if sys.platform == "win32":
            base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
        elif sys.platform == "darwin":
            base = Path.home() / "Library" / "Caches"
        else:
            base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:  # there is no home
        return None
    return base / "solitaire-env" if base.is_absolute() else None


def _temporary_folder() -> Path | None:
    """A folder that this user's processes share; its name says whose, for no two users can share one."""
    try:
        base = tempfile.gettempdir()
    except OSError:
        return None
    return Path(base, f"solitaire-env-{os.getuid()}" if hasattr(os, "getuid") else "solitaire-env")


def _make_private(folder: Path) -> None:
    """Make a folder of the user's own, or check that it is; an OSError if it is not."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)
    if not hasattr(os, "getuid"):  # Windows: these folders are in the user's profile
        return
    status = folder.lstat()  # of a link itself: it could be turned to another folder after the check
    if not stat.S_ISDIR(status.st_mode):
        raise PermissionError(f"{folder} is not a folder")
    if status.st_uid != os.getuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise PermissionError(f"others can write to {folder}")
    around = folder.parent.stat().st_mode
    if around & stat.S_IWOTH and not around & stat.S_ISVTX:
        raise PermissionError(f"others can replace {folder}")


# ------------------------------------------------------------------------------------------ files


class CodeFiles:
    """The files that keep one function, compiled for several signatures.

    Parameters
    ----------
    file
        The source file.
    stamp
        What :func:`stamp_of` says of it.
    name
        The function's qualified name.
    chosen
        The folder that the user chose for all compiled code, or ``""``.
    """

    def __init__(self, file: str, stamp: str, name: str, chosen: str) -> None:
        self._stamp = stamp
        self._source = Path(file).parent
        self._chosen = chosen
        # A local function's name has "<locals>" in it, which Windows does not allow.
        plain = "".join(letter for letter in f"{Path(file).stem}.{name}" if letter not in "<>")
        self._prefix = f"{plain}.{sys.implementation.cache_tag}."

    @property
    def folders(self) -> Folders:
        """Where the files are; found out with the first use, because it writes to the disk."""
        return folders_of(self._source, self._chosen)

    def load(self, key: str, build: Callable[[bytes], Built]) -> Built | None:
        """What ``build`` makes of the content kept for a key; None if there is none or it is damaged."""
        name = self._file_name(key)
        for folder in self.folders.tried:
            try:
                folder.prepare()
                data = (folder.path / name).read_bytes()
            except OSError:
                continue
            digest, content = data[:_DIGEST_SIZE], data[_DIGEST_SIZE:]
            if digest != self._proof(key, content):
                continue
            try:
                return build(content)
            except Exception:  # whatever is wrong with a file, compiling again puts it right
                continue
        return None

    def save(self, key: str, content: bytes) -> None:
        """Keep the content for a key, in the first folder that takes it."""
        folders = self.folders
        while folders.writable:
            folder = folders.tried[-1]
            try:
                folder.prepare()  # somebody may have removed it since
                _write_whole(folder.path / self._file_name(key), self._proof(key, content) + content)
            except OSError as error:
                folders.advance(error)
            else:
                self._remove_old(folder.path)
                break
        folders.report()

    def claim(self, key: str) -> "Claim | None":
        """Be the only process that compiles the content for a key; waits while another one does.

        None if no process can wait for another here.
        """
        folders = self.folders
        if fcntl is None or not folders.writable:
            return None
        try:
            folders.tried[-1].prepare()
            return Claim(folders.tried[-1].path / f"{self._file_name(key)}.lock")
        except OSError:
            return None

    def _file_name(self, key: str) -> str:
        digest = hashlib.sha256(key.encode()).hexdigest()[:16]
        return f"{self._prefix}{self._stamp}.{digest}.nbc"

    def _proof(self, key: str, content: bytes) -> bytes:
        """The first bytes of a file: of this content, these sources and this key, and no other."""
        return hashlib.sha256(b"\0".join((self._stamp.encode(), key.encode(), content))).digest()

    def _remove_old(self, folder: Path) -> None:
        """Remove what was compiled from other sources: no later run asks for it."""
        current = f"{self._prefix}{self._stamp}."
        with contextlib.suppress(OSError):  # another process was faster, or, on Windows, reads one
            for name in os.listdir(folder):
                if name.startswith(self._prefix) and name.endswith(".nbc") and not name.startswith(current):
                    os.unlink(folder / name)


class Claim:
    """A lock between processes, by a file that is locked. It ends with the process.

    Parameters
    ----------
    path
        The file, which is made.

    Raises
    ------
    OSError
        If the file cannot be locked, or another process keeps the lock for longer than :data:`PATIENCE`.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("ab")
        try:
            self._lock()
        except BaseException:
            self._file.close()
            raise

    def _lock(self) -> None:
        assert fcntl is not None
        until = time.monotonic() + PATIENCE
        while True:
            try:
                fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                if time.monotonic() >= until:
                    raise
            time.sleep(0.05)

    def release(self) -> None:
        """Give the lock back. Who waits for it gets it, though the file is removed."""
        with contextlib.suppress(OSError):
            self._path.unlink()
        self._file.close()


def _write_whole(path: Path, data: bytes) -> None:
    """Write a file whole or not at all; several processes may write the same one at the same time."""
    part = path.with_name(f"{path.name}.{uuid.uuid4().hex[:8]}")
    try:
        with open(part, "xb") as file:
            file.write(data)
        os.replace(part, path)
    except PermissionError:
        # Windows does not replace a file that another process reads: that one has the same content.
        if sys.platform != "win32" or not path.exists():
            raise
    finally:
        part.unlink(missing_ok=True)
