"""PileNetwork: reads the cards themselves, with the same weights for all piles.

Tableau piles share their weights, and so do cells. Permuting the piles permutes the scores of their actions
and leaves the value unchanged.
"""

import torch as th
from torch import nn
from torch.nn import functional as F

from agents.networks.mlp import NUM_CODES, DenseNetwork
from solitaire_env.core.spec import GameSpec


class PileNetwork(DenseNetwork):
    """Scores of all actions, and features for the value, from a batch of ``cards`` observations.

    A *token* is a vector for each source: tableau piles, waste, cells. A pile's token is a sum over its
    cards, counted from the playable end: the card's embedding, weighted by depth, and the distance to its
    foundation. In each round the tokens read a context, the mean and the maximum over all tokens. Scores of
    moves home, to cells and to spaces are linear in the token of the source; the score of a move onto a pile
    is the product of a query of the source and a key of the target.

    Parameters
    ----------
    spec
        The game as the network sees it, with ``observation="cards"``.
    width
        Size of a token.
    embedding
        Size of a card's embedding.
    cards_per_pile
        Number of cards of a pile that are read, from its playable end; 0 for all.
    context_rounds
        Number of times that the tokens read the context.
    """

    def __init__(
        self, spec: GameSpec, width: int = 64, embedding: int = 16, cards_per_pile: int = 0,
        context_rounds: int = 2,
    ) -> None:  # fmt: skip
        super().__init__()
        if spec.settings.observation != "cards":
            raise ValueError(f"network 'piles' reads observation 'cards', not {spec.settings.observation!r}")
        if not plays(spec):
            raise ValueError(
                f"network 'piles' does not play {spec.variant.name}: it scores no redeals, no cards that "
                "go back from a foundation and no sequences out of order; network 'moves' does"
            )
        rules = spec.rules
        self.slices = spec.slices
        self.piles, self.cells, self.waste = rules.piles, rules.cells, bool(rules.has_stock)
        self.decks, self.ranks = rules.decks, rules.ranks
        self.capacity = self.slices["t1"].stop - self.slices["t1"].start
        self.depth = min(cards_per_pile or self.capacity, self.capacity)
        self.width = width
        self.sources = self.piles + int(self.waste) + self.cells
        offsets = spec.actions.offsets
        self.has_draw, self.has_cell = "draw" in offsets, "cell" in offsets
        self.space_counts = rules.space_counts if "space" in offsets else 0
        self._make_constants()
        self._make_tokens(embedding)
        self._make_rounds(context_rounds)
        self._make_heads()

    def _make_constants(self) -> None:
        """Make the tables by card code, depth or action."""
        self.rank: th.Tensor
        self.suit: th.Tensor
        self.from_end: th.Tensor
        self.slot: th.Tensor
        self.pair_index: th.Tensor
        codes = th.arange(NUM_CODES)
        self.register_buffer("rank", codes >> 2, persistent=False)
        self.register_buffer("suit", codes & 3, persistent=False)
        self.register_buffer("from_end", th.arange(self.depth), persistent=False)
        self.register_buffer("slot", th.arange(self.depth) * NUM_CODES, persistent=False)
        # Indices of the moves onto piles in the source x target matrix, in order of their numbers.
        pairs = [s * self.piles + t for s in range(self.sources) for t in range(self.piles) if s != t]
        self.register_buffer("pair_index", th.tensor(pairs), persistent=False)

    def _make_tokens(self, embedding: int) -> None:
        """Make the layers of the tokens of sources, and of a vector for everything else."""
        width = self.width
        self.embed = nn.Embedding(NUM_CODES, embedding, padding_idx=0)
        self.pile_cards = nn.Linear(self.depth * embedding, width, bias=False)
        self.pile_rest = nn.Linear(2 * self.depth + 1, width)
        if self.waste:
            self.waste_cards = nn.Linear(self.depth * embedding, width, bias=False)
            self.waste_rest = nn.Linear(2 * self.depth + 1, width)
        if self.cells:
            self.cell_cards = nn.Linear(embedding, width, bias=False)
            self.cell_rest = nn.Linear(2, width)
        self.read_rest = nn.Linear(2 * NUM_CODES + 4 * self.decks + 2, width)

    def _make_rounds(self, rounds: int) -> None:
        """Make the layers by which tokens read the context."""
        kinds = 1 + int(self.waste) + int(bool(self.cells))
        width = self.width
        self.to_context = nn.ModuleList(nn.Linear((2 * kinds + 1) * width, width) for _ in range(rounds))
        self.from_context = nn.ModuleList(nn.Linear(width, width) for _ in range(rounds))
        self.from_token = nn.ModuleList(nn.Linear(width, width, bias=False) for _ in range(rounds))
        for layer in self.from_token:
            # A residual connection, as part of the weights instead of an addition.
            assert isinstance(layer, nn.Linear)
            with th.no_grad():
                layer.weight += th.eye(width)

    def _make_heads(self) -> None:
        """Make the layers of scores and value features, from tokens and context."""
        width = self.width
        self.score_draw = nn.Linear(width, 1)
        self.score_source = nn.Linear(width, 1 + int(self.has_cell) + self.space_counts)
        self.query = nn.Linear(width, width // 2)
        self.key = nn.Linear(width, width // 2)
        for head in (self.score_draw, self.score_source, self.query, self.key):
            nn.init.orthogonal_(head.weight, 0.1 if head in (self.score_draw, self.score_source) else 0.5)
            nn.init.zeros_(head.bias)
        self.value_features = nn.Linear(width, width)

    def forward(self, observations: th.Tensor) -> tuple[th.Tensor, th.Tensor]:
        """Scores ``[batch, actions]`` and value features ``[batch, width]`` of ``[batch, size]``."""
        tokens, rest = self._read(observations.long())
        sources, context = self._exchange(tokens, rest)
        single = self.score_source(sources)
        piles = sources[:, : self.piles]
        pairs = self.query(sources) @ self.key(piles).transpose(1, 2)
        scores = [self.score_draw(context)] if self.has_draw else []
        scores.append(single[:, :, 0])
        if self.has_cell:
            scores.append(single[:, : self.piles + int(self.waste), 1])
        scores.append(pairs.flatten(1)[:, self.pair_index])
        if self.space_counts:
            first = 1 + int(self.has_cell)
            scores.append(single[:, : self.piles, first:].flatten(1))
            scores.append(single[:, self.piles :, first])
        return th.cat(scores, 1), th.relu(self.value_features(context))

    def _read(self, codes: th.Tensor) -> tuple[list[th.Tensor], th.Tensor]:
        """The tokens ``[batch, n, width]`` by kind of source, and ``[batch, width]`` for the rest."""
        batch = len(codes)
        foundations = codes[:, self.slices["foundations"]].view(batch, 4, self.decks)
        near = self._distances(foundations)
        tableau = codes[:, : self.piles * self.capacity].view(batch, self.piles, self.capacity)
        tokens = [self._pile_tokens(tableau, near, self.pile_cards, self.pile_rest)]
        seen = [tableau.flatten(1)]
        stock = th.zeros(batch, 1, device=codes.device)
        waste = th.zeros(batch, 1, dtype=th.long, device=codes.device)
        if self.waste:
            waste = codes[:, self.slices["waste"]]
            tokens.append(self._pile_tokens(waste.unsqueeze(1), near, self.waste_cards, self.waste_rest))
            stock = codes[:, self.slices["stock_count"]] / waste.shape[1]
        if self.cells:
            cells = codes[:, self.slices["cells"]]
            tokens.append(self.cell_cards(self.embed(cells)) + self.cell_rest(_gather(near, cells)))
            seen.append(cells)
        in_play = _count_cards(th.cat(seen, 1)) / self.decks
        in_waste = _count_cards(waste) / self.decks
        spaces = (tableau[:, :, 0] == 0).float().mean(1, keepdim=True)
        home = foundations.flatten(1) / self.ranks
        return tokens, self.read_rest(th.cat((in_play, in_waste, home, stock, spaces), -1))

    def _distances(self, foundations: th.Tensor) -> tuple[th.Tensor, th.Tensor]:
        """How many cards of its suit must go home before a card can, by card code, ``[batch, 64]`` twice: for
        the fullest foundation and for the emptiest.
        """
        needed = (self.rank - 1).float().unsqueeze(0)
        fullest = (needed - foundations.amax(-1)[:, self.suit]) / self.ranks
        emptiest = (needed - foundations.amin(-1)[:, self.suit]) / self.ranks
        return fullest, emptiest

    def _pile_tokens(
        self, cards: th.Tensor, near: tuple[th.Tensor, th.Tensor], weights: nn.Linear, rest: nn.Linear
    ) -> th.Tensor:
        """Padded piles ``[batch, n, capacity]`` as tokens ``[batch, n, width]``."""
        last, heights = self._last(cards)
        gaps = _gather(near, last.flatten(1)).view(*last.shape[:2], -1)
        slots = (last + self.slot).view(-1, self.depth)
        token: th.Tensor = F.embedding_bag(slots, self._table(weights), mode="sum")
        token = token.view(*last.shape[:2], -1)
        token = token + rest(th.cat((gaps, heights.unsqueeze(-1) / cards.shape[-1]), -1))
        return token

    def _last(self, cards: th.Tensor) -> tuple[th.Tensor, th.Tensor]:
        """The last ``depth`` cards of padded piles ``[..., capacity]``, playable one first, and heights."""
        heights = (cards > 0).sum(-1)
        place = heights.unsqueeze(-1) - 1 - self.from_end
        last = cards.gather(-1, place.clamp(min=0))
        return last * (place >= 0), heights

    def _table(self, weights: nn.Linear) -> th.Tensor:
        """The contribution of each card to a token at each depth, ``[depth * 64, width]``.

        A sum of its rows does embedding, concatenation and linear layer in one step, in two thirds of the
        time. A table learned directly, without the embedding shared by all depths, learned far worse.
        """
        by_depth = weights.weight.view(self.width, self.depth, -1)
        return th.einsum("ce,wde->dcw", self.embed.weight, by_depth).reshape(-1, self.width)

    def _exchange(self, tokens: list[th.Tensor], context: th.Tensor) -> tuple[th.Tensor, th.Tensor]:
        """Tokens ``[batch, sources, width]`` and context ``[batch, width]`` after all rounds."""
        sources = th.relu(th.cat(tokens, 1))
        for to_context, from_context, from_token in zip(
            self.to_context, self.from_context, self.from_token, strict=True
        ):
            pooled = [th.relu(context)]
            for part in th.split(sources, [t.shape[1] for t in tokens], 1):
                pooled += [part.mean(1), part.max(1).values]
            context = context + to_context(th.cat(pooled, -1))
            sources = th.relu_(from_token(sources) + from_context(th.relu(context)).unsqueeze(1))
        return sources, th.relu(context)


def plays(spec: GameSpec) -> bool:
    """Whether the network has a score for each kind of action of a game."""
    return not {"redeal", "worry"} & set(spec.actions.offsets) and spec.rules.tableau_counts == 1


def _gather(near: tuple[th.Tensor, th.Tensor], cards: th.Tensor) -> th.Tensor:
    """The two distances of cards, ``[batch, n]`` as ``[batch, n, 2]``; 0 where there is no card."""
    both = th.stack([distance.gather(1, cards) for distance in near], -1)
    return both * (cards > 0).unsqueeze(-1)


def _count_cards(cards: th.Tensor) -> th.Tensor:
    """How often each code occurs in ``[batch, n]``, float ``[batch, 64]``, empty places not counted."""
    counts = th.zeros(cards.shape[0], NUM_CODES, device=cards.device)
    counts.scatter_add_(1, cards, (cards > 0).float())
    return counts
