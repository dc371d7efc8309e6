"""Objects that never change, so that a copy of what holds them need not copy them."""

from typing import Any

from typing_extensions import Self


class Immutable:
    """A deep copy of the object is the object itself."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self
