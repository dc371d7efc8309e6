"""Render modes of the environments, by Gymnasium's conventions: text, pixels, videos, windows."""

import io
import json
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym
import imageio
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.wrappers import RecordVideo

from solitaire_env.core.batch import IllegalActionError
from solitaire_env.env import SolitaireEnv
from solitaire_env.notation import parse_position
from solitaire_env.render import SIZE
from solitaire_env.render.board import headline
from solitaire_env.render.picture import render_rgb
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
        move, note = env.moved_cards(action), f"{env.describe_action(action)} ({env.action_text(action)})"
        env.step(action)
    position = parse_position(env.position(hidden=True), env.variant)
    return render_rgb(position, move=move, note=note or "", caption=headline(position, 7), **arguments)


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
    [
        SolitaireEnv,
        partial(SolitaireEnv, "train"),
        SolitaireVectorEnv,
        partial(SolitaireVectorEnv, "train"),
        partial(SolitaireVecEnv, "freecell"),
    ],
)
@pytest.mark.parametrize("encoding", ["cp1252", "utf-8"])
def test_text_can_be_printed(make: Any, encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Code page 1252, that of a redirected output on Windows, has no suits."""
    with monkeypatch.context() as patch:
        patch.setattr("sys.stdout", io.TextIOWrapper(io.BytesIO(), encoding=encoding))
        env = make(render_mode="ansi")
        env.reset()
        board = env.render()
        print(board if isinstance(board, str) else board[0])
    assert str(board).isascii() == (encoding != "utf-8")


def test_the_picture_has_the_chosen_size() -> None:
    made = gym.make(BUSY, render_mode="rgb_array", render_size=[320, 200])
    made.reset(seed=0)
    assert made.render().shape == (200, 320, 3)  # type: ignore[union-attr]
    assert made.spec is not None and json.loads(made.spec.to_json())["kwargs"]["render_size"] == [320, 200]


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


def test_pictures_of_many_games_equal_single_pictures() -> None:
    env = SolitaireVectorEnv("busy-aces", 3, render_mode="rgb_array", render_size=(200, 150))
    env.reset(options={"deal": [7, 8, 9]})
    singles = [SolitaireEnv("busy-aces", render_mode="rgb_array", render_size=(200, 150)) for _ in range(3)]
    for deal, single in enumerate(singles, 7):
        single.reset(options={"deal": deal})
    pictures = env.render()
    assert isinstance(pictures, tuple)
    for one, single in zip(pictures, singles, strict=True):
        np.testing.assert_array_equal(one, single.render())


def test_gymnasium_shows_the_pixels_in_a_window(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    with pytest.warns(UserWarning, match="HumanRendering"):
        env = gym.make(BUSY, render_mode="human")
    env.reset(seed=0)
    env.step(0)
    assert env.render() is None
    env.close()


@pytest.mark.parametrize("name", [BUSY, "Solitaire/Family-v0"])
def test_gymnasiums_check_passes_in_all_modes(name: str) -> None:
    check_env(gym.make(name).unwrapped)
