"""Sphinx: ``make docs``."""

import solitaire_env

project = "solitaire-env"
author = "solitaire-env authors"
release = solitaire_env.__version__
extensions = ["myst_parser"]
html_theme = "furo"
html_title = f"solitaire-env {release}"
exclude_patterns = ["_build"]
myst_heading_anchors = 3
