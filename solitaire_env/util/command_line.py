"""Command lines: tyro parses the options, with help in plain words; exit status and standard streams."""

import io
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import is_dataclass, replace
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Final, Literal, TypeVar, get_args, get_origin

import tyro
from tyro.conf import FlagCreatePairsOff, arg
from tyro.constructors import (
    ConstructorRegistry,
    PrimitiveConstructorSpec,
    PrimitiveTypeInfo,
    StructConstructorSpec,
    StructFieldSpec,
    StructTypeInfo,
)

from solitaire_env.util.messages import not_installed

Options = TypeVar("Options")

METAVARS: Final = {
    "against": "FOLDER",
    "dataset": "GAME/SOURCE",
    "deal": "DEAL",
    "deals": "DEALS",
    "device": "DEVICE",
    "entry": "ENTRY",
    "env": "GAME",
    "games": "GAMES",
    "host": "ADDRESS",
    "init_from": "FOLDER",
    "made": "SENTENCE",
    "memory": "MB",
    "milliseconds": "MILLISECONDS",
    "minutes": "MINUTES",
    "network": "NETWORK",
    "policy": "POLICY",
    "port": "PORT",
    "position": "FILE",
    "prior": "NETWORK",
    "ray": "[ADDRESS]",
    "resume": "FOLDER",
    "run": "FOLDER",
    "runs": "FOLDER",
    "seconds": "SECONDS",
    "split": "SPLIT",
    "steps": "STEPS",
    "study": "FILE",
    "transcript": "FILE",
    "transcripts": "FOLDER",
    "wandb": "PROJECT",
}
"""What the value of an option is, or its unit, by the option's name or its last word."""
KINDS: Final = {int: "N", float: "X", str: "TEXT", Path: "FILE"}
"""What the value of any other option is, by its type."""
CLOSED_PIPE: Final = 141
"""Exit status if the reader of the output has closed it, as in ``| head``: that of programs in C."""


def run_command(
    run: Callable[[], int], message: str | Callable[[], str] = "Interrupted.", name: str = "error"
) -> int:
    """Run a command; its exit status.

    A user's mistake is reported in a sentence instead of a trace, with status 2; Ctrl-C gives 130.

    Parameters
    ----------
    message
        Message at Ctrl-C, or a function that returns it; nothing is printed if it is empty.
    name
        What error messages begin with.
    """
    with standard_streams():
        try:
            status = run()
            sys.stdout.flush()
            return status
        except KeyboardInterrupt:
            said = message if isinstance(message, str) else message()
            status, text = 130, f"\n{said}" if said else ""
        except BrokenPipeError:
            status, text = CLOSED_PIPE, ""
        except ModuleNotFoundError as error:
            status, text = 2, f"{name}: {not_installed('this command', error.name)}"
        except (ValueError, ImportError, MemoryError, OSError) as error:
            status, text = 2, f"{name}: {error}"
        if text:
            with suppress(OSError):
                print(text, file=sys.stderr)
        return status


@contextmanager
def standard_streams() -> Iterator[None]:
    """Standard streams that can be used without an error: a closed one reads or writes nothing, a character
    that the encoding lacks is written as ``?``, and output without a reader is dropped at the end.
    """
    with ExitStack() as restored:
        for name in ("stdin", "stdout", "stderr"):
            stream = getattr(sys, name)
            if stream is None:  # the lowest free number, which is the closed one's, is the opened file's
                mode = "r" if name == "stdin" else "w"
                nothing = restored.enter_context(open(os.devnull, mode, encoding="utf-8"))
                setattr(sys, name, nothing)
                restored.callback(setattr, sys, name, None)
            elif isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
                stream.reconfigure(errors="replace")
                restored.callback(stream.reconfigure, errors="strict")
        try:
            yield
        finally:
            for stream in (sys.stdout, sys.stderr):
                try:
                    stream.flush()
                except OSError:  # it would fail again at exit
                    with open(os.devnull, "wb") as nowhere:
                        os.dup2(nowhere.fileno(), stream.fileno())


def parse(kind: Any, args: Sequence[str] | None, prog: str, **more: Any) -> Any:
    """Parse a command line, by default the program's own, as a dataclass or one of several.

    ``--help`` and wrong options end the program. ``more`` are further arguments of ``tyro.cli``.
    """
    with standard_streams():
        return tyro.cli(
            kind, args=args, prog=prog, config=(FlagCreatePairsOff,), registry=_registry(), **more
        )


def metavar(name: str, kind: Any) -> str | None:
    """What stands for the value of an option in its help; None for a flag, which has no value."""
    if get_origin(kind) is Annotated:
        return metavar(name, get_args(kind)[0])
    if kind is bool or is_dataclass(kind):
        return None
    parts = [part for part in get_args(kind) if part not in (NoneType, ...)]
    if get_origin(kind) is Literal:
        quoted = (f'"{part}"' if " " in str(part) else str(part) for part in parts)
        return f"{{{','.join(quoted)}}}"
    if get_origin(kind) in (list, tuple):
        return f"[{metavar(name, parts[0])} ...]"
    if parts:
        return metavar(name, parts[0])
    return METAVARS.get(name) or METAVARS.get(name.rpartition("_")[2]) or KINDS[kind]


def _default(text: str) -> str:
    """The default of an option in its help; empty if the option does nothing unless it is given."""
    return "" if text in ("", "None", "False") else f"(default: {text})"


def _registry() -> ConstructorRegistry:
    """The rule of tyro for dataclasses, with our words for each option that has none of its own; the rule for
    whole numbers.
    """
    registry = ConstructorRegistry()
    is_inside = False

    @registry.primitive_rule
    def whole_rule(info: PrimitiveTypeInfo) -> PrimitiveConstructorSpec[int] | None:
        if info.type is not int:
            return None
        return PrimitiveConstructorSpec(
            nargs=1,
            metavar=KINDS[int],
            instance_from_str=lambda words: _whole(words[0]),
            is_instance=lambda value: type(value) is int,
            str_from_instance=lambda value: [str(value)],
        )

    @registry.struct_rule
    def rule(info: StructTypeInfo) -> StructConstructorSpec | None:
        nonlocal is_inside
        if is_inside or not is_dataclass(info.type):
            return None
        is_inside = True
        try:
            spec = ConstructorRegistry.get_struct_spec(info)
        finally:
            is_inside = False
        if not isinstance(spec, StructConstructorSpec):
            return None
        return replace(spec, fields=tuple(map(_in_words, spec.fields)))

    return registry


def _whole(text: str) -> int:
    """A whole number, as ``1000000`` or ``1e6``."""
    try:
        return int(text)
    except ValueError:
        if float(text).is_integer():
            return int(float(text))
        raise


def _in_words(field: StructFieldSpec) -> StructFieldSpec:
    """An option with our words; what its own type says about it comes later and replaces them."""
    kind, *own = get_args(field.type) if get_origin(field.type) is Annotated else (field.type,)
    words = arg(metavar=metavar(field.name, kind), help_behavior_hint=_default)

    def text() -> str:
        """The docstring, without its line breaks."""
        found = field.helptext() if callable(field.helptext) else field.helptext
        return " ".join((found or "").split())

    annotated: Any = Annotated[(kind, words, *own)]
    return replace(field, type=annotated, helptext=text)
