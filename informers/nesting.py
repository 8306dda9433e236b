"""JSON that is nested so deeply that no decoder of limited recursion reads it, made readable."""

from __future__ import annotations

import re

_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]', re.DOTALL)
_OPENING = b"[{"
_CLOSING = b"]}"


def cut_nesting(body: bytes, levels: int, replacement: bytes) -> bytes:
    """Return the JSON text with every array and object below that many levels replaced by `replacement`.

    Without recursion, so that nothing is too deep for it. What is no JSON comes out as something that is none either.
    """
    parts: list[bytes] = []
    level = kept = 0
    for token in _TOKEN.finditer(body):
        start = token.start()
        if body[start] in _OPENING:
            level += 1
            if level == levels + 1:
                parts += (body[kept:start], replacement)
        elif body[start] in _CLOSING:
            if level == levels + 1:
                kept = token.end()
            level -= 1
    if level <= levels:
        parts.append(body[kept:])
    return b"".join(parts)
