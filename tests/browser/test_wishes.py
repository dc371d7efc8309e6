"""What players ask for: popular games, one tap, cards that go home by themselves, times, looks."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from solitaire_env.variants import POPULAR, get_variant
from tests.browser.conftest import OpenPage
from tests.browser.reading import ready

pytestmark = pytest.mark.external


def test_the_page_opens_with_klondike_and_lists_popular_games_first(home: str, open_page: OpenPage) -> None:
    page = ready(open_page(home))
    expect(page.locator("h1")).to_have_text(re.compile(r"Klondike, deal \d{1,6}$"))
    page.locator("#open-new").click()
    expect(page.locator("#game .group").first).to_have_text(f"Popular, {len(POPULAR)}")
    titles = page.locator("#game label").all_inner_texts()
    assert titles[: len(POPULAR)] == [get_variant(name).title for name in POPULAR]
    assert len(titles) == len(set(titles))
