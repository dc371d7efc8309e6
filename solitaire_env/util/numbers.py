"""Whole numbers from users: Python's, NumPy's and other libraries' scalars, and arrays of them."""

import operator
from typing import Any

import numpy as np
import numpy.typing as npt

from solitaire_env.util.messages import shown


def whole_number(value: object) -> int | None:
    """The value as an int; None if it is not a whole number.

    Whole numbers are Python and NumPy integers, 0-d integer arrays and tensors, and other objects with
    ``__index__``. Bools are not.
    """
    if type(value) is int:
        return value
    if isinstance(value, bool):
        return None
    # NumPy's own bools and longer arrays have no index, torch's have.
    if not isinstance(value, (int, np.generic, np.ndarray)) and (
        getattr(value, "ndim", 0) != 0 or "bool" in str(getattr(value, "dtype", ""))
    ):
        return None
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return None


def whole_numbers(name: str, values: object, size: int | None = None) -> npt.NDArray[Any]:
    """Values as a 1-D array of whole numbers, of any NumPy integer type; exactly ``size`` if it is given.

    Raises
    ------
    ValueError
        With ``name``, a plural noun, and a description of the values.
    """
    allowed = "one row of whole numbers" if size is None else f"({size},) whole numbers"
    bools = isinstance(values, (list, tuple)) and any(isinstance(v, (bool, np.bool_)) for v in values)
    try:
        array = np.asarray(values, dtype=np.bool_ if bools else None)
    except (ValueError, TypeError, RuntimeError):  # lists of different lengths, tensors with a gradient
        raise ValueError(f"{name} are {shown(values, 60)}, allowed: {allowed}") from None
    # An empty list makes an array of floats.
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu") or size not in (None, array.size):
        raise ValueError(f"{name} have shape {array.shape} and type {array.dtype}, allowed: {allowed}")
    return array
