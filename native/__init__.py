"""The builder: translates the kernels of a package to shared libraries, with numba and LLVM.

A build-time tool, not part of the wheel: nothing here is imported when games are played.
"""

import os

# Before numba is imported. Nothing in the environment changes the code, nor does this machine's processor.
for _name in [name for name in os.environ if name.startswith("NUMBA_")]:
    del os.environ[_name]
os.environ.update(NUMBA_CPU_NAME="generic", NUMBA_CPU_FEATURES="", NUMBA_DISABLE_INTEL_SVML="1")
