"""Chromium, and a server to play on."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from solitaire_env.play.server import Server, listen

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or "/usr/bin/chromium"
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
TIMEOUT = 20_000  # ms
# Two clicks on a card are a double click, however slow the machine is.
QUICK_CLICKS = 'Object.defineProperty(Event.prototype, "timeStamp", { value: 0 })'
SCREENSHOTS = Path(__file__).parents[2] / ".cache" / "screenshots"

OpenPage = Callable[..., Page]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    expect.set_options(timeout=TIMEOUT)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def home() -> Iterator[str]:
    """Address of a server with two policies besides the page's own."""
    policies = ["tests.play.policies:First", "tests.play.policies:Whim"]
    with listen("127.0.0.1", 0) as listener, Server(listener, policies) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
        server.shutdown()
        thread.join()


@pytest.fixture
def open_page(browser: Browser) -> Iterator[OpenPage]:
    """``open_page(url, width=, scheme=)``: open a page; the test fails if it logs an error or sends a request
    to another server. Animations are off, unless a test turns them on.
    ``refused=True`` allows the server to refuse requests.
    """
    pages: list[Page] = []
    faults: list[str] = []

    def open_page(
        url: str,
        *,
        width: int = 1280,
        height: int = 900,
        scheme: Any = "light",
        refused: bool = False,
        **more: Any,
    ) -> Page:
        more = {"reduced_motion": "reduce", **more}
        page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme, **more)
        page.add_init_script(QUICK_CLICKS)
        page.set_default_timeout(TIMEOUT)
        own = url.partition("#")[0].partition("?")[0]

        def look(request: Any) -> None:
            if not request.url.startswith((own, "data:")):
                faults.append(f"asked {request.url}")

        def hear(message: Any) -> None:
            if not (refused and message.text.startswith("Failed to load resource")):
                faults.append(f"{message.type}: {message.text}")

        page.on("console", hear)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("request", look)
        page.goto(url)
        pages.append(page)
        return page

    yield open_page
    for page in pages:
        page.context.close()
    assert not faults
