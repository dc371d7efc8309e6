"""The platforms that have a wheel: the libraries in each, and its tag. Imported without numba."""

from typing import Final, NamedTuple


class Platform(NamedTuple):
    """A kind of machine."""

    tag: str
    targets: tuple[str, ...]


def _linux(machine: str) -> str:
    """The tag of a Linux wheel. It is for glibc, and for musl, as in Alpine: the library needs no more of the
    C library than ``memset``, ``exp`` and ``log``, and musl takes the names of glibc's files as its own.
    """
    return f"manylinux2014_{machine}.manylinux_2_17_{machine}.musllinux_1_2_{machine}"


PLATFORMS: Final = {
    "linux-x86_64": Platform(_linux("x86_64"), ("linux-x86_64", "linux-x86_64-v3")),
    "linux-arm64": Platform(_linux("aarch64"), ("linux-arm64",)),
    "macos-arm64": Platform("macosx_11_0_arm64", ("macos-arm64",)),
    "macos-x86_64": Platform("macosx_11_0_x86_64", ("macos-x86_64",)),
    "windows-x86_64": Platform("win_amd64", ("windows-x86_64",)),
}


def platform_of(name: str) -> Platform:
    """The platform with a name.

    Raises
    ------
    ValueError
        If kernels cannot be built for it.
    """
    if name not in PLATFORMS:
        raise ValueError(f"no kernels can be built for platform {name!r}, allowed: {', '.join(PLATFORMS)}")
    return PLATFORMS[name]
