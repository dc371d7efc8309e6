"""PyInstaller's hook: frozen programs get all files of the package and the modules that Gymnasium imports."""

import re
import runpy
from importlib import import_module
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

import solitaire_env
from solitaire_env.registration import NAMESPACE

PROJECT = Path(__file__).parents[1]


def hook() -> dict[str, Any]:
    """The variables of the hook, which the entry point of the package names."""
    found = re.search(
        r'^\[project\.entry-points\.pyinstaller40\]\nhook-dirs = "(.+):(.+)"$',
        (PROJECT / "pyproject.toml").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    assert found is not None
    [folder] = getattr(import_module(found[1]), found[2])()
    return runpy.run_path(str(Path(folder, "hook-solitaire_env.py")))


def test_the_hook_lists_the_libraries_and_all_other_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "solitaire_env"
    texts = ("__init__.py", "core/cards.py", "core/__pycache__/cards.cpython-311.pyc")
    files = (
        "py.typed",
        "benchmark.json",
        "compiled/linux-x86_64.7.so",
        "compiled/windows-x86_64.7.dll",
        "compiled/macos-arm64.7.dylib",
        "compiled/wasm32.7.wasm",
        "play/web/engine/engine.js",
        "policies/weights/busy-aces/model.safetensors",
    )
    for name in (*texts, *files):
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).touch()
    monkeypatch.setattr(solitaire_env, "__file__", str(package / "__init__.py"))
    expected = {(str(package / name), str(Path("solitaire_env", name).parent)) for name in files}
    assert sorted(hook()["datas"]) == sorted(expected)


def test_the_hook_names_the_modules_of_the_entry_points() -> None:
    named = set()
    for spec in gym.registry.values():
        if spec.namespace == NAMESPACE:
            named |= {str(spec.entry_point), str(spec.vector_entry_point)}
    assert set(hook()["hiddenimports"]) == {name.partition(":")[0] for name in named}
