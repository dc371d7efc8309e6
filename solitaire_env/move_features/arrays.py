"""Arrays for kernels, in the types and shapes that named tuples declare."""

from typing import Any, TypeVar

import numpy as np

from solitaire_env.core.native import TupleType, type_of

Made = TypeVar("Made")


def make_arrays(kind: type[Made], rules: Any = None, **lengths: int) -> Made:
    """A named tuple of arrays, filled with zeros.

    Parameters
    ----------
    rules
        Has the lengths of axes such as ``rules.piles``.
    lengths
        Of the other axes, by their names.
    """

    def length(axis: str) -> int:
        if axis.isdecimal():
            return int(axis)
        own = axis.removeprefix("rules.")
        return lengths[axis] if own == axis else int(getattr(rules, own))

    declared = type_of(kind)
    assert isinstance(declared, TupleType)
    shapes = ((tuple(map(length, array.axes)), array.dtype) for _, array in declared.fields)
    return kind(*(np.zeros(shape, dtype) for shape, dtype in shapes))
