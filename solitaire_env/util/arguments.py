"""Arguments from users: one check for each kind, with an error that shows the value and what is allowed."""

from collections.abc import Collection, Iterable
from math import inf, nan
from numbers import Real
from typing import Any, Final, TypeVar

import numpy as np

from solitaire_env.util.messages import shown
from solitaire_env.util.numbers import whole_number

T = TypeVar("T")

LARGEST: Final = 2**63 - 1
"""The largest number that an array of int64 holds."""


def check_kind(name: str, value: Any, kind: type[T] | tuple[type[T], ...], allowed: str = "") -> T:
    """Check that a value is an instance of a class; ``allowed`` describes it if its name does not."""
    if not isinstance(value, kind):
        raise TypeError(
            f"{name} is a {type(value).__name__}, allowed: {allowed or getattr(kind, '__name__', kind)}"
        )
    return value


def has_items(value: object) -> bool:
    """Whether a value is an iterable other than text. An array without dimensions is none, although Python
    takes it for one.
    """
    return (
        isinstance(value, Iterable) and not isinstance(value, (str, bytes)) and getattr(value, "ndim", 1) > 0
    )


def check_choice(name: str, value: T, allowed: Collection[object]) -> T:
    """Check that a value is one of some texts, or None if that is among them."""
    if not (value is None or isinstance(value, str)) or value not in allowed:
        raise ValueError(f"unknown {name} {shown(value)}, allowed: {', '.join(map(repr, allowed))}")
    return value


def check_flag(name: str, value: object) -> bool:
    """Check a bool, Python's or NumPy's."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} is {shown(value)}, allowed: True or False")
    return bool(value)


def check_amount(name: str, value: object, least: float = 0, most: float = inf) -> float:
    """Check a number above 0 and within limits, such as a number of seconds, and return it as a float."""
    number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else nan
    if not (least <= number <= most and number > 0):
        allowed = f"{least:g} to {most:.0f}" if least else "above 0"
        raise ValueError(f"{name} is {shown(value)}, allowed: {allowed}")
    return number


def check_count(name: str, value: object, least: int = 0, most: int = LARGEST) -> int:
    """Check a whole number within limits, such as a number of games, and return it as an int."""
    number = whole_number(value)
    if number is None or not least <= number <= most:
        highest = "2**63 - 1" if most == LARGEST else most
        raise ValueError(f"{name} is {shown(value)}, allowed: a whole number from {least} to {highest}")
    return number
