"""Training and evaluation of policies; not part of the installed package."""

import os

# Read when torch and numba start their threads: a thread that waits sleeps. Spinning, the default, gains a
# few percent on a machine that does nothing else and loses a factor of ten beside one other busy process.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
