"""``python -m solitaire_env``."""

import sys

if __name__ == "__main__":
    # Worker processes import this file too, without a command line.
    from solitaire_env.cli import main

    sys.exit(main())
