"""Render modes of the environments, by Gymnasium's conventions: text, pixels, videos, windows."""

from __future__ import annotations

import copy
import io
import json
import pickle
import time
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym
import imageio
import numpy as np
import pygame
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.wrappers import RecordVideo

from solitaire_env.core.batch import IllegalActionError
from solitaire_env.env import SolitaireEnv
from solitaire_env.family import FamilyEnv, FamilyVectorEnv
from solitaire_env.notation import parse_position
from solitaire_env.render import SIZE, TEXT_MODES
from solitaire_env.render.board import headline
from solitaire_env.render.picture import render_rgb
from solitaire_env.render.screen import Screen
from solitaire_env.sb3 import SolitaireVecEnv
from solitaire_env.vector import SolitaireVectorEnv

BUSY = "Solitaire/BusyAces-v0"


def started(mode: str | None, **arguments: Any) -> SolitaireEnv:
    env = SolitaireEnv("busy-aces", render_mode=mode, **arguments)
    env.reset(options={"deal": 7})
    return env


def pixels_of(env: SolitaireEnv, action: int | None = None, **arguments: Any) -> Any:
    """The expected picture, made directly; after an action if there is one."""
    move = note = None
    if action is not None:
        move, note = env.move(action), f"{env.describe_action(action)} ({env.action_text(action)})"
        env.step(action)
    position = parse_position(env.position(hidden=True), env.variant)
    return render_rgb(position, move=move, note=note or "", caption=headline(position, 7), **arguments)


# --------------------------------------------------------------------------------- one environment


def test_pixels_show_the_last_move() -> None:
    env, other = started("rgb_array"), started(None)
    assert env.render().shape == (SIZE[1], SIZE[0], 3)
    np.testing.assert_array_equal(env.render(), pixels_of(other))
    env.step(0)
    np.testing.assert_array_equal(env.render(), pixels_of(other, 0))
    env.set_state(env.get_state())
    np.testing.assert_array_equal(env.render(), pixels_of(other))


def test_text_marks_the_cards_of_the_last_move() -> None:
    """An illegal action marks none; one that raises an error keeps the picture."""
    env = started("ansi")
    assert "*" not in env.render() and "last move" not in env.render()
    env.step(0)
    board = env.render()
    assert board.count("*") == 1 and board.endswith("last move: draw a card from the stock (draw)")
    illegal = int(np.flatnonzero(~env.action_masks())[0])
    env.step(illegal)
    assert "*" not in env.render()
    assert env.render().endswith(f"last move: {env.action_text(illegal)}, which is not legal")
    strict = started("ansi", on_invalid="raise")
    strict.step(0)
    with pytest.raises(IllegalActionError):
        strict.step(illegal)
    assert strict.render() == board


@pytest.mark.parametrize(
    "make",
    [SolitaireEnv, FamilyEnv, SolitaireVectorEnv, FamilyVectorEnv, partial(SolitaireVecEnv, "freecell")],
)
@pytest.mark.parametrize("encoding", ["cp1252", "utf-8"])
def test_text_can_be_printed(make: Any, encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Code page 1252, that of a redirected output on Windows, has no suits."""
    boards: dict[str, Any] = {}
    with monkeypatch.context() as patch:
        patch.setattr("sys.stdout", io.TextIOWrapper(io.BytesIO(), encoding=encoding))
        for mode in TEXT_MODES:
            env = make(render_mode=mode)
            env.reset()
            boards[mode] = env.render()
            print(boards[mode] if isinstance(boards[mode], str) else boards[mode][0])
    assert str(boards["ascii"]).isascii() and str(boards["ansi"]).isascii() == (encoding != "utf-8")


def test_the_picture_has_the_chosen_size() -> None:
    made = gym.make(BUSY, render_mode="rgb_array", render_size=[320, 200])
    made.reset(seed=0)
    assert made.render().shape == (200, 320, 3)  # type: ignore[union-attr]
    assert made.spec is not None and json.loads(made.spec.to_json())["kwargs"]["render_size"] == [320, 200]


# ------------------------------------------------------------------------------------------- video


def test_record_video_writes_a_video(tmp_path: Path) -> None:
    env = RecordVideo(
        gym.make(BUSY, render_mode="rgb_array", render_size=(320, 240)), str(tmp_path / "videos")
    )
    env.reset(options={"deal": 7})
    for _ in range(5):
        env.step(0)
    env.close()
    (file,) = tmp_path.glob("videos/*.mp4")
    assert imageio.get_reader(file).count_frames() == 6


# -------------------------------------------------------------------------------------- many games


def vector(mode: str | None, **arguments: Any) -> SolitaireVectorEnv:
    env = SolitaireVectorEnv(3, "busy-aces", render_mode=mode, **arguments)
    env.reset(options={"deal": [7, 8, 9]})
    return env


def test_pictures_of_many_games_equal_single_pictures() -> None:
    env = vector("rgb_array", render_size=(200, 150))
    singles = [SolitaireEnv("busy-aces", render_mode="rgb_array", render_size=(200, 150)) for _ in range(3)]
    for deal, single in enumerate(singles, 7):
        single.reset(options={"deal": deal})
    pictures = env.render()
    assert isinstance(pictures, tuple)
    for one, single in zip(pictures, singles, strict=True):
        np.testing.assert_array_equal(one, single.render())


# ----------------------------------------------------------------------------------------- windows


def surface_of(env: SolitaireEnv) -> Any:
    surface = env._screen._window.get_surface()
    return pygame.surfarray.array3d(surface).swapaxes(0, 1)


def test_a_window_shows_every_reset_and_step() -> None:
    env = SolitaireEnv("busy-aces", render_mode="human")
    env.metadata = {**env.metadata, "render_fps": 50}
    env.reset(options={"deal": 7})
    other = started(None)
    np.testing.assert_array_equal(surface_of(env), pixels_of(other))
    begin = time.perf_counter()
    for _ in range(4):
        env.step(0)
        assert env.render() is None
    assert time.perf_counter() - begin > 3 / 50
    for _ in range(3):
        other.step(0)
    np.testing.assert_array_equal(surface_of(env), pixels_of(other, 0))
    env.close()
    env.close()
    assert env._screen.closed
    env.step(0)


def test_a_closed_window_stays_closed_and_the_game_continues() -> None:
    env = SolitaireEnv("busy-aces", render_mode="human")
    env.metadata = {**env.metadata, "render_fps": 1000}
    env.reset(seed=0)
    pygame.event.post(pygame.Event(pygame.WINDOWCLOSE, window=env._screen._window))
    env.step(0)
    assert env._screen.closed
    env.step(0)
    env.reset(seed=1)
    assert env.render() is None and env._screen.closed
    env.close()


def test_windows_do_not_take_the_events_of_others() -> None:
    one, two = Screen("one"), Screen("two")
    picture = np.zeros((90, 120, 3), dtype=np.uint8)
    one.show(picture)
    two.show(picture)
    pygame.event.post(pygame.Event(pygame.WINDOWCLOSE, window=two._window))
    one.handle_events()
    assert not one.closed
    two.handle_events()
    assert two.closed
    two.show(picture)
    pygame.event.post(pygame.Event(pygame.QUIT))
    one.handle_events()
    assert one.closed
    Screen("never open").close()


def test_no_window_opens_without_a_display(monkeypatch: pytest.MonkeyPatch) -> None:
    """SDL then draws into memory, as in these tests, and nobody would see the window."""
    picture = np.zeros((64, 64, 3), dtype=np.uint8)
    Screen("asked for").show(picture)
    monkeypatch.delenv("SDL_VIDEODRIVER")
    with pytest.raises(OSError, match="no display: a window needs one"):
        Screen("unseen").show(picture)
    monkeypatch.setenv("SDL_VIDEODRIVER", "unknown")
    pygame.display.quit()
    with pytest.raises(OSError, match="no display: a window needs one"):
        Screen("unseen").show(picture)


@pytest.mark.parametrize("name", [BUSY, "Solitaire/Family-v0"])
def test_gymnasiums_check_passes_without_a_display(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It resets environments in all modes."""
    monkeypatch.delenv("SDL_VIDEODRIVER")
    env = gym.make(name).unwrapped
    human = "human" in env.metadata["render_modes"]
    with pytest.warns(UserWarning, match="no display") if human else nullcontext():
        check_env(env)


def test_copies_of_an_environment_have_their_own_windows() -> None:
    env = SolitaireEnv("busy-aces", render_mode="human", render_size=(160, 120))
    env.metadata = {**env.metadata, "render_fps": 1000}
    env.reset(seed=0)
    for other in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        assert other.position() == env.position() and other._screen._window is None
        other.step(0)
        assert other._screen._window is not env._screen._window
        other.close()
        assert not env._screen.closed
    env.close()
