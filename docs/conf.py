"""Sphinx: ``make docs``."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from sphinx.ext.napoleon.docstring import GoogleDocstring

sys.path.insert(0, str(Path(__file__).parents[1]))

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


# In another process, because the next line concerns this one and games are played.
subprocess.run([sys.executable, "-m", "docs.generate"], cwd=sys.path[0], check=True)
native.compiler = Functions()

project = "solitaire-env"
author = project_copyright = "solitaire-env authors"
release = solitaire_env.__version__
extensions = [
    "myst_parser",
    "sphinx.ext.apidoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
]
html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["tables.css"]
html_title = f"solitaire-env {release}"
html_theme_options = {"announcement": "Play"}  # templates/page.html makes it a link
templates_path = ["templates"]
exclude_patterns = ["_build", "templates", "reference/api/*/modules.rst"]
myst_heading_anchors = 4

os.environ["SPHINX_APIDOC_OPTIONS"] = "members,ignore-module-all"  # packages ignore apidoc_automodule_options
apidoc_module_first = True
apidoc_max_depth = 1
apidoc_separate_modules = True  # otherwise a page holds all modules of a package
COMMANDS = [f"../agents/{name}" for name in ("commands", "evaluate.py", "solve.py", "train.py")]
NO_MODULES = ["../solitaire_env/cli.py", "../solitaire_env/pyinstaller/hook-*"]
"""A command, and a file of PyInstaller's."""
apidoc_modules = [
    {"path": path, "destination": f"reference/api/{path[3:]}", "exclude_patterns": left_out}
    for path, left_out in (("../solitaire_env", NO_MODULES), ("../agents", COMMANDS))
]
autodoc_member_order = "bysource"
autodoc_mock_imports = ["ray"]  # pins Gymnasium: it has an environment of its own
napoleon_google_docstring = False
python_maximum_signature_line_length = 90
linkcheck_timeout = 20


ARRAY = re.compile(r"[\w.~]*Annotated\[[\w.~]*ndarray\[.*?dtype\[(.*?)\]\], (.*?)\]")


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


def write_games(app: Sphinx, error: Exception | None) -> None:
    """Write the pages on which the games are played."""
    if error is None and app.builder.format == "html":
        command = [sys.executable, "-m", "solitaire_env", "site", str(Path(app.outdir, "play"))]
        subprocess.run(command, cwd=sys.path[0], check=True, stdout=subprocess.DEVNULL)


def setup(app: Sphinx) -> None:
    """Register the hooks."""
    app.connect("build-finished", write_games)
    app.connect("autodoc-process-docstring", headings)
    app.connect("autodoc-process-signature", array_types)
    app.connect("autodoc-skip-member", without_docstring)


# Napoleon would read the text before a colon as the type of an attribute. Ours are annotated.
GoogleDocstring._consume_inline_attribute = lambda self: ("", self._consume_to_end())
