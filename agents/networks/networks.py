"""Networks that score the legal moves of games and say what a position is worth.

All answer ``score(observations, masks)``, with the scores of the legal moves one after another
(:class:`Scores`), and ``value(observations)``. :class:`MovesNetwork` reads what :mod:`solitaire_env.move_features.moves` sees of
each move and of the position after it. :class:`PileNetwork` reads the cards themselves; it treats alike what
is alike: tableau piles share their weights, so do cells, and permuting piles permutes the scores of their
actions and leaves the value as it is.
"""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch as th
from sb3_contrib.common.maskable.distributions import MaskableCategoricalDistribution
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from torch import nn
from torch.nn import functional as F

from agents.networks.cache import Memory
from solitaire_env.move_features.moves import DIGS, NUM_MOVE, Look, look, moves_of, num_position
from solitaire_env.move_features.onward import Onward, num_onward

Array = npt.NDArray[Any]

NUM_CODES = 64


class Scores(NamedTuple):
    """What a network says of games: a score for each legal move, game by game, and features for the value."""

    games: th.Tensor
    """int64 ``[moves]``."""
    actions: th.Tensor
    """int64 ``[moves]``."""
    scores: th.Tensor
    """float ``[moves]``: the logits of the choice among the moves of a game."""
    features: th.Tensor
    """float ``[games, width]``, from which a linear layer reads the value."""

    def highest(self, numbers: th.Tensor) -> th.Tensor:
        """The highest of some numbers of the moves, for each game: ``[games]`` of ``[moves]``."""
        lowest = numbers.new_full((len(self.features),), -th.inf)
        return lowest.scatter_reduce(0, self.games, numbers, "amax")

    def choose(self, numbers: th.Tensor) -> th.Tensor:
        """For each game, which of the moves has the highest number: places ``[games]``."""
        highest = (numbers == self.highest(numbers)[self.games]).nonzero()[:, 0]
        chosen = highest.new_full((len(self.features),), -1).index_copy(0, self.games[highest], highest)
        if (chosen < 0).any():
            raise ValueError("the network has diverged: its scores are no numbers any more")
        return chosen

    def of(self, actions: th.Tensor, numbers: th.Tensor) -> th.Tensor:
        """The number of an action of each game, ``[games]`` of ``[moves]``; 0 where it is not legal."""
        taken = (self.actions == actions[self.games]).nonzero()[:, 0]
        return numbers.new_zeros(len(self.features)).index_add(0, self.games[taken], numbers[taken])

    def logs(self) -> th.Tensor:
        """Logarithms of the probabilities of the moves, the scores being logits: ``[moves]``."""
        shifted = self.scores - self.highest(self.scores.detach())[self.games]
        total = shifted.new_zeros(len(self.features)).index_add(0, self.games, shifted.exp())
        return shifted - total.log()[self.games]

    def dense(self, actions: int) -> th.Tensor:
        """The scores as ``[games, actions]``; minus infinity where an action is not legal."""
        empty = self.scores.new_full((len(self.features), actions), -th.inf)
        return empty.index_put((self.games, self.actions), self.scores)


class DenseNetwork(nn.Module):
    """A network that scores all actions, legal or not; ``forward(observations)`` gives them, and features."""

    def score(self, observations: th.Tensor, masks: Array) -> Scores:
        """Observations ``[n, size]``, masks ``[n, actions]``."""
        scores, features = self(observations)
        games, actions = (th.from_numpy(part).to(scores.device) for part in masks.nonzero())
        return Scores(games, actions, scores[games, actions], features)

    def value(self, observations: th.Tensor) -> th.Tensor:
        """The features for the value alone, ``[n, width]``."""
        features: th.Tensor = self(observations)[1]
        return features


class MovesNetwork(nn.Module):
    """Scores of the legal moves from what :mod:`solitaire_env.move_features.moves` sees of them.

    Each move goes through the same multilayer perceptron, which reads the move, the position after it, and
    the position before. Beside it stands a weighted sum of the numbers of the move, as in the linear policy,
    from whose weights it may start.

    Parameters
    ----------
    layout
        ``describe_layout`` of the environment, with ``observation="cards"``.
    hidden
        Sizes of the hidden layers for moves.
    width
        Size of the two hidden layers for the value.
    digs
        Rounds of digs that are read of a position.
    onward
        So many moves at most the linear policy goes on from each position, and where it comes to is read too
        (:mod:`solitaire_env.move_features.onward`); 0: it does not.
    reach
        So many numbers are read of how far the cards at hand would reach (:mod:`solitaire_env.move_features.reach`).
    """

    def __init__(
        self, layout: dict[str, Any], hidden: tuple[int, ...] = (64, 32), width: int = 64, digs: int = DIGS,
        onward: int = 0, reach: int = 0,
    ) -> None:  # fmt: skip
        super().__init__()
        self.habit: th.Tensor
        """The linear policy's weights: a training begins with them, a model keeps them. Zeros go nowhere."""
        if layout["observation"] != "cards":
            raise ValueError(f"network 'moves' reads observation 'cards', not {layout['observation']!r}")
        self.moves = moves_of(layout)
        self.memory: Memory | None = None
        """Of positions that are looked at several times, if any."""
        self.width = width
        self.digs = digs
        self.reach = reach
        self.onward = Onward(layout, self.moves, onward, reach) if onward else None
        if onward:
            self.register_buffer("habit", th.zeros(NUM_MOVE))
        size = num_position(digs, reach) + (num_onward(reach) if onward else 0)
        self.sizes = NUM_MOVE + size, size
        """How many numbers are read of a move, and of a position."""
        self.read_move = nn.Linear(NUM_MOVE + size, hidden[0])
        self.read_position = nn.Linear(size, hidden[0], bias=False)
        self.body = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise(hidden))
        self.norms = nn.ModuleList(nn.LayerNorm(size) for size in hidden)
        self.head = nn.Linear(hidden[-1], 1, bias=False)
        nn.init.orthogonal_(self.head.weight, 0.1)
        self.linear = nn.Linear(NUM_MOVE, 1, bias=False)
        nn.init.zeros_(self.linear.weight)
        self.to_value = nn.Sequential(nn.Linear(size, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())

    def look(self, observations: Array, masks: Array) -> Look:
        """Look at games, int8 ``[n, size]``, masks ``[n, actions]``: see :func:`solitaire_env.move_features.moves.look`."""
        seen = look(observations, masks, self.moves, digs=self.digs, reach=self.reach)
        if self.onward is None:
            return seen
        return self.onward.lengthen(seen, observations, self.habit.double().cpu().numpy())

    def score(self, observations: th.Tensor, masks: Array) -> Scores:
        """Observations ``[n, size]``, masks ``[n, actions]``."""
        device = observations.device
        codes = observations.cpu().numpy().astype(np.int8, copy=False)
        seen = self.memory.look(codes, masks) if self.memory else self.look(codes, masks)
        games, actions, moves, positions = (th.from_numpy(part).to(device) for part in seen)
        hidden = self.read_move(moves) + self.read_position(positions)[games]
        hidden = th.relu(self.norms[0](hidden))
        for layer, norm in zip(self.body, self.norms[1:], strict=True):
            hidden = th.relu(norm(layer(hidden)))
        scores = self.head(hidden) + self.linear(moves[:, :NUM_MOVE])
        return Scores(games, actions, scores[:, 0], self.to_value(positions))

    @th.no_grad()
    def divide_scores(self, divisor: float) -> None:
        """From now on all scores are that much smaller."""
        self.head.weight /= divisor
        self.linear.weight /= divisor

    def value(self, observations: th.Tensor) -> th.Tensor:
        """The features for the value alone, ``[n, width]``."""
        codes = observations.cpu().numpy().astype(np.int8, copy=False)
        seen = self.look(codes, np.zeros((len(codes), 0), dtype=np.int8)).positions
        features: th.Tensor = self.to_value(th.from_numpy(seen).to(observations.device))
        return features


class PileNetwork(DenseNetwork):
    """Scores of all actions, and features for the value, from a batch of ``cards`` observations.

    A *token* is a vector for each source: tableau piles, waste, cells. A pile's token is a sum over its
    cards, aligned from the playable end: of its embedding, weighted by depth, and of how far its
    foundation is from taking it. In each round a token takes in the mean and maximum over the
    piles. Scores: linear in the token of the source for moves home, to cells and to spaces; a product of a
    query of the source and a key of the target onto piles.

    Parameters
    ----------
    layout
        ``describe_layout`` of the environment, with ``observation="cards"``.
    width
        Size of a token.
    embedding
        Size of a card's embedding.
    depth
        So many cards of a pile are read from its playable end; all when 0.
    rounds
        Times that tokens take in the context.
    """

    kind = "piles"

    def __init__(
        self, layout: dict[str, Any], width: int = 64, embedding: int = 16, depth: int = 0, rounds: int = 2
    ) -> None:
        super().__init__()
        if layout["observation"] != "cards":
            raise ValueError(
                f"network {self.kind!r} reads observation 'cards', not {layout['observation']!r}"
            )
        self.layout = layout
        slices = layout["slices"]
        self.piles = layout["piles"]
        self.capacity = slices["t1"][1] - slices["t1"][0]
        self.depth = min(depth or self.capacity, self.capacity)
        self.waste = bool(layout["waste"])
        self.cells = layout["cells"]
        self.width = width
        self.sources = self.piles + int(self.waste) + self.cells

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
        self.register_buffer("pair_index", self._pair_index(), persistent=False)

        self.embed = nn.Embedding(NUM_CODES, embedding, padding_idx=0)
        self.pile_cards = nn.Linear(self.depth * embedding, width, bias=False)
        self.pile_rest = nn.Linear(2 * self.depth + 1, width)
        if self.waste:
            self.waste_cards = nn.Linear(self.depth * embedding, width, bias=False)
            self.waste_rest = nn.Linear(2 * self.depth + 1, width)
        if self.cells:
            self.cell_cards = nn.Linear(embedding, width, bias=False)
            self.cell_rest = nn.Linear(2, width)
        self.read_rest = nn.Linear(2 * NUM_CODES + 4 * layout["decks"] + 2, width)
        self._make_rounds(rounds)

        offsets = layout["offsets"]
        self.has_draw, self.has_cell, self.has_space = (
            "draw" in offsets,
            "cell" in offsets,
            "space" in offsets,
        )
        self.space_counts = layout["space_counts"]
        self.score_draw = nn.Linear(width, 1)
        singles = 1 + int(self.has_cell) + (self.space_counts if self.has_space else 0)
        self.score_source = nn.Linear(width, singles)
        self.query = nn.Linear(width, width // 2)
        self.key = nn.Linear(width, width // 2)
        for head in (self.score_draw, self.score_source, self.query, self.key):
            nn.init.orthogonal_(head.weight, 0.1 if head in (self.score_draw, self.score_source) else 0.5)
            nn.init.zeros_(head.bias)
        self.value_features = nn.Linear(width, width)

    def _make_rounds(self, rounds: int) -> None:
        """The layers by which tokens take in the context."""
        kinds = 1 + int(self.waste) + int(bool(self.cells))
        width = self.width
        self.to_context = nn.ModuleList(nn.Linear((2 * kinds + 1) * width, width) for _ in range(rounds))
        self.from_context = nn.ModuleList(nn.Linear(width, width) for _ in range(rounds))
        self.from_token = nn.ModuleList(nn.Linear(width, width, bias=False) for _ in range(rounds))
        for layer in self.from_token:
            # A token keeps what it says: the identity is part of the weights, not an addition of its own.
            assert isinstance(layer, nn.Linear)
            with th.no_grad():
                layer.weight += th.eye(width)

    def _rounds(self, tokens: list[th.Tensor], context: th.Tensor) -> tuple[th.Tensor, th.Tensor]:
        """Tokens ``[batch, sources, width]`` and context ``[batch, width]`` once all know of each other."""
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

    def _pair_index(self) -> th.Tensor:
        """Places in the source x target matrix of the actions onto piles, in the order of their numbers."""
        pairs = [s * self.piles + t for s in range(self.sources) for t in range(self.piles) if s != t]
        return th.tensor(pairs)

    def _table(self, weights: nn.Linear) -> th.Tensor:
        """What each card adds to a token at each depth, ``[depth * 64, width]``.

        Summing its rows is embedding, joining and a linear layer in one, in two thirds of the time. A table
        learned directly, without the embedding that all depths share, learned far worse.
        """
        by_depth = weights.weight.view(self.width, self.depth, -1)
        return th.einsum("ce,wde->dcw", self.embed.weight, by_depth).reshape(-1, self.width)

    def _last(self, cards: th.Tensor) -> tuple[th.Tensor, th.Tensor]:
        """The last ``depth`` cards of padded piles ``[..., capacity]``, playable one first, and heights."""
        heights = (cards > 0).sum(-1)
        place = heights.unsqueeze(-1) - 1 - self.from_end
        last = cards.gather(-1, place.clamp(min=0))
        return last * (place >= 0), heights

    def forward(self, observations: th.Tensor) -> tuple[th.Tensor, th.Tensor]:
        """Scores ``[batch, actions]`` and value features ``[batch, width]`` of ``[batch, size]``."""
        codes = observations.long()
        batch = codes.shape[0]
        slices = self.layout["slices"]
        decks, ranks = self.layout["decks"], self.layout["ranks"]
        foundations = codes[:, slices["foundations"][0] : slices["foundations"][1]].view(batch, 4, decks)
        # How many cards of its suit must still go home before a card can, on the fullest and on the emptiest.
        needed = (self.rank - 1).float().unsqueeze(0)
        gap_fullest = (needed - foundations.amax(-1)[:, self.suit]) / ranks
        gap_emptiest = (needed - foundations.amin(-1)[:, self.suit]) / ranks

        def gaps(cards: th.Tensor) -> th.Tensor:
            """``[batch, n]`` as ``[batch, n, 2]``; 0 where there is no card."""
            both = th.stack((gap_fullest.gather(1, cards), gap_emptiest.gather(1, cards)), -1)
            return both * (cards > 0).unsqueeze(-1)

        def read(cards: th.Tensor, weights: nn.Linear, rest: nn.Linear, capacity: int) -> th.Tensor:
            """Padded piles ``[batch, n, capacity]`` as tokens ``[batch, n, width]``."""
            last, heights = self._last(cards)
            near = gaps(last.flatten(1)).view(*last.shape[:2], -1)
            slots = (last + self.slot).view(-1, self.depth)
            token: th.Tensor = F.embedding_bag(slots, self._table(weights), mode="sum")
            token = token.view(*last.shape[:2], -1)
            token = token + rest(th.cat((near, heights.unsqueeze(-1) / capacity), -1))
            return token

        tableau = codes[:, : self.piles * self.capacity].view(batch, self.piles, self.capacity)
        tokens = [read(tableau, self.pile_cards, self.pile_rest, self.capacity)]
        seen = [tableau.flatten(1)]
        stock = th.zeros(batch, 1, device=codes.device)
        waste = th.zeros(batch, 1, dtype=th.long, device=codes.device)
        if self.waste:
            waste = codes[:, slices["waste"][0] : slices["waste"][1]]
            size = waste.shape[1]
            tokens.append(read(waste.unsqueeze(1), self.waste_cards, self.waste_rest, size))
            stock = codes[:, slices["stock_count"][0] : slices["stock_count"][1]] / size
        if self.cells:
            cells = codes[:, slices["cells"][0] : slices["cells"][1]]
            tokens.append(self.cell_cards(self.embed(cells)) + self.cell_rest(gaps(cells)))
            seen.append(cells)
        in_play = _count_cards(th.cat(seen, 1)) / decks
        in_waste = _count_cards(waste) / decks
        spaces = (tableau[:, :, 0] == 0).float().mean(1, keepdim=True)
        rest = self.read_rest(th.cat((in_play, in_waste, foundations.flatten(1) / ranks, stock, spaces), -1))

        sources, context = self._rounds(tokens, rest)
        single = self.score_source(sources)
        piles = sources[:, : self.piles]
        pairs = self.query(sources) @ self.key(piles).transpose(1, 2)
        scores = [self.score_draw(context)] if self.has_draw else []
        scores.append(single[:, :, 0])
        if self.has_cell:
            scores.append(single[:, : self.piles + int(self.waste), 1])
        scores.append(pairs.flatten(1)[:, self.pair_index])
        if self.has_space:
            first = 1 + int(self.has_cell)
            scores.append(single[:, : self.piles, first:].flatten(1))
            scores.append(single[:, self.piles :, first])
        return th.cat(scores, 1), th.relu(self.value_features(context))


def _count_cards(cards: th.Tensor) -> th.Tensor:
    """How often each code stands in ``[batch, n]``, float ``[batch, 64]``, empty places not counted."""
    counts = th.zeros(cards.shape[0], NUM_CODES, device=cards.device)
    counts.scatter_add_(1, cards, (cards > 0).float())
    return counts


class AttentionNetwork(PileNetwork):
    """:class:`PileNetwork` whose tokens look at each other by attention of four heads, a layer a round."""

    kind = "attention"

    def _make_rounds(self, rounds: int) -> None:
        self.attention = nn.ModuleList(
            nn.TransformerEncoderLayer(
                self.width, 4, 2 * self.width, dropout=0.0, batch_first=True, norm_first=True
            )
            for _ in range(rounds)
        )

    def _rounds(self, tokens: list[th.Tensor], context: th.Tensor) -> tuple[th.Tensor, th.Tensor]:
        every = th.cat((*tokens, context.unsqueeze(1)), 1)
        for layer in self.attention:
            every = layer(every)
        every = th.relu(every)
        return every[:, :-1], every[:, -1]


class MlpNetwork(DenseNetwork):
    """A plain multilayer perceptron with the same outputs, for either kind of observation.

    Parameters
    ----------
    layout
        ``describe_layout`` of the environment.
    hidden
        Sizes of the hidden layers.
    """

    def __init__(self, layout: dict[str, Any], hidden: tuple[int, ...] = (256, 256)) -> None:
        super().__init__()
        # Card codes are below 64; features are in [0, 1] already.
        self.scale = NUM_CODES if layout["observation"] == "cards" else 1
        sizes = (layout["size"], *hidden)
        layers = [(nn.Linear(a, b), nn.ReLU()) for a, b in pairwise(sizes)]
        self.body = nn.Sequential(*(module for pair in layers for module in pair))
        self.width = sizes[-1]
        self.scores = nn.Linear(self.width, layout["actions"])
        nn.init.orthogonal_(self.scores.weight, 0.01)
        nn.init.zeros_(self.scores.bias)

    def forward(self, observations: th.Tensor) -> tuple[th.Tensor, th.Tensor]:
        """Scores ``[batch, actions]`` and value features ``[batch, width]`` of ``[batch, size]``."""
        hidden = self.body(observations.float() / self.scale)
        return self.scores(hidden), hidden


Network = MovesNetwork | PileNetwork | MlpNetwork

NETWORKS: dict[str, type[MovesNetwork] | type[PileNetwork] | type[MlpNetwork]] = {
    "moves": MovesNetwork,
    "piles": PileNetwork,
    "attention": AttentionNetwork,
    "mlp": MlpNetwork,
}


# ------------------------------------------------------------------------------ as SB3 wants it


class NetworkPolicy(MaskableActorCriticPolicy):
    """sb3-contrib's masked actor-critic policy over a network, its value one linear layer more.

    Scores, probabilities and entropies are those of the legal moves alone, kept one after another: most of
    the actions are never legal together.

    Parameters
    ----------
    kind, layout, sizes
        Name of the network, and what its constructor takes.
    """

    def __init__(
        self, *args: Any, kind: str, layout: dict[str, Any], sizes: dict[str, Any], **kwargs: Any
    ) -> None:
        self._network = (kind, sizes)
        self.layout = layout
        self.value_only = False
        """While it is set, only the value learns."""
        super().__init__(*args, **kwargs)

    def _build(self, lr_schedule: Any) -> None:
        kind, sizes = self._network
        self.network = NETWORKS[kind](self.layout, **sizes)
        self.value_net = nn.Linear(self.network.width, 1)
        self.mlp_extractor = nn.Identity()  # type: ignore[assignment]
        self.action_net = nn.Identity()
        nn.init.zeros_(self.value_net.weight)
        nn.init.zeros_(self.value_net.bias)
        rate = {"lr": lr_schedule(1)}
        self.optimizer = self.optimizer_class(self.parameters(), **rate, **self.optimizer_kwargs)

    def log_probabilities(self, observations: th.Tensor, masks: Any) -> tuple[Scores, th.Tensor]:
        """The network's scores, and logarithms of the probabilities of the moves."""
        n = len(observations)
        if masks is None:
            masks = np.ones((n, int(self.action_space.n)), dtype=np.int8)  # type: ignore[attr-defined]
        masks = masks.cpu().numpy() if isinstance(masks, th.Tensor) else np.asarray(masks)
        seen = self.network.score(observations, masks.reshape(n, -1).astype(np.int8, copy=False))
        return seen, seen.logs()

    def choose(self, seen: Scores, logs: th.Tensor, deterministic: bool) -> tuple[th.Tensor, th.Tensor]:
        """Actions, and logarithms of their probabilities, ``[n]`` each."""
        # The highest of the logarithms with Gumbel noise is a draw from the probabilities.
        keys = logs if deterministic else logs - th.empty_like(logs).exponential_().clamp_(min=1e-30).log_()
        chosen = seen.choose(keys)
        return seen.actions[chosen], logs[chosen]

    def forward(
        self, obs: th.Tensor, deterministic: bool = False, action_masks: Any = None
    ) -> tuple[th.Tensor, th.Tensor, th.Tensor]:
        """Actions, values and logarithms of probabilities."""
        seen, logs = self.log_probabilities(obs, action_masks)
        actions, chosen_logs = self.choose(seen, logs, deterministic)
        return actions, self.value_net(seen.features), chosen_logs

    def evaluate_actions(
        self, obs: th.Tensor, actions: th.Tensor, action_masks: Any = None
    ) -> tuple[th.Tensor, th.Tensor, th.Tensor]:
        """Values, and logarithms of the probabilities of actions and entropies."""
        seen, logs = self.log_probabilities(obs, action_masks)
        chosen_logs = seen.of(actions, logs)
        entropy = logs.new_zeros(len(obs)).index_add(0, seen.games, -logs.exp() * logs)
        if self.value_only:
            chosen_logs, entropy = chosen_logs.detach(), entropy.detach()
        return self.value_net(seen.features), chosen_logs, entropy

    def get_distribution(self, obs: Any, action_masks: Any = None) -> MaskableCategoricalDistribution:
        """The probabilities of all actions, as sb3-contrib gives them."""
        seen, _ = self.log_probabilities(obs, action_masks)
        logits = seen.dense(int(self.action_space.n))  # type: ignore[attr-defined]
        distribution = MaskableCategoricalDistribution(logits.shape[1])
        distribution.proba_distribution(logits.clamp(min=-1e8))
        distribution.apply_masking(logits.isfinite().numpy(force=True))
        return distribution

    def predict_values(self, obs: Any) -> th.Tensor:
        """Values, ``[n, 1]``."""
        values: th.Tensor = self.value_net(self.network.value(obs))
        return values

    def _predict(self, observation: Any, deterministic: bool = False, action_masks: Any = None) -> th.Tensor:
        return self.choose(*self.log_probabilities(observation, action_masks), deterministic)[0]
