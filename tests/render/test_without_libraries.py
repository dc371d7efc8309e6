"""Pictures and windows without their libraries: the error says what to install."""

from __future__ import annotations

import sys
from importlib import import_module

import pytest


@pytest.mark.parametrize(
    ("module", "library"),
    [("solitaire_env.render.picture", "PIL"), ("solitaire_env.render.screen", "pygame")],
)
def test_the_error_says_what_to_install(module: str, library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.delitem(sys.modules, module, raising=False)
    with pytest.raises(ImportError, match=rf"{library}: pip install \"solitaire-env\[render\]\""):
        import_module(module)
