"""Fitting text into the limits that an API server sets in bytes (informers.md 1.10.3)."""

from __future__ import annotations

MESSAGE_BYTES = 1024
WORD_BYTES = 128


def fit(text: str, limit_bytes: int) -> str:
    """Return the longest beginning of `text` that takes at most `limit_bytes` in UTF-8, never half a character.

    Characters that UTF-8 cannot express (lone surrogates) become question marks.
    """
    encoded = text.encode(errors="replace")
    return encoded[:limit_bytes].decode(errors="ignore")
