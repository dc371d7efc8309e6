"""``python -m solitaire_env``."""

import sys

from solitaire_env.cli import main

if __name__ == "__main__":
    sys.exit(main())
