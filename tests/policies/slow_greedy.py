"""The greedy policy in NumPy, with the scores of all actions of all games: the reference for its kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from solitaire_env.core.spec import GameSpec
from solitaire_env.policies.greedy import LAST

Array = npt.NDArray[Any]


class SlowGreedy:
    """Scores as :class:`~solitaire_env.policies.greedy.Greedy` describes them."""

    def __init__(self, spec: GameSpec) -> None:
        layout = spec.layout
        self.layout = layout
        self.build = spec.variant.build
        self.kings_lead = spec.variant.spaces == "kings" and spec.variant.moves != "one card"
        self.ranks = spec.variant.ranks
        self.piles = layout["piles"]
        self.waste = layout["waste"]
        self.sources = self.piles + layout["waste"] + layout["cells"]
        start, stop = layout["slices"]["t1"]
        self.capacity = stop - start
        self.offsets = layout["offsets"]
        pairs = [(s, t) for s in range(self.sources) for t in range(self.piles) if s != t]
        self.pair_source = np.array([s for s, _ in pairs])
        self.pair_target = np.array([t for _, t in pairs])
        counts = layout["space_counts"]
        self.space_source = np.array(
            [s for s in range(self.piles) for _ in range(counts)] + list(range(self.piles, self.sources))
        )
        self.space_count = np.array(
            list(range(1, counts + 1)) * self.piles + [1] * (self.sources - self.piles)
        )

    def __call__(self, observations: Array, masks: Array) -> Array:
        """Actions ``[n]``."""
        scores = np.where(masks > 0, self.scores(observations.astype(np.int64)), -np.inf)
        actions: npt.NDArray[np.int64] = scores.argmax(1)
        return actions

    def scores(self, codes: Array) -> Array:
        """The score of every action, legal or not, float ``[n, actions]``."""
        table = _Table(self, codes)
        scores = np.full((len(codes), self.layout["actions"]), LAST)
        # Home.
        scores[:, slice(*self.offsets["home"])] = 1000.0 - (table.top >> 2)
        scores[:, slice(*self.offsets["tableau"])] = self._tableau_scores(table)
        if "space" in self.offsets:
            scores[:, slice(*self.offsets["space"])] = self._space_scores(table, codes)
        if "draw" in self.offsets:
            scores[:, 0] = 350.0
        if "cell" in self.offsets:
            dug = self._dug_pile(table, codes)
            cell = np.full((len(codes), self.piles + self.waste), 10.0)
            cell[:, : self.piles] = np.where(dug, 100.0, LAST)
            scores[:, slice(*self.offsets["cell"])] = cell
            scores[:, slice(*self.offsets["tableau"])][dug[:, self.pair_target]] = LAST
        return scores

    def _fits(self, card: Array, onto: Array) -> Array:
        """Whether cards fit onto others."""
        suits_fit = {
            "same suit": card & 3 == onto & 3,
            "alternate color": ((card + 1) & 2) != ((onto + 1) & 2),
            "any suit": np.ones(card.shape, dtype=np.bool_),
        }[self.build]
        found: Array = suits_fit & (onto >> 2 == (card >> 2) + 1)
        return found

    def _tableau_scores(self, table: _Table) -> Array:
        """Onto piles: a sequence is moved from where it breaks."""
        source, target = self.pair_source, self.pair_target
        count = (table.top[:, target] >> 2) - (table.top[:, source] >> 2)
        from_pile = source < self.piles
        pile = np.where(from_pile, source, 0)[None, :].repeat(len(table.top), 0)
        lowest = table.card_at(count, pile)
        under = table.card_at(count + 1, pile)
        heights = table.heights[table.rows, pile]
        breaks = ~self._fits(lowest, under) & from_pile
        value = np.where(
            from_pile, 800.0 + 20.0 * (heights == count) - heights, 700.0 + (table.top[:, source] >> 2)
        )
        scores: Array = np.where(breaks | ~from_pile, value, LAST)
        return scores

    def _space_scores(self, table: _Table, codes: Array) -> Array:
        """To spaces: short piles first, which soon leave another space; the waste's card before drawing,
        once.
        """
        n = len(codes)
        source, count = self.space_source, self.space_count[None, :].repeat(n, 0)
        from_pile = source < self.piles
        pile = np.where(from_pile, source, 0)[None, :].repeat(n, 0)
        if self.kings_lead:
            count = np.where(from_pile, self.ranks + 1 - (table.top[:, source] >> 2), 1)
        lowest, under = table.card_at(count, pile), table.card_at(count + 1, pile)
        whole = (under != 0) & ~self._fits(lowest, under)
        heights = table.heights[table.rows, pile]
        value = np.where(from_pile, 400.0 - 10.0 * heights + count, 300.0 + (table.top[:, source] >> 2))
        if self.waste:
            # One pass: a card of the waste that is not placed is soon covered.
            stock = codes[:, slice(*self.layout["slices"]["stock_count"])]
            value = np.where(source == self.piles, np.where(stock > 0, 360.0, 450.0), value)
        scores: Array = np.where(~from_pile | whole, value, LAST)
        return scores

    def _dug_pile(self, table: _Table, codes: Array) -> Array:
        """Bool ``[n, piles]``: the pile where a next foundation card lies under the fewest cards."""
        slices = self.layout["slices"]
        foundations = codes[:, slice(*slices["foundations"])].reshape(len(codes), 4, -1)
        needed = foundations[table.rows[:, :, None], table.tableau & 3] + 1
        above = table.heights[:, :, None] - 1 - np.arange(self.capacity)
        wanted = (table.tableau > 0) & (table.tableau[..., None] >> 2 == needed).any(-1)
        buried = np.where(wanted, above, self.capacity).min(2)
        every = np.arange(self.piles)[None, :]
        dug: Array = (every == buried.argmin(1)[:, None]) & (buried < self.capacity)
        return dug


class _Table:
    """The cards of some games: tableau ``[n, piles, capacity]``, heights, and the playable card of each
    source.
    """

    def __init__(self, policy: SlowGreedy, codes: Array) -> None:
        n, piles, slices = len(codes), policy.piles, policy.layout["slices"]
        self.rows = np.arange(n)[:, None]
        self.capacity = policy.capacity
        self.tableau = codes[:, : piles * policy.capacity].reshape(n, piles, policy.capacity)
        self.heights = (self.tableau > 0).sum(2)
        tops = [self.card_at(1, np.arange(piles)[None, :].repeat(n, 0))]
        if policy.waste:
            waste = codes[:, slice(*slices["waste"])]
            height = (waste > 0).sum(1)
            tops.append(np.where(height > 0, waste[np.arange(n), np.maximum(height - 1, 0)], 0)[:, None])
        if policy.layout["cells"]:
            tops.append(codes[:, slice(*slices["cells"])])
        self.top = np.concatenate(tops, 1)

    def card_at(self, depth: Array | int, piles: Array) -> Array:
        """The card at a depth (1 is the playable one) of piles ``[n, k]``; 0 if there is none."""
        place = self.heights[self.rows, piles] - depth
        there = (place >= 0) & (depth > 0)
        card = self.tableau[self.rows, piles, np.clip(place, 0, self.capacity - 1)]
        found: Array = np.where(there, card, 0)
        return found
