"""Pages read from the source code, which is not imported: configuration keys, the map of the code, the API.

Part of :mod:`docs.generate`.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

from docs.tables import table

try:
    import tomllib
except ImportError:  # Python 3.10
    import tomli as tomllib  # pytest brings it

DOCS: Final = Path(__file__).parent
ROOT: Final = DOCS.parent
NOTE: Final = "<!-- Written by `python -m docs.generate`: change the docstrings. -->\n"

# ------------------------------------------------------------------------------- configuration keys

CONFIGURATION_PAGE: Final = """
# Configuration

A training is configured by a YAML file: a `default:` block, and a block for each env id that overrides it.
A file needs only the keys that differ from the defaults. Each key is also an option of `python -m
agents.train`, with `-` for `_`: `--learning-rate 5e-4`. An unknown key, a wrong type or an impossible value
is an error before training starts.

```yaml
default:
  learner: ppo
  num_envs: 512
Solitaire/EightsDown-v0:
  learner: pqn
```

In the last column, the words in parentheses name the networks or learners that use the key.

## Training

{training}

## Search budget

Options of `--policy search`, such as `--search.simulations 2048`.

{search}
"""

TYPES: Final = {"str": "text", "int": "whole number", "float": "number", "bool": "true, false"}
"""How the page says types; a choice is the list of its words."""


class Field(NamedTuple):
    """A field of a dataclass, as text."""

    name: str
    type: str
    default: str
    doc: str


def fields(path: Path, class_name: str) -> Iterator[Field]:
    """The documented fields of a dataclass."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    body = next(node.body for node in tree.body if isinstance(node, ast.ClassDef) and node.name == class_name)
    for node, after in pairwise(body):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            assert isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant), node.target.id
            doc = " ".join(str(after.value.value).split())
            yield Field(node.target.id, _type(node.annotation), _default(node.value), doc)


def _type(node: ast.expr) -> str:
    if isinstance(node, ast.BinOp):
        return f"{_type(node.left)}, {_type(node.right)}"
    if isinstance(node, ast.Subscript):
        words = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if ast.unparse(node.value) == "Literal":
            return ", ".join(f"`{ast.literal_eval(word)}`" for word in words)
        return f"list of {_type(node.slice)}s"
    name = ast.unparse(node)
    if name in TYPES:
        return TYPES[name]
    return "null" if name == "None" else _type(_rule_words(name))


def _rule_words(name: str) -> ast.expr:
    """The words of a rule, such as ``Build``, as they are defined."""
    for node in ast.parse((ROOT / "solitaire_env" / "core" / "variant.py").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            return node.value
    raise ValueError(f"no type {name!r} in core/variant.py")


def _default(node: ast.expr) -> str:
    if isinstance(node, ast.Call):  # field(default_factory=lambda: ...)
        made = node.keywords[0].value
        node = made.body if isinstance(made, ast.Lambda) else made
    value = ast.literal_eval(node)
    if value is None:
        return "`null`"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def configuration_page() -> str:
    """``reference/configuration.md``: the keys of a training and of the search, with their defaults."""
    head = ["key", "default", "values", "meaning"]

    def rows(path: str, class_name: str) -> str:
        of_class = fields(ROOT / path, class_name)
        body = ([f"`{f.name}`", f.default, f.type, f.doc.replace("|", r"\|")] for f in of_class)
        return table(head, body, texts=4)

    return NOTE + CONFIGURATION_PAGE.format(
        training=rows("agents/config.py", "TrainConfig"), search=rows("agents/search/budget.py", "Budget")
    )


# ------------------------------------------------------------------------------- the map of the code

MAP_PAGE: Final = """
# Where is what

To read the code, start with `solitaire_env/variants.py` (the games) and `solitaire_env/core/rules/` (the
legal moves). The folders are layers: each imports only the layers below it, and `make lint` checks that,
from the contracts in `pyproject.toml`. [Design](design.md) says why.

```text
{pictures}
```

`agents` and `benchmarks` import `solitaire_env`, never the other way round.

{folders}
## Other folders

{others}
"""

OTHERS: Final = {
    "benchmarks/": "speed and size of the environments, compared with other libraries",
    "configs/": "configurations of trainings",
    "docs/": "this documentation; `python -m docs.generate` writes its generated pages",
    "examples/": "one file for each library, a search, a custom network, a custom reward and compiled code",
    "results/": "every stored game and solved deal; the figures in the docs are computed from them",
    "tests/": "a folder for each folder of the code; `tests/reference.py` is the reference implementation",
}
"""The folders that are not layers."""


def layers() -> dict[str, list[list[str]]]:
    """The modules of each layer, from above, by container in alphabetical order."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    found = {
        contract["containers"][0]: [re.split(r" *: *", layer) for layer in contract["layers"]]
        for contract in contracts
        if contract["type"] == "layers"
    }
    return dict(sorted(found.items()))


def _picture(container: str, rows: Sequence[Sequence[str]]) -> str:
    """A box with a row for each layer."""
    texts = ["   ".join(row) for row in rows]
    width = max(len(container), *map(len, texts))
    edge = f"+-{'-' * width}-+"
    body = [f"| {text:<{width}} |" for text in texts]
    return "\n".join([f"{container}/".replace(".", "/"), edge, *body, edge])


def _docstring(path: Path) -> str:
    """The first paragraph of a module's docstring, in Markdown."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return markdown(" ".join(text.split("\n\n")[0].split()))


def markdown(text: str) -> str:
    """A text of reStructuredText in Markdown: code, and roles without their links."""
    text = re.sub(r":\w+:`(?:~(?:\w+\.)*|\.)?([\w.]+)`", r"`\1`", text)
    return text.replace("``", "`")


def _modules(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*.py") if path.name not in ("__init__.py", "__main__.py"))


def _folder(folder: Path) -> str:
    """A section of the map: what is in a folder, and a table of its modules."""
    name = folder.relative_to(ROOT).as_posix()
    rows = ([f"`{path.name}`", _cell(path)] for path in _modules(folder))
    modules = table(["file", "what it is"], rows, texts=2)
    return f"## {name}\n\n{_docstring(folder / '__init__.py')}\n\n{modules}\n"


def _cell(path: Path) -> str:
    return _docstring(path).rstrip(":.").replace("|", r"\|")


def folders(package: str) -> list[Path]:
    """The folders of a package, itself first."""
    top = ROOT / package
    return sorted(path.parent for path in top.rglob("__init__.py"))


def map_page() -> str:
    """``explanation/where-is-what.md``: the layers as a picture, and the folders with their modules."""
    agents, *package = (_picture(name, rows) for name, rows in layers().items())
    return NOTE + MAP_PAGE.format(
        pictures=f"{agents}\n      |\n      v  imports\n" + "\n\nand inside it\n\n".join(package),
        folders="\n".join(map(_folder, [*folders("solitaire_env"), *folders("agents")])),
        others=table(
            ["folder", "what it is"], ([f"`{name}`", what] for name, what in OTHERS.items()), texts=2
        ),
    )


# ------------------------------------------------------------------------------- the API

API_INDEX: Final = """
# API

Every public class and function, from the docstrings. These names can be imported from `solitaire_env` itself:

{names}

## The package

{package}

## Training and search

`agents` is in the repository, not in the wheel.

{agents}

```{{toctree}}
:hidden:

{pages}
```
"""
COMMANDS: Final = ("agents.commands", "agents.reports")
COMMAND_MODULES: Final = ("solitaire_env.cli", "agents.train", "agents.evaluate", "agents.solve")
"""They have no API: see the command line."""


def dotted(path: Path) -> str:
    """The name by which a module or a folder is imported."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _is_public(path: Path) -> bool:
    """Whether a module has public classes or functions of its own."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    kinds = (ast.ClassDef, ast.FunctionDef)
    return any(isinstance(node, kinds) and not node.name.startswith("_") for node in tree.body)


def api_modules() -> dict[str, list[str]]:
    """The modules of each page of the API: one page per module of a package, one per folder in it."""
    pages: dict[str, list[str]] = {}
    for package in ("solitaire_env", "agents"):
        top, *inner = folders(package)
        pages |= {name: [name] for path in _modules(top) if _is_public(path) and (name := dotted(path))}
        for folder in inner:
            modules = [path for path in _modules(folder) if _is_public(path) and path.name[0] != "_"]
            pages[dotted(folder)] = [dotted(folder), *map(dotted, modules)]
    return {name: of for name, of in pages.items() if name not in (*COMMANDS, *COMMAND_MODULES)}


def _automodule(module: str) -> str:
    options = "   :members:\n   :ignore-module-all:\n"
    return f"```{{eval-rst}}\n.. automodule:: {module}\n{options}```\n"


def api_page(name: str, modules: Iterable[str]) -> str:
    """A page of the API; Sphinx fills it with the docstrings."""
    first, *rest = modules
    parts = [f"# {name}\n\n{_automodule(first)}"]
    parts += [f"## {module.rpartition('.')[2]}\n\n{_automodule(module)}" for module in rest]
    return NOTE + "\n" + "\n".join(parts)


def _home(module: str, name: str) -> str:
    """The module that defines a name; packages and ``variants`` only pass some on."""
    for node in ast.parse(_file(module).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.module and name in [alias.name for alias in node.names]:
            return _home(node.module, name)
    return module


def _exported() -> dict[str, str]:
    """The names to import from ``solitaire_env``, each with its page."""
    tree = ast.parse((ROOT / "solitaire_env" / "__init__.py").read_text(encoding="utf-8"))
    names = next(
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    )
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    modules = {alias.name: node.module or "" for node in imports for alias in node.names}
    page_of = {module: page for page, of_page in api_modules().items() for module in of_page}
    return {name: page_of[_home(modules[name], name)] for name in sorted(names, key=str.lower)}


def api_pages() -> dict[Path, str]:
    """``reference/api/*.md``."""
    folder = DOCS / "reference" / "api"
    pages = api_modules()
    out = {folder / f"{name}.md": api_page(name, modules) for name, modules in pages.items()}

    def rows(package: str) -> str:
        of_package = [name for name in pages if name.startswith(f"{package}.")]
        lines = [[f"[{name}]({name}.md)", _cell(_file(name))] for name in of_package]
        return table(["module", "what it is"], lines, texts=2)

    names = ([f"`{name}`", f"[{page}]({page}.md)"] for name, page in _exported().items())
    out[folder / "index.md"] = NOTE + API_INDEX.format(
        names=table(["name", "documented in"], names, texts=2),
        package=rows("solitaire_env"),
        agents=rows("agents"),
        pages="\n".join(pages),
    )
    return out


def _file(name: str) -> Path:
    path = ROOT.joinpath(*name.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
