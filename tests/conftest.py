"""Fixtures of all tests."""

import os
import traceback
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

# The tests play small batches and train small networks, which more threads would slow down.
os.environ.setdefault("SOLITAIRE_ENV_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Otherwise the first test that builds the kernels would have a notice on its stderr.
os.environ["SOLITAIRE_ENV_QUIET"] = "1"

Refuses = Callable[..., None]


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Do not collect the tests of libraries that are not installed."""
    library = {"browser": "playwright", "language": "openenv", "ray": "ray"}.get(collection_path.name)
    return True if library and find_spec(library) is None else None


@pytest.fixture(scope="session", autouse=True)
def sb3_logs(tmp_path_factory: pytest.TempPathFactory) -> None:
    """SB3's log folder; without this setting SB3 would make a new folder for each model that learns."""
    os.environ["SB3_LOGDIR"] = str(tmp_path_factory.mktemp("sb3"))


@pytest.fixture
def full_disk() -> Iterator[Callable[[], None]]:
    """A function after whose call no file can become longer than 100 bytes, until the test ends."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.fixture
def refuses() -> Refuses:
    """``refuses(call, *words)``: check that the call raises an error of one or two lines that contains all
    the words. The package itself or Gymnasium must raise it, never numpy.
    """

    def check(call: Callable[[], Any], *words: str) -> None:
        with pytest.raises((ValueError, TypeError, IndexError, ImportError)) as caught:
            call()
        message = str(caught.value)
        assert len(message.splitlines()) <= 2 and len(message) < 600, message
        for word in words:
            assert word in message
        raised_in = traceback.extract_tb(caught.tb)[-1].filename
        assert "/numpy/" not in raised_in, raised_in

    return check


@pytest.fixture
def registered_games_removed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Games that a test registers are removed for the other tests."""
    import gymnasium as gym

    from solitaire_env import variants

    known = set(gym.registry)
    monkeypatch.setattr(variants, "_ADDED", {})
    yield
    for name in set(gym.registry) - known:
        del gym.registry[name]
