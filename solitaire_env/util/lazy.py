"""What is computed once, when it is first needed."""

from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar, overload

VARIANTS_KEPT: Final = 256
"""Number of variants for which the result of a cached function is kept: more than are published."""

Value = TypeVar("Value")


class cached_property(Generic[Value]):  # as in functools
    """The same as ``functools.cached_property``, without a lock.

    Before Python 3.12 that has one, common to all objects of a class. A process that is forked while another
    thread holds it would wait for ever.
    """

    def __init__(self, function: Callable[[Any], Value]) -> None:
        self.function = function
        self.__doc__ = function.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> "cached_property[Value]": ...
    @overload
    def __get__(self, instance: object, owner: type) -> Value: ...
    def __get__(self, instance: object | None, owner: type) -> "Value | cached_property[Value]":
        if instance is None:
            return self
        value = instance.__dict__[self.name] = self.function(instance)
        return value
