"""Files of compiled code: when they are valid, where they are stored, and what happens to damaged ones."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from solitaire_env.core import code_cache
from solitaire_env.core.code_cache import CodeFiles, Folders, stamp_of

CONTENT = b"compiled code"
posix = pytest.mark.skipif(not hasattr(os, "getuid"), reason="on Windows they are in the user's profile")


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """The folders for compiled code, best first, and the source folder; nothing is reported or edited yet."""
    monkeypatch.setattr(code_cache, "_edited", set())
    monkeypatch.setattr(Folders, "_reported", False)
    monkeypatch.setenv("SOLITAIRE_ENV_QUIET", "0")
    found = {name: tmp_path / name for name in ("source", "chosen", "user", "temporary")}
    for folder in found.values():
        folder.mkdir()
    monkeypatch.setattr(code_cache, "_user_cache_folder", lambda: found["user"] / "solitaire-env")
    monkeypatch.setattr(tempfile, "tempdir", str(found["temporary"]))
    return found


def files(source: Path, chosen: Path | str = "", stamp: str = "0123456789abcdef") -> CodeFiles:
    """The files of a function, as a new process finds them."""
    code_cache.folders_of.cache_clear()
    return CodeFiles(str(source / "kernels.py"), stamp, "outer.<locals>.kernel", str(chosen))


def kept(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


# ----------------------------------------------------------------------------------- what is kept


def test_saved_code_is_loaded(places: dict[str, Path]) -> None:
    source = places["source"]
    assert files(source).load("key", bytes) is None
    files(source).save("key", CONTENT)
    assert files(source).load("key", bytes) == CONTENT
    assert files(source).load("other key", bytes) is None
    assert files(source, stamp="f" * 16).load("key", bytes) is None
    [path] = kept(source)
    assert path.parent.name == "__pycache__" and not {*'<>:"/\\|?*'} & set(path.name)


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:20],
        lambda data: data[:-1],
        lambda data: data + b"x",
        lambda data: b"x" * len(data),
        lambda data: data[:-1] + bytes([data[-1] ^ 1]),
        lambda data: CONTENT,
    ],
    ids=["empty", "cut in the proof", "cut", "longer", "garbage", "one bit", "no proof"],
)
def test_a_damaged_file_is_a_miss_and_is_replaced(places: dict[str, Path], damage: Any) -> None:
    source = places["source"]
    files(source).save("key", CONTENT)
    [path] = kept(source)
    path.write_bytes(damage(path.read_bytes()))
    assert files(source).load("key", bytes) is None
    files(source).save("key", CONTENT)
    assert files(source).load("key", bytes) == CONTENT
    assert kept(source) == [path]


def test_a_file_under_the_name_of_another_is_a_miss(places: dict[str, Path]) -> None:
    source = places["source"]
    for key in ("key", "other key"):
        files(source).save(key, key.encode())
    first, second = kept(source)
    os.replace(first, second)
    assert [files(source).load(key, bytes) for key in ("key", "other key")] == [None, None]


def test_code_that_cannot_be_rebuilt_is_a_miss(places: dict[str, Path]) -> None:
    def fail(content: bytes) -> bytes:
        raise TypeError("not what was expected")

    source = places["source"]
    files(source).save("key", CONTENT)
    assert files(source).load("key", fail) is None


def test_code_of_older_sources_is_removed(places: dict[str, Path]) -> None:
    """Otherwise each edit would leave some megabytes on the disk."""
    source = places["source"]
    other = source / "__pycache__" / "kernels.cpython-311.pyc"
    files(source).save("key", CONTENT)
    files(source).save("other key", CONTENT)
    other.touch()
    assert len(kept(source)) == 3
    files(source, stamp="f" * 16).save("key", CONTENT)
    [path] = set(kept(source)) - {other}
    assert "ffffffffffffffff" in path.name


HOLD = """
import sys
from solitaire_env.core.code_cache import CodeFiles
claim = CodeFiles(sys.argv[1], "0123456789abcdef", "outer.<locals>.kernel", "").claim("key")
print(claim is not None, flush=True)
sys.stdin.read()
claim.release()
print("released", flush=True)
"""


@pytest.fixture
def holder(places: dict[str, Path]) -> Iterator[subprocess.Popen[str]]:
    """A process that compiles something until its input ends."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(places["source"] / "kernels.py")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None and process.stdout.readline() == "True\n"
        yield process
        process.kill()


@posix
def test_a_process_waits_for_another_that_compiles_the_same(
    places: dict[str, Path], holder: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert holder.stdin is not None and holder.stdout is not None
    here = files(places["source"])
    monkeypatch.setattr(code_cache, "PATIENCE", 0.1)
    assert here.claim("key") is None, "it waits no longer than that"
    other = here.claim("other key")
    assert other is not None
    other.release()
    monkeypatch.setattr(code_cache, "PATIENCE", 60.0)
    threading.Timer(0.2, holder.stdin.close).start()
    mine = here.claim("key")
    assert mine is not None and holder.stdout.readline() == "released\n"
    mine.release()
    assert kept(places["source"]) == []


@posix
def test_a_killed_process_releases_its_lock(
    places: dict[str, Path], holder: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(code_cache, "PATIENCE", 10.0)
    holder.kill()
    holder.wait()
    mine = files(places["source"]).claim("key")
    assert mine is not None
    mine.release()


@posix
def test_processes_do_not_wait_if_no_folder_is_writable(places: dict[str, Path]) -> None:
    for folder in roots(places):
        block(folder)
    assert files(places["source"], places["chosen"] / "cache").claim("key") is None


# -------------------------------------------------------------------------------------- where to


def block(folder: Path) -> None:
    """Make it impossible to create such a folder, also for the superuser: a file has its name."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.touch()


def roots(places: dict[str, Path]) -> list[Path]:
    """The folders for compiled code, best first."""
    temporary = code_cache._temporary_folder()
    assert temporary is not None and temporary.parent == places["temporary"]
    user = places["user"] / "solitaire-env"
    return [places["chosen"] / "cache", places["source"] / "__pycache__", user, temporary]


@pytest.mark.parametrize("blocked", range(5))
def test_the_first_writable_folder_is_used(
    places: dict[str, Path], blocked: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """The user's choice, the source's folder, the user's cache, a temporary folder, none; one notice reports
    it.
    """
    folders = roots(places)
    for folder in folders[:blocked]:
        block(folder)
    for key in ("key", "other key"):
        files(places["source"], folders[0]).save(key, CONTENT)
    expected = [folders[blocked]] if blocked < 4 else []
    assert [folder for folder in folders if kept(folder) and folder.is_dir()] == expected
    loaded = files(places["source"], folders[0]).load("key", bytes)
    assert loaded == (CONTENT if expected else None)
    said = capsys.readouterr().err
    assert len(said.splitlines()) == (blocked > 0)
    if blocked:
        first = str(folders[0])
        assert f"cannot write to {first}" in said and ("File exists" in said or "Not a directory" in said)
        assert ("is not kept" in said) == (blocked == 4)
        assert all(f"is kept in {folder}" in said for folder in expected)


def test_the_source_folder_comes_first_by_default(
    places: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    files(places["source"]).save("key", CONTENT)
    assert kept(places["source"]) and not kept(places["user"])
    assert capsys.readouterr().err == ""


def test_a_read_only_folder_is_still_read(places: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """The user who installed the package may have compiled it."""
    files(places["source"]).save("key", CONTENT)
    original = tempfile.TemporaryFile

    def refuse(dir: Path) -> Any:
        if dir.name == "__pycache__":
            raise OSError(errno.EROFS, "Read-only file system")
        return original(dir=dir)

    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    assert files(places["source"]).load("key", bytes) == CONTENT
    files(places["source"]).save("other key", CONTENT)
    assert len(kept(places["source"])) == len(kept(places["user"])) == 1
    assert files(places["source"]).load("other key", bytes) == CONTENT


@pytest.mark.parametrize("where", ["open", "write", "replace"])
def test_a_full_disk_uses_the_next_folder(
    places: dict[str, Path], monkeypatch: pytest.MonkeyPatch, where: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is left of the file that was not completely written."""
    full = OSError(errno.ENOSPC, "No space left on device")

    def fails(path: Any, *rest: Any) -> Any:
        if "__pycache__" in str(path):
            raise full
        return original(path, *rest)

    class Fails:
        def __init__(self, path: Path, mode: str) -> None:
            self.file = original(path, mode)
            self.fails = "__pycache__" in str(path)

        def __enter__(self) -> Fails:
            return self

        def write(self, data: bytes) -> None:
            self.file.write(data[:9] if self.fails else data)
            if self.fails:
                raise full

        def __exit__(self, *error: object) -> None:
            self.file.close()

    original: Any = os.replace if where == "replace" else open
    owner: Any = os if where == "replace" else code_cache
    name = "replace" if where == "replace" else "open"
    monkeypatch.setattr(owner, name, Fails if where == "write" else fails, raising=False)
    ours = files(places["source"])
    ours.save("key", CONTENT)
    ours.save("other key", CONTENT)
    assert kept(places["source"]) == [] and len(kept(places["user"])) == 2
    assert ours.load("key", bytes) == CONTENT
    said = capsys.readouterr().err
    assert "No space left on device" in said and len(said.splitlines()) == 1


def test_a_removed_folder_is_created_again(places: dict[str, Path]) -> None:
    ours = files(places["source"])
    ours.save("key", CONTENT)
    [path] = kept(places["source"])
    path.unlink()
    path.parent.rmdir()
    assert ours.load("key", bytes) is None
    ours.save("key", CONTENT)
    assert ours.load("key", bytes) == CONTENT and kept(places["source"]) == [path]


@posix
@pytest.mark.parametrize("fault", ["link", "group", "everybody", "another user", "around"])
def test_a_folder_that_others_can_write_to_is_not_used(
    places: dict[str, Path], monkeypatch: pytest.MonkeyPatch, fault: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its files would be executed. It was filled before, and is not read either."""
    _, beside, user, temporary = roots(places)
    for folder in (beside, user):
        block(folder)
    files(places["source"]).save("key", CONTENT)
    assert kept(temporary) and temporary.stat().st_mode & 0o077 == 0
    if fault == "link":
        target = places["chosen"] / "filled"
        temporary.rename(target)
        temporary.symlink_to(target)
    elif fault == "another user":
        other = os.getuid() + 1
        monkeypatch.setattr(os, "getuid", lambda: other)
        temporary.rename(temporary.with_name(f"solitaire-env-{other}"))
    elif fault == "around":
        places["temporary"].chmod(0o777)
    else:
        temporary.chmod(0o770 if fault == "group" else 0o707)
    capsys.readouterr()
    Folders._reported = False
    assert files(places["source"]).load("key", bytes) is None
    ours = files(places["source"])
    ours.save("other key", CONTENT)
    assert ours.load("other key", bytes) is None
    assert "is not kept" in capsys.readouterr().err


def test_a_temporary_folder_with_a_sticky_bit_is_used(places: dict[str, Path]) -> None:
    """Like /tmp: everybody can write to it, and nobody can remove another user's folder."""
    for folder in roots(places)[1:3]:
        block(folder)
    places["temporary"].chmod(0o1777)
    files(places["source"]).save("key", CONTENT)
    assert files(places["source"]).load("key", bytes) == CONTENT


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {"XDG_CACHE_HOME": "/caches"}, "/caches/solitaire-env"),
        ("linux", {"XDG_CACHE_HOME": "", "HOME": "/home/a"}, "/home/a/.cache/solitaire-env"),
        ("linux", {"XDG_CACHE_HOME": "here"}, None),
        ("darwin", {"HOME": "/Users/a"}, "/Users/a/Library/Caches/solitaire-env"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/solitaire-env"),
    ],
)
@posix
def test_the_cache_folder_depends_on_the_platform(
    monkeypatch: pytest.MonkeyPatch, platform: str, variables: dict[str, str], expected: str | None
) -> None:
    monkeypatch.undo()
    monkeypatch.setattr(sys, "platform", platform)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    found = code_cache._user_cache_folder()
    assert found == (None if expected is None else Path(expected))


def test_missing_home_and_temporary_folders_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> Any:
        raise FileNotFoundError("no usable temporary directory")

    def no_home() -> Any:
        raise RuntimeError("could not determine home directory")

    monkeypatch.undo()
    monkeypatch.setattr(tempfile, "gettempdir", fail)
    monkeypatch.setattr(Path, "home", no_home)
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    monkeypatch.setattr(sys, "platform", "linux")
    assert code_cache._temporary_folder() is None
    assert code_cache._user_cache_folder() is None
    [folder] = code_cache._candidates(Path("source"), "")
    assert folder.path == Path("source", "__pycache__")


@posix
def test_windows_folders_need_no_check(places: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """They are in the user's profile, and have no modes."""
    block(places["source"] / "__pycache__")
    block(places["user"] / "solitaire-env")
    monkeypatch.delattr(os, "getuid")
    files(places["source"]).save("key", CONTENT)
    [path] = kept(places["temporary"])
    assert path.parent.parent.name == "solitaire-env"


def test_a_file_that_another_process_reads_on_windows_is_kept(
    places: dict[str, Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It cannot be replaced there, and need not be: it has the same content."""

    def refuse(part: Path, path: Path) -> None:
        raise PermissionError(errno.EACCES, "Access is denied")

    files(places["source"]).save("key", CONTENT)
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(os, "replace", refuse)
    ours = files(places["source"])
    ours.save("key", CONTENT)
    assert len(kept(places["source"])) == 1 and capsys.readouterr().err == ""
    ours.save("other key", CONTENT)
    assert "Access is denied" in capsys.readouterr().err


# ---------------------------------------------------------------------------------------- sources


def make_package(folder: Path) -> dict[str, Path]:
    """A package with two files of kernels, one beside them, and one in a folder without kernels."""
    texts = {
        "__init__": "",
        "kernels": "@jit\ndef one(x): return x",
        "inner/__init__": "",
        "inner/more": "from gate import jit_kernel",
        "beside": "LIMIT = 3",
        "apart/__init__": "",
        "apart/plain": "",
    }
    paths = {name: folder / f"{name}.py" for name in texts}
    for name, path in paths.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(texts[name])
    return paths


def stamp(path: Path) -> str | None:
    """The stamp that a new process would make."""
    code_cache._edited.clear()
    for function in (code_cache._digests, code_cache._stamp, code_cache._top):
        function.cache_clear()
    return stamp_of(str(path))


def test_a_stamp_covers_all_files_with_compiled_code(tmp_path: Path) -> None:
    """Files beside kernels may hold their constants."""
    paths = make_package(tmp_path / "package")
    first = stamp(paths["kernels"])
    assert first is not None and first == stamp(paths["inner/more"])
    for name, covered in (("apart/plain", False), ("beside", True), ("inner/more", True), ("kernels", True)):
        before = stamp(paths["kernels"])
        paths[name].write_text(paths[name].read_text() + "\n# edited")
        assert (stamp(paths["kernels"]) != before) == covered, name


def test_a_stamp_covers_the_core_and_the_package_s_kernels() -> None:
    core = Path(code_cache.__file__).parent
    covered = code_cache._digests(core.parent, True)
    assert set(map(str, core.glob("*.py"))) <= set(covered)
    assert str(core.parent / "cli.py") not in covered


def test_a_file_outside_packages_is_stamped_with_its_folder(tmp_path: Path) -> None:
    """A script's folder may be a whole home folder: its subfolders are not read."""
    paths = make_package(tmp_path)
    paths["__init__"].unlink()
    before = stamp(paths["kernels"])
    paths["inner/more"].write_text("jit")
    assert stamp(paths["kernels"]) == before
    (tmp_path / "beside.py").write_text("jit")
    assert stamp(paths["kernels"]) != before


def test_files_that_cannot_be_read_are_left_out(tmp_path: Path) -> None:
    """An editor marks an open file with a broken link."""
    paths = make_package(tmp_path / "package")
    before = stamp(paths["kernels"])
    (tmp_path / "package" / ".#kernels.py").symlink_to(tmp_path / "nowhere")
    assert stamp(paths["kernels"]) == before


def test_source_without_a_file_has_no_stamp(tmp_path: Path) -> None:
    assert stamp(tmp_path / "<stdin>") is None


def test_files_imported_after_an_edit_have_no_stamp(tmp_path: Path) -> None:
    """The process has old code of one file and new code of another: kept, it would be wrong for both."""
    paths = make_package(tmp_path / "package")
    other = make_package(tmp_path / "other")
    assert stamp(paths["kernels"]) is not None
    assert stamp_of(str(paths["inner/more"])) is not None
    paths["inner/more"].write_text("from gate import jit_kernel  # edited")
    assert stamp_of(str(paths["kernels"])) is not None
    assert stamp_of(str(paths["inner/more"])) is None
    assert stamp_of(str(paths["kernels"])) is None and stamp_of(str(other["kernels"])) is None
