"""Pictures of a position: SVG, and pixels that are the same every time.

``python -m tests.render.test_pictures`` writes the pictures under ``tests/pictures/`` again: look at them.
"""

from __future__ import annotations

import hashlib
import re
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import PIL
import pytest
from PIL import Image

from solitaire_env import render
from solitaire_env.core.cards import SUIT_SYMBOLS, parse_card
from solitaire_env.env import SolitaireEnv
from solitaire_env.notation import Move, Position, parse_position
from solitaire_env.render import LARGEST, SMALLEST, check_render_mode, check_render_size, picture
from solitaire_env.render.board import lay_out
from solitaire_env.render.picture import card_image, render_rgb
from solitaire_env.render.svg import render_svg, sentence
from solitaire_env.variants import Variant
from tests.conftest import Refuses
from tests.games import DISPLAYED
from tests.recorded import recorded_game

FOLDER = Path(__file__).parents[1] / "pictures"
FONT_HASH = "e2d79df9984d1c41"
PIXEL_HASHES = {
    "forty-thieves": "a76e49de99e9b00e",
    "eighty-thieves": "07ddcc2908f6b116",
    "eights-down": "8f66ca7f20b08ef3",
    "forty-bandits": "ea0b4d8249ab82c7",
    "busy-aces": "84f5d137b2981fde",
}
"""Hashes of the pictures under tests/pictures, drawn with the Pillow that constraints.txt names."""


def scene(name: str, steps: int = 60) -> tuple[Position, Move]:
    """A published game's recorded deal, after some moves."""
    game = recorded_game(name)
    deal, actions = game.deal, game.actions
    env = SolitaireEnv(name, on_invalid="raise")
    env.reset(options={"deal": deal})
    for text in actions[:steps]:
        move = env.move(env.parse_action(text))
        env.step(env.parse_action(text))
    return parse_position(env.position(hidden=True), env.variant), move


def drawn(name: str) -> Any:
    position, move = scene(name)
    return render_rgb(position, move=move, note="The last move is marked.")


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


# ---------------------------------------------------------------------------------------- pixels


@pytest.mark.parametrize("name", PIXEL_HASHES)
def test_the_same_position_gives_the_same_pixels(name: str) -> None:
    pixels = drawn(name)
    assert pixels.shape == (600, 800, 3) and pixels.dtype == np.uint8
    picture.card_image.cache_clear()
    np.testing.assert_array_equal(drawn(name), pixels)
    kept = np.asarray(Image.open(FOLDER / f"{name}.png").convert("RGB"))
    # Another Pillow may smooth letters differently; the positions of things stay.
    different = np.abs(pixels.astype(int) - kept).max(axis=2) > 96
    assert different.mean() < 0.005
    if PIL.__version__ == pinned_pillow():
        assert digest(pixels.tobytes()) == PIXEL_HASHES[name]
        np.testing.assert_array_equal(pixels, kept)


def pinned_pillow() -> str:
    text = (Path(__file__).parents[2] / "constraints.txt").read_text(encoding="utf-8")
    found = re.search(r"^pillow==(\S+)$", text, flags=re.MULTILINE)
    assert found is not None
    return found[1]


def test_the_font_comes_with_its_license() -> None:
    folder = Path(render.__file__).parent / "fonts"
    assert digest((folder / picture.FONT).read_bytes()) == FONT_HASH
    assert "Bitstream Vera Fonts Copyright" in (folder / "LICENSE-DejaVu.txt").read_text(encoding="utf-8")
    shapes = {bytes(picture._font(40.0).getmask(letter)) for letter in f"A23456789TJQK10{SUIT_SYMBOLS}"}
    assert len(shapes) == 19, "a glyph is missing, or two are the same"


@pytest.mark.parametrize("size", [(SMALLEST, SMALLEST), (97, 301), (1001, 333), (1280, 720)])
@pytest.mark.parametrize("name", PIXEL_HASHES)
def test_pictures_can_have_any_size(name: str, size: tuple[int, int]) -> None:
    position, move = scene(name)
    pixels = render_rgb(position, size, move=move, chosen=("t1", 1), targets={"t2"}, note="n" * 300)
    assert pixels.shape == (size[1], size[0], 3)
    assert len(np.unique(pixels @ np.array([1 << 16, 1 << 8, 1]))) > 20


@pytest.mark.parametrize("variant", DISPLAYED.values(), ids=DISPLAYED)
def test_every_game_is_drawn(variant: Variant) -> None:
    env = SolitaireEnv(variant)
    env.reset(options={"deal": 1})
    before = render_rgb(parse_position(env.position(hidden=True), variant), (160, 120))
    if variant.stock:
        move = env.move(0)
        env.step(0)
        after = parse_position(env.position(hidden=True), variant)
        assert not np.array_equal(render_rgb(after, (160, 120)), before)
        assert not np.array_equal(render_rgb(after, (160, 120), move=move), render_rgb(after, (160, 120)))


def test_a_card_of_two_possible_suits_shows_both() -> None:
    """On foundations of alternating colors only rank and color of the last card are known."""
    diamonds, hearts = parse_card("2D"), parse_card("2H")
    both = card_image(diamonds, 120, other=hearts)
    assert both.size == card_image(diamonds, 120).size
    assert len({image.tobytes() for image in (both, card_image(diamonds, 120), card_image(hearts, 120))}) == 3


def test_each_mark_changes_the_picture() -> None:
    position, move = scene("busy-aces")
    pictures = {
        render_rgb(position, **marks).tobytes()  # type: ignore[arg-type]
        for marks in (
            {},
            {"move": move},
            {"chosen": ("waste", 1)},
            {"targets": {"t1"}},
            {"note": "note"},
            {"caption": "caption"},
        )
    }
    assert len(pictures) == 6


def test_the_caller_may_change_the_picture() -> None:
    position, _ = scene("busy-aces")
    first = render_rgb(position)
    first[:] = 0
    assert render_rgb(position).any()


# ------------------------------------------------------------------------------------------- SVG


@pytest.mark.parametrize("name", PIXEL_HASHES)
def test_svg_is_one_accessible_picture(name: str) -> None:
    position, move = scene(name)
    text = render_svg(position, width=500, move=move, chosen=("t1", 1), targets={"t2"}, note="<&>")
    root = ElementTree.fromstring(text)
    space = "{http://www.w3.org/2000/svg}"
    assert root.tag == f"{space}svg" and root.get("role") == "img" and root.get("width") == "500"
    assert root[0].tag == f"{space}title" and root[0].text == sentence(position)
    assert {element.tag for element in root.iter()} <= {
        f"{space}{tag}" for tag in ("svg", "title", "rect", "text")
    }
    assert "href" not in text and "url(" not in text and "<style" not in text and len(text) < 60_000
    board = lay_out(position, move=move)
    texts = [element.text for element in root.iter(f"{space}text")]
    assert "<&>" in texts
    for spot in board.spots:
        if spot.card > 1:
            assert any(text and text[-1] == SUIT_SYMBOLS[spot.card & 3] for text in texts)
    assert sum(text in SUIT_SYMBOLS for text in texts if text) == sum(
        not spot.covered and (spot.card > 1 or spot.suit is not None) for spot in board.spots
    )


def test_the_sentence_describes_the_position() -> None:
    text = "variant: eights-down\nfoundations: C 13 D 13 H 13 S 11\ncells: -- -- KS -- -- -- -- --\nt1: QS\n"
    position = parse_position(text + "".join(f"t{n}:\n" for n in range(2, 9)))
    said = sentence(position)
    assert said.startswith("Eights Down: 50 of 52 cards home. Cells: KS. Pile 1: QS. Pile 2: empty. ")
    position, _ = scene("busy-aces")
    assert f"Stock: {len(position.stock)} cards. Waste: " in sentence(position)


def test_notebooks_show_positions_and_environments() -> None:
    env = SolitaireEnv("busy-aces")
    assert env._repr_html_() is None
    env.reset(options={"deal": 7})
    position = parse_position(env.position(hidden=True), env.variant)
    assert position._repr_html_() == render_svg(position)
    assert "Busy Aces, deal 7: 0 of 104 cards home" in str(env._repr_html_())
    env.step(0)
    assert "#ffb400" not in str(env._repr_html_()), "the last move is known with a render mode only"
    env = SolitaireEnv("busy-aces", render_mode="ansi")
    env.reset(options={"deal": 7})
    env.step(0)
    shown = str(env._repr_html_())
    assert "#ffb400" in shown and "draw a card from the stock (draw)" in shown


# ------------------------------------------------------------------------------------- arguments


@pytest.mark.parametrize(
    "size", [None, 5, "800x600", (800,), (800, 600, 3), (63, 600), (800, 4097), (8.5, 600)]
)
def test_invalid_sizes_raise_an_error(size: Any, refuses: Refuses) -> None:
    refuses(lambda: check_render_size(size), "render_size", f"{SMALLEST} to {LARGEST} pixels each")


def test_valid_sizes_are_accepted() -> None:
    assert check_render_size([np.int64(100), 4096]) == (100, 4096)


def test_render_modes_name_their_missing_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    assert check_render_mode(None) is None and check_render_mode("human") == "human"
    extra = re.escape('pip install "solitaire-env[render]"')
    monkeypatch.setitem(sys.modules, "pygame", None)
    assert check_render_mode("rgb_array") == "rgb_array"
    with pytest.raises(ImportError, match=f"render_mode='human' needs pygame: {extra}"):
        check_render_mode("human")
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ImportError, match=f"render_mode='rgb_array' needs PIL: {extra}"):
        SolitaireEnv("busy-aces", render_mode="rgb_array")
    env = SolitaireEnv("busy-aces", render_mode="ansi")
    env.reset(seed=0)
    assert env.render() and "<svg" in str(env._repr_html_())


def record() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name in PIXEL_HASHES:
        pixels = drawn(name)
        Image.fromarray(pixels).save(FOLDER / f"{name}.png", optimize=True)
        print(f'    "{name}": "{digest(pixels.tobytes())}",')
    print(digest((Path(render.__file__).parent / "fonts" / picture.FONT).read_bytes()))


if __name__ == "__main__":
    record()
