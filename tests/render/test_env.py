"""Render modes of the environments, by Gymnasium's conventions: text, pixels, videos, windows."""

from __future__ import annotations

import copy
import io
import json
import pickle
import subprocess
import time
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym
import imageio.v3 as iio
import numpy as np
import pygame
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.wrappers import RecordVideo
from imageio_ffmpeg import get_ffmpeg_exe

from solitaire_env.core.batch import IllegalActionError
from solitaire_env.env import SolitaireEnv
from solitaire_env.family import FamilyEnv, FamilyVectorEnv
from solitaire_env.notation import parse_position
from solitaire_env.registration import env_id
from solitaire_env.render import RENDER_FPS, RENDER_MODES, SIZE, TEXT_MODES, VECTOR_RENDER_MODES
from solitaire_env.render.board import headline
from solitaire_env.render.picture import render_rgb
from solitaire_env.render.screen import Screen
from solitaire_env.sb3 import SolitaireVecEnv
from solitaire_env.vector import SolitaireVectorEnv
from tests.conftest import Refuses
from tests.games import ONE_PER_RULE, PUBLISHED

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


def test_modes_are_listed_in_one_place() -> None:
    assert SolitaireEnv.metadata == {"render_modes": list(RENDER_MODES), "render_fps": RENDER_FPS}
    assert SolitaireVectorEnv.metadata["render_modes"] == list(VECTOR_RENDER_MODES)


@pytest.mark.parametrize(
    ("make", "mode", "allowed"),
    [
        (SolitaireEnv, "rgb", "None, 'ansi', 'ascii', 'rgb_array', 'human'"),
        (SolitaireEnv, ["ansi"], "None, 'ansi', 'ascii', 'rgb_array', 'human'"),
        (SolitaireVectorEnv, "human", "None, 'ansi', 'ascii', 'rgb_array'"),
    ],
)
def test_invalid_modes_raise_an_error(make: Any, mode: Any, allowed: str, refuses: Refuses) -> None:
    refuses(lambda: make(render_mode=mode), repr(mode), allowed)
    refuses(lambda: make(render_size=(1, 2)), "render_size is (1, 2)")


def test_pixels_show_the_last_move() -> None:
    env, other = started("rgb_array"), started(None)
    assert env.render().shape == (SIZE[1], SIZE[0], 3)
    np.testing.assert_array_equal(env.render(), pixels_of(other))
    env.step(0)
    np.testing.assert_array_equal(env.render(), pixels_of(other, 0))
    state = env.get_state()
    env.set_state(state)
    np.testing.assert_array_equal(env.render(), pixels_of(other))


def test_text_marks_the_cards_of_the_last_move() -> None:
    env = started("ansi")
    plain = env.render()
    assert "*" not in plain and "last move" not in plain
    env.step(0)
    board = env.render()
    assert board.count("*") == 1 and board.endswith("last move: draw a card from the stock (draw)")
    waste = next(line for line in board.splitlines() if line.startswith("waste"))
    assert "*" in waste.split()[1] and all(len(line) <= 80 for line in board.splitlines())


@pytest.mark.parametrize(
    "make",
    [SolitaireEnv, FamilyEnv, SolitaireVectorEnv, FamilyVectorEnv, partial(SolitaireVecEnv, "freecell")],
)
@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "utf-8"])
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


def test_an_illegal_action_marks_nothing() -> None:
    env = started("ansi")
    env.step(0)
    illegal = int(np.flatnonzero(~env.action_masks())[0])
    env.step(illegal)
    board = env.render()
    assert "*" not in board
    assert board.endswith(f"last move: {env.action_text(illegal)}, which is not legal")


def test_an_action_that_raises_keeps_the_picture() -> None:
    env = started("ansi", on_invalid="raise")
    env.step(0)
    before = env.render()
    with pytest.raises(IllegalActionError):
        env.step(int(np.flatnonzero(~env.action_masks())[0]))
    assert env.render() == before


@pytest.mark.parametrize("name", ONE_PER_RULE)
def test_the_picture_has_the_chosen_size(name: str) -> None:
    made = gym.make(
        env_id(PUBLISHED[name]),
        render_mode="rgb_array",
        render_size=[320, 200],
    )
    made.reset(seed=0)
    assert made.render().shape == (200, 320, 3)  # type: ignore[union-attr]
    clone = made.unwrapped.clone()  # type: ignore[attr-defined]
    assert clone.render().shape == (200, 320, 3)
    assert made.spec is not None and json.loads(made.spec.to_json())["kwargs"]["render_size"] == [320, 200]


def test_rgb_array_list_collects_frames() -> None:
    env = gym.make(BUSY, render_mode="rgb_array_list", render_size=(160, 120))
    env.reset(seed=0)
    env.step(0)
    frames = env.render()
    assert isinstance(frames, list) and len(frames) == 2
    assert not np.array_equal(frames[0], frames[1])


def test_a_step_without_a_mode_renders_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("solitaire_env.env.last_move", None)
    started(None).step(0)


# ------------------------------------------------------------------------------------------- video


def decoded(file: Path, height: int, width: int) -> Any:
    """The frames of a video, uint8 ``[frames, height, width, 3]``."""
    command = [get_ffmpeg_exe(), "-v", "error", "-i", str(file), "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    data = subprocess.run(command, check=True, capture_output=True).stdout
    return np.frombuffer(data, dtype=np.uint8).reshape(-1, height, width, 3)


def test_record_video_writes_a_video(tmp_path: Path) -> None:
    env = RecordVideo(
        gym.make(BUSY, render_mode="rgb_array", render_size=(320, 240)), str(tmp_path / "videos")
    )
    env.reset(options={"deal": 7})
    for _ in range(5):
        env.step(0)
    last = env.render()
    env.close()
    (file,) = tmp_path.glob("videos/*.mp4")
    frames = decoded(file, 240, 320)
    assert len(frames) == 6
    far, near = (np.abs(frames[place].astype(int) - last).mean() for place in (0, -1))
    assert near < far and near < 6


def test_record_video_writes_videos_of_many_games(tmp_path: Path) -> None:
    envs = gym.make_vec(BUSY, num_envs=4, render_mode="rgb_array", render_size=(160, 120))
    record = getattr(gym.wrappers.vector, "RecordVideo", None)
    if record is None:
        assert gym.__version__.startswith("1.1."), "Gymnasium 1.2 brought it"
        return
    envs = record(envs, str(tmp_path / "videos"), video_aspect_ratio=(1, 1))
    envs.reset(seed=0)
    for _ in range(3):
        envs.step(np.zeros(4, dtype=np.int64))
    envs.close()
    (file,) = tmp_path.glob("videos/*.mp4")
    assert len(decoded(file, 240, 320)) == 4


def test_a_gif_is_written(tmp_path: Path) -> None:
    env = started("rgb_array", render_size=(160, 120))
    frames = [env.render()]
    for _ in range(3):
        env.step(0)
        frames.append(env.render())
    iio.imwrite(tmp_path / "game.gif", frames, duration=250)
    read = iio.imread(tmp_path / "game.gif")
    assert read.shape == (4, 120, 160, 3)
    assert np.abs(read[-1].astype(int) - frames[-1]).mean() < 8


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
    for _ in range(3):
        pictures = env.render()
        assert isinstance(pictures, tuple)
        for one, single in zip(pictures, singles, strict=True):
            np.testing.assert_array_equal(one, single.render())
        actions = np.array([single.legal_actions()[-1] for single in singles])
        env.step(actions)
        for action, single in zip(actions, singles, strict=True):
            single.step(action)


def test_texts_of_many_games_name_their_last_moves() -> None:
    env = vector("ansi", information="thoughtful")
    assert all("last move" not in board for board in env.render() or ())
    env.step(np.zeros(3, dtype=np.int64))
    assert all(board.endswith("(draw)") for board in env.render() or ())
    env.copy_rows([0], [2])
    env.set_state(1, env.get_state(1))
    boards = env.render() or ()
    assert boards[0] == boards[2] and boards[0].endswith("(draw)") and "last move" not in boards[1]
    env.reset(options={"reset_mask": np.array([True, False, False])})
    boards = env.render() or ()
    assert "last move" not in boards[0] and boards[2].endswith("(draw)")


@pytest.mark.parametrize("autoreset_mode", ["NextStep", "SameStep"])
def test_a_new_game_has_no_last_move(autoreset_mode: str) -> None:
    env = vector("ansi", autoreset_mode=autoreset_mode, max_episode_steps=2)
    draw = np.zeros(3, dtype=np.int64)
    env.step(draw)
    env.step(draw)
    ended = env.render() or ()
    if autoreset_mode == "NextStep":
        assert all(board.endswith("(draw)") for board in ended)
        env.step(draw)
    assert all("last move" not in board for board in env.render() or ())


def test_copies_without_a_mode_copy_no_pictures() -> None:
    env = vector(None)
    env.step(np.zeros(3, dtype=np.int64))
    env.copy_rows([0], [1])
    assert env._last == [None] * 3


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
    assert one.events() == [] and one.size is None
    picture = np.zeros((90, 120, 3), dtype=np.uint8)
    one.show(picture)
    two.show(picture)
    assert one.size == (120, 90)
    pygame.event.post(pygame.Event(pygame.WINDOWCLOSE, window=two._window))
    one.events()
    assert not one.closed
    two.events()
    assert two.closed and two.size is None
    two.show(picture)
    assert two.size is None
    pygame.event.post(pygame.Event(pygame.QUIT))
    one.events(patience=50)
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
