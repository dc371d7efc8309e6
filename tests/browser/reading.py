"""Reads a game from a page in the browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Page, Route, expect

from solitaire_env.notation import Position
from solitaire_env.play.piles import board
from tests.browser.conftest import TIMEOUT

READ = """() => Object.fromEntries([...document.querySelectorAll("#board [data-pile]")].map((pile) => [
  pile.dataset.pile,
  pile.dataset.pile === "stock"
    ? pile.querySelector(".number").textContent
    : [...pile.querySelectorAll(".card")].map((card) => card.dataset.card).join(" "),
]))"""


def drawn(page: Page) -> dict[str, str]:
    """The cards of each pile on the board of a page."""
    piles: dict[str, str] = page.evaluate(READ)
    return piles


def expected(position: Position) -> dict[str, str]:
    """What :func:`drawn` returns for a position."""
    piles = {name: "" if str(pile)[:1] == "-" else str(pile) for name, pile in board(position).items()}
    piles.pop("redeals", None)
    return piles


def pile(page: Page, name: str) -> Any:
    return page.locator(f'#board [data-pile="{name}"]')


def top(page: Page, name: str) -> Any:
    return pile(page, name).locator(".card, .base").last


def moves(page: Page, number: int) -> None:
    """Wait until the page shows the position after this number of moves."""
    # It checks at every frame; `expect` would wait 100 ms before its second look, in hundreds of moves.
    page.wait_for_function("(n) => document.getElementById('board').dataset.moves === n", arg=str(number))


def ready(page: Page) -> Page:
    """The page, after its policies have loaded."""
    expect(page.locator("#one")).to_be_enabled()
    return page


class Held:
    """Requests that a page has sent and that the server has not received."""

    def __init__(self, page: Page, after: int) -> None:
        self.page = page
        self.after = after
        self.open = False
        self.routes: list[Route] = []

    def hold(self, route: Route) -> None:
        """Hold a request."""
        self.after -= 1
        if self.open or self.after >= 0:
            route.fallback()
        else:
            self.routes.append(route)

    def wait_for(self, number: int) -> None:
        """Wait until the page has sent this many requests."""
        for _ in range(TIMEOUT // 10):
            if len(self.routes) >= number:
                return
            self.page.wait_for_timeout(10)
        raise AssertionError(f"the page sent only {[route.request.url for route in self.routes]}")

    def answer(self, number: int = 0) -> None:
        """Let the server answer a request; wait until the page has the answer."""
        route = self.routes.pop(number)
        with self.page.expect_event("requestfinished", lambda request: request == route.request):
            route.fallback()


@contextmanager
def held(page: Page, pattern: str | re.Pattern[str], after: int = 0) -> Iterator[Held]:
    """Hold the requests of a page to matching addresses, but not the first ones, until the block ends."""
    requests = Held(page, after)
    page.route(pattern, requests.hold)
    yield requests
    requests.open = True
    for route in requests.routes:
        route.fallback()
