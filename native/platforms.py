"""The platforms that have a wheel: the libraries in each, and its tag. Imported without numba."""

from typing import Final, NamedTuple


class Platform(NamedTuple):
    """A kind of machine."""

    tag: str
    targets: tuple[str, ...]


PLATFORMS: Final = {
    "linux-x86_64": Platform(
        "manylinux2014_x86_64.manylinux_2_17_x86_64", ("linux-x86_64", "linux-x86_64-v3")
    ),
    "linux-arm64": Platform("manylinux2014_aarch64.manylinux_2_17_aarch64", ("linux-arm64",)),
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
