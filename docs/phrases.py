"""Count phrases that make text hard to read: ``python -m docs.phrases``, part of ``make lint``.

Reads the Markdown files that git tracks, and the comments and strings of Python files. Generated pages are
left out, because their text comes from files that are read. Some phrases are right in some sentences, so only
the total is checked: it may not exceed ``ALLOWED``. ``--list`` adds every place and the count of each file.
"""

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
ALLOWED: Final = 2
"""The total that may not be exceeded. Lower it when the total has fallen."""
LEFT_OUT: Final = (
    "docs/explanation/where-is-what.md",
    "docs/how-to/examples/",
    "docs/reference/api/",
    "docs/reference/configuration.md",
    "docs/reference/games/",
    "docs/phrases.py",
    "tests/test_phrases.py",
)

PHRASES: Final = {
    "tell": "tells?|told",
    "so many, so much, so far": "so (?:many|much|far)",
    "anew": "anew",
    "in hand, at hand": "(?:in|at) hand",
    "go on": "(?:go|goes|going|gone|went) on",
    "come to": "(?:come|comes|coming|came) to",
    "stand": "(?:stands?|stood)(?! for)",
    "is asked": "(?:is|are|was|were|be|been) asked",
    "hang on": "(?:hangs?|hung) on",
    "keep to": "(?:keeps?|kept) to",
    "look ahead, look on": "look(?:s|ing)? (?:ahead|on)",
    "in turn": "in turns?",
    "side by side": "side by side",
    "by chance": "by chance",
    "What ... is": r"(?-i:What)(?: [\w`'-]+){1,8}? (?:is|are|was|were|stands|comes)",
    "is no longer than": r"(?:is|are) no \w+er(?: [\w`'-]+){0,5}? than",
    "of those": "of those",
    "that is there": "(?:that|who|which) (?:is|are|was|were) there",
    "in the mind": "in the mind",
    "has its way": "(?:has|have|had) (?:its|their) way",
    "at once": "at once",
}
"""A name, and a regular expression in which a space also matches the end of a line."""
PATTERNS: Final = {
    name: re.compile(r"\b(?:" + pattern.replace(" ", r"\s+") + r")\b", re.IGNORECASE)
    for name, pattern in PHRASES.items()
}


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """The texts of a file that people read, each with its first line's number."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        yield 1, text
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value
    comments = ["."] * (text.count("\n") + 1)  # the dots keep comments apart that other lines separate
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            comments[token.start[0] - 1] = token.string.lstrip("#")
    yield 1, "\n".join(comments)


def find(path: Path) -> Iterator[tuple[int, str, str]]:
    """Line, name and words of every phrase in a file."""
    for first, text in texts(path):
        for name, pattern in PATTERNS.items():
            for match in pattern.finditer(text):
                yield first + text.count("\n", 0, match.start()), name, " ".join(match[0].split())


def files() -> Iterator[Path]:
    """The files that are read."""
    command = ["git", "-C", str(ROOT), "ls-files", "-z", "*.md", "*.py"]
    for name in subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\0"):
        if name and not name.startswith(LEFT_OUT) and (ROOT / name).is_file():
            yield ROOT / name


def main(*options: str) -> str | None:
    """Print the counts; return an error message if the total is too high."""
    by_phrase: Counter[str] = Counter()
    by_file: Counter[str] = Counter()
    for path in files():
        name = path.relative_to(ROOT).as_posix()
        for line, phrase, words in sorted(find(path)):
            by_phrase[phrase] += 1
            by_file[name] += 1
            if "--list" in options:
                print(f"{name}:{line}: {words}")
    for counts in (by_file, by_phrase) if "--list" in options else (by_phrase,):
        print("\n".join(f"{count:6} {name}" for name, count in counts.most_common()))
    total = by_phrase.total()
    print(f"{total:6} in all, allowed: {ALLOWED}")
    if total > ALLOWED:
        return "Too many: run `python -m docs.phrases --list`, and rewrite the sentences of your change."
    return None


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
