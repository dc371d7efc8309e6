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
