"""Comparing resourceVersions: opaque strings for equality, decimal integers for order (informers.md 0.6, KEP-5504)."""

from __future__ import annotations


def is_comparable(resource_version: str) -> bool:
    """Return whether the text has an order: only ASCII digits, no leading zero (so neither "" nor "0")."""
    return resource_version.isascii() and resource_version.isdigit() and resource_version[0] != "0"


def compare(left: str, right: str) -> int | None:
    """Return -1, 0 or 1 as `left` is older than, equal to or newer than `right`; None when they cannot be compared.

    Meaningful only between objects of one resource type. Length is not limited. Never falls back to the order of
    strings: a caller that gets None must do without the answer. Pure.
    """
    if not (is_comparable(left) and is_comparable(right)):
        return None
    if left == right:
        return 0
    # Without leading zeros the longer number is the larger one, and equal lengths compare digit by digit.
    return 1 if (len(left), left) > (len(right), right) else -1
