"""Write the pictures of the pages in the browser: ``python -m docs.pictures``.

It needs the extra ``browser`` and Debian's ``chromium``, and writes ``images/browser.png``,
``images/replay.png`` and ``images/playing.gif``, in which a policy plays.
"""

import io
import os
import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from solitaire_env.evaluation import evaluate
from solitaire_env.play.replay_page import replay_page
from solitaire_env.play.server import Server, listen
from solitaire_env.transcripts import parse_transcript

IMAGES: Final = Path(__file__).parent / "images"
CHROMIUM: Final = os.environ.get("CHROMIUM") or shutil.which("chromium") or "/usr/bin/chromium"
WIDTH: Final = 560
"""Of the moving picture, in pixels."""
FRAME: Final = 350
"""How long one of its frames is shown, in milliseconds."""


@contextmanager
def serving() -> Iterator[str]:
    """The address of a server."""
    with listen("127.0.0.1", 0) as listener, Server(listener) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
        finally:
            server.shutdown()
            thread.join()


def open_page(browser: Browser, address: str, width: int, height: int, **more: Any) -> Page:
    """A page without movement, when its policies are known."""
    page = browser.new_page(viewport={"width": width, "height": height}, reduced_motion="reduce", **more)
    page.goto(address)
    page.locator("#one:enabled, #forward:enabled").wait_for()
    return page


def one_move(page: Page) -> None:
    """Have the policy make a move."""
    before = page.locator("#board").get_attribute("data-moves")
    page.locator("#one").click()
    page.locator(f"#board:not([data-moves='{before}'])").wait_for()


def picture_playing(browser: Browser, home: str) -> None:
    """A policy plays a game of Eights Down to its end; an arrow shows each move before it is played."""
    page = open_page(browser, f"{home}?game=eights-down&deal=20", 999, 560)
    frames: list[Image.Image] = []

    def shoot() -> None:
        shot = Image.open(io.BytesIO(page.locator(".board-frame").screenshot()))
        small = shot.resize((WIDTH, round(shot.height * WIDTH / shot.width)), Image.Resampling.LANCZOS)
        frames.append(small.convert("RGB").quantize(64, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE))

    page.locator("#thinking").check()
    while page.locator("#one").is_enabled():
        page.locator(".arrow").first.wait_for()
        shoot()
        one_move(page)
    shoot()
    times = [FRAME] * (len(frames) - 1) + [3000]
    frames[0].save(
        IMAGES / "playing.gif", save_all=True, append_images=frames[1:], duration=times, loop=0, optimize=True
    )


def picture_browser(browser: Browser, home: str) -> None:
    """Klondike with names of piles; an arrow shows what a policy would do."""
    page = open_page(browser, f"{home}?game=klondike&deal=7", 1280, 800)
    for _ in range(38):
        one_move(page)
    page.locator("#labels").check()
    page.locator(".side").evaluate("(side) => side.scrollTo(0, 0)")
    page.locator("#hint").click()
    page.locator(".arrow").first.wait_for()
    page.screenshot(path=IMAGES / "browser.png")


def picture_replay(browser: Browser) -> None:
    """A game of Busy Aces on its replay page, in the dark theme."""
    played = evaluate("greedy", "busy-aces", [29], transcripts=True)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "game.html"
        file.write_text(replay_page(parse_transcript(played.transcripts[29])), encoding="utf-8")
        page = open_page(browser, f"{file.as_uri()}#move=140", 1280, 800, color_scheme="dark")
        page.screenshot(path=IMAGES / "replay.png")


def main() -> None:
    """Write them all."""
    with sync_playwright() as playwright, serving() as home:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        picture_browser(browser, home)
        picture_replay(browser)
        picture_playing(browser, home)
        browser.close()
    for path in sorted(IMAGES.glob("*")):
        print(f"{path.name}: {path.stat().st_size / 1000:,.0f} kB")


if __name__ == "__main__":
    main()
