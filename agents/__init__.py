"""Training and evaluation of policies; not part of the installed package."""

import os

# Read when OpenMP starts its threads. A thread that waits spins for some 50 microseconds, the time between
# two steps, then sleeps: spinning on, the default, made a step up to 50 times as long beside one other busy
# process.
os.environ.setdefault("GOMP_SPINCOUNT", "10000")
