"""Pictures of a position: pixels that are the same every time.

``python -m tests.render.test_pictures`` writes the pictures under ``tests/pictures/`` again: look at them.
"""

import io
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import PIL
import pytest
from PIL import Image

from solitaire_env.core.cards import SUIT_SYMBOLS, parse_card
from solitaire_env.env import SolitaireEnv
from solitaire_env.notation import Move, Position, parse_position
from solitaire_env.render import SMALLEST, picture
from solitaire_env.render.ansi import render_ansi
from solitaire_env.render.picture import card_image, render_rgb
from tests.games import ONE_PER_RULE
from tests.recorded import recorded_game

FOLDER = Path(__file__).parents[1] / "pictures"
SCENES = sorted(path.stem for path in FOLDER.glob("*.png"))


def scene(name: str, steps: int = 60) -> tuple[Position, Move]:
    """A published game's recorded deal, after some moves."""
    game = recorded_game(name)
    env = SolitaireEnv(name, on_invalid="raise")
    env.reset(options={"deal": game.deal})
    for text in game.actions[:steps]:
        move = env.moved_cards(env.parse_action(text))
        env.step(env.parse_action(text))
    return parse_position(env.position(hidden=True), env.variant), move


def drawn(name: str) -> Any:
    position, move = scene(name)
    return render_rgb(position, move=move, note="The last move is marked.")


@pytest.mark.parametrize("name", SCENES)
def test_the_same_position_gives_the_same_pixels(name: str) -> None:
    pixels = drawn(name)
    assert pixels.shape == (600, 800, 3) and pixels.dtype == np.uint8
    picture.card_image.cache_clear()
    np.testing.assert_array_equal(drawn(name), pixels)
    kept = np.asarray(Image.open(FOLDER / f"{name}.png").convert("RGB"))
    # Another Pillow may smooth letters differently; the positions of things stay.
    different = np.abs(pixels.astype(int) - kept).max(axis=2) > 96
    assert different.mean() < 0.005
    constraints = (Path(__file__).parents[2] / "constraints.txt").read_text(encoding="utf-8")
    if f"\npillow=={PIL.__version__}\n" in constraints:
        np.testing.assert_array_equal(pixels, kept)


def test_every_letter_is_in_the_font() -> None:
    shapes = {bytes(picture._font(40.0).getmask(letter)) for letter in f"A23456789TJQK10{SUIT_SYMBOLS}"}
    assert len(shapes) == 19, "a glyph is missing, or two are the same"


@pytest.mark.parametrize("size", [(SMALLEST, SMALLEST), (97, 301), (1001, 333), (1280, 720)])
def test_pictures_can_have_any_size(size: tuple[int, int]) -> None:
    position, move = scene("busy-aces")
    pixels = render_rgb(position, size, move=move, note="n" * 300)
    assert pixels.shape == (size[1], size[0], 3)
    assert len(np.unique(pixels @ np.array([1 << 16, 1 << 8, 1]))) > 20


@pytest.mark.parametrize("name", ONE_PER_RULE)
def test_every_game_is_drawn_in_every_way(name: str) -> None:
    position, move = scene(name, 12)
    plain = render_rgb(position, (160, 120))
    assert not np.array_equal(render_rgb(position, (160, 120), move=move), plain)
    assert move.target == "stock" or "*" in render_ansi(position, move=move)


def test_a_card_of_two_possible_suits_shows_both() -> None:
    """On foundations of alternating colors only rank and color of the last card are known."""
    diamonds, hearts = parse_card("2D"), parse_card("2H")
    images = (card_image(diamonds, 120, other=hearts), card_image(diamonds, 120), card_image(hearts, 120))
    assert len({image.tobytes() for image in images}) == 3
    position = replace(scene("zebra", 1)[0], foundations=((13, 1), (2, 0), (3, 1), (1, 1)))
    assert "KCS  AC 2CS   D 3DH  AH  AS  AS" in render_ansi(position, symbols=False)


def test_the_caller_may_change_the_picture() -> None:
    position, _ = scene("busy-aces")
    first = render_rgb(position)
    first[:] = 0
    assert render_rgb(position).any()


@pytest.mark.parametrize("name", [name for name, variant in ONE_PER_RULE.items() if variant.hides_cards])
def test_a_player_does_not_see_hidden_cards(name: str) -> None:
    """Pictures stay the same when the hidden cards are shuffled."""
    env = SolitaireEnv(name, render_mode="ansi")
    env.reset(options={"deal": 3})
    worlds = [env.resample(seed).position() for seed in range(2)]
    assert worlds[0] != worlds[1]
    pictures = set()
    for world in worlds:
        env.reset(options={"position": world})
        pictures.add((env.render(), env._repr_png_()))
    assert len(pictures) == 1 and not re.search(r"\(\w\w\)", str(pictures))


def test_a_known_face_down_card_is_shown() -> None:
    env = SolitaireEnv("klondike", information="thoughtful", render_mode="ansi")
    env.reset(options={"deal": 1})
    position = parse_position(env.position(), env.variant)
    assert str(env.render()).count("(") == 21
    assert not np.array_equal(render_rgb(position), render_rgb(position.hidden()))


def pixels_of(png: bytes | None) -> Any:
    assert png is not None
    return np.asarray(Image.open(io.BytesIO(png)))


def test_notebooks_show_positions_and_environments() -> None:
    env = SolitaireEnv("busy-aces", render_mode="rgb_array")
    assert env._repr_png_() is None
    env.reset(options={"deal": 7})
    env.step(0)
    np.testing.assert_array_equal(pixels_of(env._repr_png_()), env.render())
    position = parse_position(env.position(hidden=True), env.variant)
    np.testing.assert_array_equal(pixels_of(position._repr_png_()), render_rgb(position))


def test_render_modes_name_their_missing_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    extra = re.escape('pip install "solitaire-env[render]"')
    with pytest.raises(ImportError, match=f"render_mode='rgb_array' needs PIL: {extra}"):
        SolitaireEnv("busy-aces", render_mode="rgb_array")
    env = SolitaireEnv("busy-aces", render_mode="ansi")
    env.reset(seed=0)
    assert env.render() and env._repr_png_() is None


if __name__ == "__main__":
    for name in SCENES:
        Image.fromarray(drawn(name)).save(FOLDER / f"{name}.png", optimize=True)
