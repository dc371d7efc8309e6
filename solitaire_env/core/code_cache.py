"""Cached files of compiled code: which sources they are valid for, and where they are stored.

Numba's own cache checks only the file of a function, fails if it cannot write, and fails permanently on a
damaged file. Here:

- The stamp of a function covers every source file whose code or constants can be compiled into it.
- There is no index. A file holds one compiled function for one signature. Its name has the stamp and a hash
  of the key (signature, processor, settings); its first bytes prove that it is complete and matches both.
- If several processes need the same function at the same time, one compiles it and the others wait. If they
  cannot wait, they also compile it and write the same file.
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
"""Seconds to wait for another process that compiles the same function."""


# ---------------------------------------------------------------------------------------- sources


_edited: Final[set[str]] = set()
"""Files that were imported after an edit that no stamp includes."""


def stamp_of(file: str) -> str | None:
    """A hash of all source files that can be compiled into the functions of a file that is being imported.

    These are the files of all folders of ``solitaire_env`` with compiled code, because kernels use constants
    of neighboring files; and those of the file's own top-level package, or of its folder if it is in no
    package.

    Returns
    -------
    str or None
        None if the functions must not be kept: their source is in no file, or it was edited after the stamp
        was made (a long process imports a file late, a notebook reloads one). Later imports may mix old and
        new code, which matches no stamp.
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
    package with compiled code.
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
    """The hash of a file; its times and size are arguments, so an edited file is read again."""
    return hashlib.sha256(Path(file).read_bytes()).digest()


@cache
def _digests(folder: Path, whole_tree: bool) -> dict[str, bytes]:
    """The hashes of the files, as they were at first, in the folders of a tree with compiled code."""
    texts = {}
    for path in sorted(folder.rglob("*.py") if whole_tree else folder.glob("*.py")):
        # For example the lock file of an editor; it is not imported either.
        with contextlib.suppress(OSError):
            texts[path] = path.read_bytes()
    # The name of every decorator of the gate contains "jit". Files beside kernels may hold their constants.
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
    """A folder for compiled code."""

    path: Path
    own: Path | None
    """The parent folder that must belong to the user, if any."""

    def prepare(self) -> None:
        """Create the folder if it does not exist.

        Raises
        ------
        OSError
            If that fails, or if others could put files there: files read from it are executed.
        """
        if self.own is not None:
            _make_private(self.own)
        self.path.mkdir(parents=True, exist_ok=True)


class Folders:
    """The folders for the compiled code of one source folder; the last of ``tried`` is used for writing.

    Parameters
    ----------
    source
        The folder of the source files.
    chosen
        The user's folder for all compiled code, or ``""``.
    """

    _reported = False

    def __init__(self, source: Path, chosen: str) -> None:
        self.tried: list[Folder] = []
        """Read in this order: another user may have filled a folder that this one cannot write to."""
        self.writable = False
        self._reason = ""
        self._left = _candidates(source, chosen)
        self.advance()

    def advance(self, error: OSError | None = None) -> None:
        """Take the next writable folder; the error explains why the last one is not writable."""
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
        """Report once per process that another folder than the first is used for writing, or none."""
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
    # Folders for the code of several source folders need a subfolder for each.
    part = f"{source.name}_{hashlib.sha256(str(source).encode()).hexdigest()[:16]}"
    if chosen:
        yield Folder(Path(chosen, part), None)
    yield Folder(source / "__pycache__", None)
    for own in (_user_cache_folder(), _temporary_folder()):
        if own is not None:
            yield Folder(own / part, own)


def _user_cache_folder() -> Path | None:
    """The platform's cache folder of a user."""
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
    """A folder shared by this user's processes; its name contains the user, since users cannot share one."""
    try:
        base = tempfile.gettempdir()
    except OSError:
        return None
    return Path(base, f"solitaire-env-{os.getuid()}" if hasattr(os, "getuid") else "solitaire-env")


def _make_private(folder: Path) -> None:
    """Create a private folder of the user, or check that it is one; an OSError if it is not."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)
    if not hasattr(os, "getuid"):  # Windows: these folders are in the user's profile
        return
    status = folder.lstat()  # of a link itself: its target could change after the check
    if not stat.S_ISDIR(status.st_mode):
        raise PermissionError(f"{folder} is not a folder")
    if status.st_uid != os.getuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise PermissionError(f"others can write to {folder}")
    around = folder.parent.stat().st_mode
    if around & stat.S_IWOTH and not around & stat.S_ISVTX:
        raise PermissionError(f"others can replace {folder}")


# ------------------------------------------------------------------------------------------ files


class CodeFiles:
    """The files with the compiled code of one function, one per signature.

    Parameters
    ----------
    file
        The source file.
    stamp
        The result of :func:`stamp_of`.
    name
        The function's qualified name.
    chosen
        The user's folder for all compiled code, or ``""``.
    """

    def __init__(self, file: str, stamp: str, name: str, chosen: str) -> None:
        self._stamp = stamp
        self._source = Path(file).parent
        self._chosen = chosen
        # The name of a local function contains "<locals>", which Windows does not allow.
        plain = "".join(letter for letter in f"{Path(file).stem}.{name}" if letter not in "<>")
        self._prefix = f"{plain}.{sys.implementation.cache_tag}."

    @property
    def folders(self) -> Folders:
        """The folders of the files; computed on first use, because that writes to the disk."""
        return folders_of(self._source, self._chosen)

    def load(self, key: str, build: Callable[[bytes], Built]) -> Built | None:
        """The result of ``build`` for the content of a key; None if there is none or it is damaged."""
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
            except Exception:  # compiling again repairs any damaged file
                continue
        return None

    def save(self, key: str, content: bytes) -> None:
        """Write the content of a key to the first writable folder."""
        folders = self.folders
        while folders.writable:
            folder = folders.tried[-1]
            try:
                folder.prepare()  # it may have been removed since
                _write_whole(folder.path / self._file_name(key), self._proof(key, content) + content)
            except OSError as error:
                folders.advance(error)
            else:
                self._remove_old(folder.path)
                break
        folders.report()

    def claim(self, key: str) -> "Claim | None":
        """Reserve a key for compiling in this process; waits while another process compiles it.

        Returns None if processes cannot wait for each other here.
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
        """The first bytes of a file, which identify this content, these sources and this key."""
        return hashlib.sha256(b"\0".join((self._stamp.encode(), key.encode(), content))).digest()

    def _remove_old(self, folder: Path) -> None:
        """Remove code compiled from other sources: no later run needs it."""
        current = f"{self._prefix}{self._stamp}."
        with contextlib.suppress(OSError):  # another process was faster, or, on Windows, reads one
            for name in os.listdir(folder):
                if name.startswith(self._prefix) and name.endswith(".nbc") and not name.startswith(current):
                    os.unlink(folder / name)


class Claim:
    """A lock between processes, by locking a file. It is released when the process ends.

    Parameters
    ----------
    path
        The file, which is created.

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
        """Release the lock. A waiting process gets it, although the file is removed."""
        with contextlib.suppress(OSError):
            self._path.unlink()
        self._file.close()


def _write_whole(path: Path, data: bytes) -> None:
    """Write a file atomically; several processes may write the same one at the same time."""
    part = path.with_name(f"{path.name}.{uuid.uuid4().hex[:8]}")
    try:
        with open(part, "xb") as file:
            file.write(data)
        os.replace(part, path)
    except PermissionError:
        # Windows does not replace a file that another process is reading: that one has the same content.
        if sys.platform != "win32" or not path.exists():
            raise
    finally:
        part.unlink(missing_ok=True)
