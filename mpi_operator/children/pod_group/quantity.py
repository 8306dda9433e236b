"""Kubernetes' resource quantities, exactly: parsed, added, and written as the API server writes them."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Literal

import msgspec

Format = Literal["decimal", "binary", "exponent"]

_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
_DECIMAL_SUFFIXES = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_BINARY_SUFFIXES = {0: "", **{power: suffix for suffix, power in _BINARY.items()}}
_QUANTITY = re.compile(
    r"(?P<number>[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))"
    r"(?:(?P<suffix>[KMGTPE]i|[numkMGTPE])|[eE](?P<exponent>[+-]?[0-9]{1,2}))?"
)
_SMALLEST = Fraction(1, 10**9)
_BINARY_FROM = 1024
_LONGEST_TEXT = 100
"""Of a text that is longer, Python may refuse to make a number, or to write it again."""


class Quantity(msgspec.Struct, frozen=True):
    """An amount, a multiple of 10⁻⁹, and the way in which it was written. Equal amounts may be written differently."""

    amount: Fraction
    format: Format = "decimal"

    def __add__(self, other: Quantity) -> Quantity:
        """Return the sum, written as the first that is not zero."""
        return Quantity(self.amount + other.amount, self.format if self.amount else other.format)

    def __mul__(self, times: int) -> Quantity:
        """Return the product with a number of pods."""
        return Quantity(self.amount * times, self.format)

    def __str__(self) -> str:
        """Return the canonical text: no fraction, and the largest suffix that allows that."""
        is_whole = self.amount.denominator == 1
        if self.format == "binary" and is_whole and abs(self.amount) >= _BINARY_FROM:
            return _write_binary(int(self.amount))
        return _write_decimal(self.amount, is_exponent=self.format == "exponent")


ZERO = Quantity(Fraction(0))


def parse_quantity(value: object) -> Quantity:
    """Return the quantity that a text or number of a manifest says, rounded up to 10⁻⁹ as the API server does.

    Raises ValueError, naming the value, for what is none.
    """
    text = str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else ""
    match = _QUANTITY.fullmatch(text) if len(text) <= _LONGEST_TEXT else None
    if match is None:
        raise ValueError(f"{text[:_LONGEST_TEXT] or value!r} is not a quantity; expected for example 2, 500m or 1Gi")
    number, suffix, exponent = match["number"], match["suffix"] or "", match["exponent"]
    amount = Fraction(number if number.strip("+-.") else "0")
    if suffix in _BINARY:
        return Quantity(_round_up(amount * 1024 ** _BINARY[suffix]), "binary")
    if exponent is not None:
        return Quantity(_round_up(amount * Fraction(10) ** int(exponent)), "exponent")
    return Quantity(_round_up(amount * Fraction(10) ** _DECIMAL[suffix]))


def _round_up(amount: Fraction) -> Fraction:
    """Round away from zero to the smallest unit."""
    units = amount / _SMALLEST
    whole = -(-units.numerator // units.denominator) if units > 0 else units.numerator // units.denominator
    return whole * _SMALLEST


def _write_binary(amount: int) -> str:
    power = 0
    while power < max(_BINARY_SUFFIXES) and amount % 1024 == 0:
        amount //= 1024
        power += 1
    return f"{amount}{_BINARY_SUFFIXES[power]}"


def _write_decimal(amount: Fraction, *, is_exponent: bool) -> str:
    exponent = -9
    units = int(amount / _SMALLEST)
    while units and exponent < max(_DECIMAL_SUFFIXES) and units % 1000 == 0:
        units //= 1000
        exponent += 3
    if not units:
        return "0"
    if is_exponent:
        return f"{units}e{exponent}" if exponent else str(units)
    return f"{units}{_DECIMAL_SUFFIXES[exponent]}"
