"""Rules of the code that no import contract can express: names, lengths, folders."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("solitaire_env", "agents", "benchmarks")
CODE = [path for name in PACKAGES for path in sorted((ROOT / name).rglob("*.py"))]
LONGEST = 60
"""Lines of a function without its docstring: it fits on a screen."""
PUBLIC = {"_fields", "_replace", "_asdict"}
"""Methods of named tuples."""


def parsed() -> Iterator[tuple[Path, ast.Module]]:
    for path in CODE:
        yield path.relative_to(ROOT), ast.parse(path.read_text(encoding="utf-8"))


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name not in PUBLIC


def test_private_names_stay_in_their_module() -> None:
    """``solitaire_env.core`` exports the names of its own modules."""
    found = []
    for path, tree in parsed():
        imported = set()
        for node in ast.walk(tree):
            if not isinstance(node, ast.ImportFrom) or str(node.module).split(".")[0] not in PACKAGES:
                continue
            imported |= {alias.asname or alias.name for alias in node.names}
            inside_core = path.parts[:2] == ("solitaire_env", "core")
            parts = [] if inside_core else str(node.module).split(".")
            names = [alias.name for alias in node.names]
            found += [f"{path}: {node.module} {name}" for name in [*parts, *names] if is_private(name)]
        found += [
            f"{path}: {ast.unparse(node)}"
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute)
            and is_private(node.attr)
            and isinstance(node.value, ast.Name)
            and node.value.id in imported
        ]
    assert not found


def test_functions_fit_on_a_screen() -> None:
    long = []
    for path, tree in parsed():
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.end_lineno is not None:
                docstring = (ast.get_docstring(node, clean=False) or "").count("\n")
                lines = node.end_lineno - node.lineno + 1 - docstring
                if lines > LONGEST:
                    long.append(f"{path}: {node.name}, {lines} lines")
    assert not long


def test_caches_are_bounded() -> None:
    """Programs may make any number of variants. The packages with kernels are few."""
    unbounded = [
        f"{path}: {node.name}"
        for path, tree in parsed()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        and "cache" in map(ast.unparse, node.decorator_list)
        and [argument.arg for argument in node.args.args] not in ([], ["package"], ["packages"])
    ]
    assert not unbounded
