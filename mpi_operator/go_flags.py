"""The command-line syntax of Go's `flag` package, which existing Deployments are written in (B281, B282).

One or two dashes mean the same; `-x v`, `-x=v` and `--x=v` set a value; a boolean takes a value only after `=`; the
last of several settings wins; `--` and the first argument without a dash end the flags.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

import msgspec

Value: TypeAlias = str | int | float | bool

_DURATION = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)")
_UNIT_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE = frozenset({"0", "f", "F", "FALSE", "false", "False"})


class FlagError(ValueError):
    """A command line that cannot be used; its text is one line that names flag, found, expected and remedy."""


class HelpRequested(Exception):
    """`-h`, `-help` or `--help` was given."""


class Flag(msgspec.Struct, frozen=True, kw_only=True):
    """One flag: its name without dashes, how its text is read (raising ValueError), and what its value looks like."""

    name: str
    parse: Callable[[str], Value]
    placeholder: str
    is_boolean: bool = False


def parse_text(text: str) -> str:
    """Return the text itself."""
    return text


def parse_boolean(text: str) -> bool:
    """Return what Go's `strconv.ParseBool` returns; raise ValueError."""
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise ValueError("expected true or false")


def parse_integer(text: str) -> int:
    """Return a decimal, hexadecimal, octal or binary integer; raise ValueError."""
    try:
        return int(text, 10) if text.lstrip("+-").isdecimal() else int(text, 0)
    except ValueError:
        raise ValueError("expected a whole number") from None


def parse_number(text: str) -> float:
    """Return a finite number; raise ValueError."""
    try:
        number = float(text)
    except ValueError:
        raise ValueError("expected a number") from None
    if number - number != 0:
        raise ValueError("expected a finite number")
    return number


def parse_seconds(text: str) -> float:
    """Return the seconds of a Go duration such as `15s`, `1h15m` or `300ms`; raise ValueError."""
    unsigned = text.removeprefix("+")
    if unsigned == "0":
        return 0.0
    parts = _DURATION.findall(unsigned)
    if not parts or "".join(number + unit for number, unit in parts) != unsigned:
        raise ValueError("expected a duration such as 15s, 5m or 1h30m")
    return sum(float(number) * _UNIT_SECONDS[unit] for number, unit in parts)


def parse_flags(arguments: Sequence[str], flags: Mapping[str, Flag]) -> dict[str, Value]:
    """Return the value of each flag that `arguments` set, by name; raise FlagError or HelpRequested.

    Go leaves arguments after the flags to the program; ours takes none, so that a forgotten dash cannot silently
    switch off everything behind it.
    """
    values: dict[str, Value] = {}
    remaining = iter(arguments)
    for argument in remaining:
        if argument == "--" or not argument.startswith("-") or argument == "-":
            _refuse_rest(argument, remaining)
            break
        name, text = _split(argument)
        flag = flags.get(name)
        if flag is None:
            if name in {"h", "help"}:
                raise HelpRequested
            raise FlagError(f"flag provided but not defined: -{name}; --help lists the flags")
        if text is None:
            text = "true" if flag.is_boolean else next(remaining, None)
        if text is None:
            raise FlagError(f"flag needs an argument: -{name}; write --{name}={flag.placeholder}")
        try:
            values[name] = flag.parse(text)
        except ValueError as error:
            raise FlagError(f'invalid value "{text}" for flag -{name}: {error}') from None
    return values


def _split(argument: str) -> tuple[str, str | None]:
    name, equals, text = argument.removeprefix("-").removeprefix("-").partition("=")
    if not name or name.startswith("-"):
        raise FlagError(f"bad flag syntax: {argument}; write --name=value")
    return name, text if equals else None


def _refuse_rest(argument: str, remaining: Iterator[str]) -> None:
    unexpected = next(remaining, None) if argument == "--" else argument
    if unexpected is not None:
        raise FlagError(
            f'unexpected argument "{unexpected}"; flags begin with a dash, a boolean is set as --name=false'
        )
