"""Hand-made positions: the loader of ``tests/positions/*.txt``.

Each block of these files is a position and the actions that the rules allow in it, derived from the rules by
hand, never by a program. The first line of a block is its title, which names the rule. The other lines are
``name: text``, in any order except for ``play``:

- ``games``: the games that the position is for.
- ``build``, ``spaces``, ``moves``: rules of the game that are replaced.
- ``t1``, ``cells``, ``foundations``, ``stock``, ``waste``: lines of the position. It names only the piles
  that matter; :func:`fill` puts the rest of the pack where it has no effect.
- ``legal``: every legal action, in the order of the action numbers; ``has``, ``lacks``: some that are legal,
  some that are not. ``t4..t6>s`` is short for ``t4>s t5>s t6>s``, ``t4..>s`` goes up to the last pile, and
  ``t1x2..4>s`` is short for ``t1x2>s t1x3>s t1x4>s``.
- ``shows``: lines of the resulting position text, separated by ``|``; ``...`` is any text.
- ``status``: playing, stuck or won. Without this line it follows from ``legal``: stuck if that is empty.
- ``play``: actions to play. The lines after it describe what is expected then.

Lines that begin with ``#`` are comments.
"""

import re
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

from tests.reference import GAMES, NO_CARD, RANKS, SUITS, ReferenceRules, rank, suit

FOLDER = Path(__file__).parent / "positions"
TOPICS = (
    "building",
    "foundations",
    "stock-and-waste",
    "spaces",
    "sequences",
    "supermoves",
    "eights-down",
    "house-rules",
    "full-piles",
)
ANY_CARDS = "..."
UNRELATED = "**"

RULES = ("build", "spaces", "moves")
EXPECTED = ("play", "legal", "has", "lacks", "shows", "status")


def fill(partial: str, rules: ReferenceRules) -> str:
    """Complete a partly written position, so that it has every card of the game.

    The lines are those of a position text, in any order, separated by ``|`` or line ends. A line ``t3:`` is
    a space, and ``t3..t5:`` or ``t3..:`` (to the last pile) are several equal piles. Cells, stock and waste
    that are not written are empty, redeals are those of the deal, a base that the deal decides is the Ace.
    Foundations that are not written are empty; ``all`` stands for complete ones in all remaining places, so
    that ``S all 5`` is ``S 13 5`` with two decks.

    - A tableau pile that is not written has any number of cards and, on top, one that is unrelated.
    - ``**`` in a cell or a tableau pile is one card that is unrelated.
    - ``...`` first in a tableau pile, in the stock or in the waste is any number of cards beneath the others.

    A card is unrelated if it may not go home, fits no written or unrelated card, and takes none. It has the
    highest available rank, but is no King if only Kings fill spaces. No pile ends in a longer run than the
    written one.

    Raises ValueError for a card that the pack does not have, and if there are no such places for the rest.
    """
    lines = _lines(partial, rules)
    home = _foundations(lines.pop("foundations", []), rules)
    tableau = {f"t{n}": lines.pop(f"t{n}", [ANY_CARDS, UNRELATED]) for n, _ in enumerate(rules.tableau, 1)}
    cells = lines.pop("cells", [NO_CARD] * rules.cells)
    stock, waste = lines.pop("stock", []), lines.pop("waste", [])
    variant = lines.pop("variant", ["none"])
    redeals = lines.pop("redeals", [str(rules.passes - 1) if rules.passes else "-"])
    base = lines.pop("base", ["1"])
    if lines:
        raise ValueError(f"no such lines in a position: {', '.join(lines)} in {partial}")

    written = [card for pile in (*tableau.values(), cells, stock, waste) for card in pile if card[0] in RANKS]
    left = Counter(rules.pack())
    left.subtract(written)
    left.subtract(card for card in sorted(set(left)) for top in home[suit(card)] if rank(card) <= top)
    if too_many := [card for card, number in left.items() if number < 0]:
        raise ValueError(f"more of {' '.join(too_many)} than the pack has in {partial}")
    rest = sorted(left.elements(), key=lambda card: (-rank(card), SUITS.index(suit(card))))

    def unrelated(card: str) -> str:
        if card != UNRELATED:
            return card
        for card in rest:
            goes_home = rank(card) - 1 in home[suit(card)]
            fills_space = rules.spaces == "kings" and rank(card) == rules.ranks
            fits = any(rules.fits(card, other) or rules.fits(other, card) for other in written)
            if not (goes_home or fills_space or fits):
                rest.remove(card)
                written.append(card)
                return card
        raise ValueError(f"no unrelated card is left for {partial}")

    tableau = {name: [unrelated(card) for card in pile] for name, pile in tableau.items()}
    cells = [unrelated(card) for card in cells]

    # Nothing builds on an Ace: a pile holds at most the cards dealt and a run down from the last of them.
    most = {name: size + rules.ranks - 1 for name, size in zip(tableau, rules.tableau, strict=True)}
    most |= {"stock": rules.stock_size - len(waste), "waste": rules.stock_size - len(stock)}
    places = {**tableau, "stock": stock, "waste": waste}
    beneath: dict[str, list[str]] = {name: [] for name, pile in places.items() if ANY_CARDS in pile}
    while rest:
        with_room = [name for name in beneath if len(places[name]) - 1 + len(beneath[name]) < most[name]]
        if not with_room:
            raise ValueError(f"no place is left for {' '.join(rest)} in {partial}")
        for name in with_room[: len(rest)]:
            beneath[name].append(rest.pop(0))
    for name, buried in beneath.items():
        shown = places[name][1:]
        if name in tableau and buried and shown and rules.fits(shown[0], buried[-1]):
            buried.reverse()
            if rules.fits(shown[0], buried[-1]):
                raise ValueError(f"nothing is left that does not lengthen the run of {name} in {partial}")
        places[name] = buried + shown

    words = [f"variant: {' '.join(variant)}"]
    if rules.stock_size:
        words += [f"stock: {' '.join(places.pop('stock'))}", f"waste: {' '.join(places.pop('waste'))}"]
    if rules.passes != 1:
        words += [f"redeals: {' '.join(redeals)}"]
    words += ["foundations: " + " ".join(f"{s} {' '.join(map(str, home[s]))}" for s in SUITS)]
    if rules.base == "dealt":
        words += [f"base: {' '.join(base)}"]
    if cells:
        words += [f"cells: {' '.join(cells)}"]
    words += [f"{name}: {' '.join(places[name])}" for name in tableau]
    return "\n".join(line.rstrip() for line in words)


def _lines(partial: str, rules: ReferenceRules) -> dict[str, list[str]]:
    """The words of each line by its label, ranges of piles written out."""
    lines: dict[str, list[str]] = {}
    for line in re.split(r"[|\n]", partial):
        label, _, text = line.partition(":")
        first, dots, last = label.strip().partition("..")
        if dots:
            end = int(last[1:]) if last else len(rules.tableau)
            lines |= {f"t{n}": text.split() for n in range(int(first[1:]), end + 1)}
        elif first:
            lines[first] = text.split()
    return lines


def _foundations(words: list[str], rules: ReferenceRules) -> dict[str, list[int]]:
    """Cards on each foundation of each suit, as many foundations as there are decks."""
    tops: dict[str, list[str]] = {s: [] for s in SUITS}
    for word in words:
        if word in SUITS:
            of_suit = tops[word]
        else:
            of_suit.append(word)
    home = {}
    for s, written in tops.items():
        full = [rules.ranks] * (rules.decks - len(written) + 1) if "all" in written else []
        others = [int(word) for word in written if word != "all"]
        home[s] = full + others + [0] * (rules.decks - len(full) - len(others))
    return home


def expand(actions: str, rules: ReferenceRules) -> list[str]:
    """The action texts of a list, ranges written out."""
    texts = []
    for text in actions.split():
        if match := re.fullmatch(r"([tc])(\d+)\.\.(?:\1(\d+))?>(.+)", text):
            kind, first, last, target = match.groups()
            end = int(last or len(rules.tableau))
            texts += [f"{kind}{n}>{target}" for n in range(int(first), end + 1)]
        elif match := re.fullmatch(r"(t\d+)x(\d+)\.\.(\d+)>s", text):
            source, fewest, most = match.groups()
            texts += [f"{source}x{n}>s" for n in range(int(fewest), int(most) + 1)]
        else:
            texts.append(text)
    return texts


@dataclass(frozen=True, kw_only=True)
class Expectation:
    """The expected state of a position, after some actions.

    play: the actions; none at the start.
    legal: every legal action, in order; has, lacks: some that are legal, some that are not.
    shows: the important lines of the position text (``waste: ... 3C`` ends in ``3C``).
    status: "playing", "stuck" or "won"; by default it follows from `legal`: "stuck" if that is empty.
    """

    play: str = ""
    legal: str | None = None
    has: str = ""
    lacks: str = ""
    shows: str = ""
    status: str = ""

    def complaints(self, legal: list[str], status: str, text: str, rules: ReferenceRules) -> list[str]:
        """The faults of a position, given its legal actions, status and text."""
        found = []
        if self.legal is not None and legal != expand(self.legal, rules):
            found.append(f"legal actions expected: {' '.join(expand(self.legal, rules)) or 'none'}")
        if not set(legal) >= set(expand(self.has, rules)):
            found.append(f"legal actions expected among others: {self.has}")
        if set(legal) & set(expand(self.lacks, rules)):
            found.append(f"not legal actions: {self.lacks}")
        if found:
            found.append(f"legal actions got: {' '.join(legal) or 'none'}")
        follows = status if self.legal is None else "playing" if self.legal else "stuck"
        if status != (expected := self.status or follows):
            found.append(f"status expected: {expected}, got: {status}")
        for line in filter(None, (line.strip() for line in self.shows.split("|"))):
            pattern = ".*".join(map(re.escape, line.split(ANY_CARDS)))
            if not any(re.fullmatch(pattern, shown) for shown in text.split("\n")):
                found.append(f"no such line in the position: {line}")
        return found


@dataclass(frozen=True)
class Case:
    """A position and what is expected of it, the same in each of some games."""

    id: str
    games: str
    position: str
    options: dict[str, str]
    expected: list[Expectation]

    def rules(self, game: str) -> ReferenceRules:
        """The rules of one of the games with the options of the case."""
        return replace(GAMES[game], **self.options)  # type: ignore[arg-type]


def run(first: str, length: int) -> str:
    """Cards in suit, each one lower than the one before."""
    top = RANKS.index(first[0])
    return " ".join(RANKS[n] + first[1] for n in range(top, top - length, -1))


def cells(empty: int) -> str:
    """A line of eight cells, some of them empty, the others with unrelated cards."""
    return " ".join(["cells:"] + [UNRELATED] * (8 - empty) + [NO_CARD] * empty)


def spaces(number: int) -> str:
    """Lines that turn some piles into spaces, from t3 on."""
    return f"t3..t{2 + number}:" if number else ""


def read_cases(text: str) -> list[Case]:
    """The cases of a file."""
    lines = (line for line in text.splitlines() if not line.startswith("#"))
    return [_read_case(block.strip()) for block in "\n".join(lines).split("\n\n") if block.strip()]


def _read_case(block: str) -> Case:
    """A case from its block: a title, then lines ``name: text``."""
    title, *lines = block.splitlines()
    about: dict[str, str] = {}
    position: list[str] = []
    parts: list[dict[str, str]] = [{}]
    for line in lines:
        name, _, text = (word.strip() for word in line.partition(":"))
        if name == "play":
            parts.append({})
        if name in EXPECTED:
            parts[-1][name] = text
        elif name in ("games", *RULES):
            about[name] = text
        else:
            position.append(f"{name}: {text}")
    games = about.pop("games")
    return Case(title, games, "|".join(position), about, [Expectation(**part) for part in parts])


CASES = [case for topic in TOPICS for case in read_cases((FOLDER / f"{topic}.txt").read_text())]
