"""Sphinx: ``make docs``."""

import contextlib
import io
import os
import re
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from sphinx.ext.napoleon.docstring import GoogleDocstring

os.environ["COLUMNS"] = "88"  # the width of --help
sys.path.insert(0, str(Path(__file__).parents[1]))

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx

import solitaire_env
from solitaire_env.core import native


class Functions:
    """In place of the builder: the decorators return functions, which autodoc can show, not kernels."""

    def inner(self, function: Any, inline: bool) -> Any:
        """The function."""
        return function

    def kernel(self, function: Any, fast: bool, part: int) -> Any:
        """The function."""
        return function


native.compiler = Functions()

project = "solitaire-env"
author = project_copyright = "solitaire-env authors"
release = solitaire_env.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
html_title = f"solitaire-env {release}"
exclude_patterns = ["_build"]
myst_heading_anchors = 4

autodoc_member_order = "bysource"
autodoc_mock_imports = ["ray"]  # pins Gymnasium: it has an environment of its own
napoleon_google_docstring = False
python_maximum_signature_line_length = 90
linkcheck_timeout = 20


ARRAY = re.compile(r"[\w.~]*Annotated\[[\w.~]*ndarray\[.*?dtype\[(.*?)\]\], (.*?)\]")


class CommandHelp(Directive):
    """What a command prints with ``--help``: ``agents train`` is ``python -m agents train --help``."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """The text as a block of code."""
        text = help_text(*self.arguments[0].split())
        return [nodes.literal_block(text, text, language="text")]


def help_text(package: str, *arguments: str) -> str:
    """The help of a command of a package, ``solitaire_env`` or ``agents``."""
    module: Any = import_module("solitaire_env.cli" if package == "solitaire_env" else f"{package}.__main__")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
        module.main([*arguments, "--help"])
    text = printed.getvalue().strip("\n")
    if not text:
        raise ValueError(f"no help of python -m {package} {' '.join(arguments)}")
    return text


def headings(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """The Markdown headings in docstrings of Gymnasium environments, as reStructuredText."""
    changed = (f".. rubric:: {line[3:]}\n" if line.startswith("## ") else line for line in lines)
    lines[:] = "\n".join(changed).split("\n")


def array_types(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, arguments: str | None, result: str | None
) -> tuple[str | None, str | None]:
    """The arrays of kernels with their axes: ``int8['n row_size']``."""
    return (ARRAY.sub(r"\1[\2]", arguments) if arguments else arguments), result


def without_docstring(app: Sphinx, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leave out fields of named tuples whose only docstring is Python's."""
    return True if (getattr(obj, "__doc__", None) or "").startswith("Alias for field number") else None


def setup(app: Sphinx) -> None:
    """Register the directive and the hooks."""
    app.add_directive("command-help", CommandHelp)
    app.connect("autodoc-process-docstring", headings)
    app.connect("autodoc-process-signature", array_types)
    app.connect("autodoc-skip-member", without_docstring)


# Napoleon would read the text before a colon as the type of an attribute. Ours are annotated.
GoogleDocstring._consume_inline_attribute = lambda self: ("", self._consume_to_end())
