"""One violation of the rules for an MPIJob, and the text that tells a user of it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from enum import Enum

import msgspec


class ViolationKind(Enum):
    """The kinds of field errors, with the words that Kubernetes uses for them."""

    REQUIRED = "Required value"
    INVALID = "Invalid value"
    NOT_SUPPORTED = "Unsupported value"


class Violation(msgspec.Struct, frozen=True, kw_only=True):
    """A field that is missing or has a value that is refused. `value` is what was found; REQUIRED has none."""

    kind: ViolationKind
    field: str
    value: str | int | None = None
    detail: str = ""

    def __str__(self) -> str:
        """Return the text in the format of Kubernetes' field errors: `field: kind: "value": detail`."""
        parts = [self.field, self.kind.value]
        if self.kind is not ViolationKind.REQUIRED:
            parts.append(json.dumps(self.value, ensure_ascii=False))
        if self.detail:
            parts.append(self.detail)
        return ": ".join(parts)


def required(field: str, detail: str) -> Violation:
    """Return the violation of a field that must be there."""
    return Violation(kind=ViolationKind.REQUIRED, field=field, detail=detail)


def invalid(field: str, value: str | int | None, detail: str) -> Violation:
    """Return the violation of a value that is out of range or malformed."""
    return Violation(kind=ViolationKind.INVALID, field=field, value=value, detail=detail)


def not_supported(field: str, value: str, supported: Iterable[str]) -> Violation:
    """Return the violation of a value outside a fixed set, which the detail lists."""
    listed = ", ".join(json.dumps(choice) for choice in supported)
    return Violation(kind=ViolationKind.NOT_SUPPORTED, field=field, value=value, detail=f"supported values: {listed}")


def describe_violations(violations: Iterable[Violation]) -> str:
    """Return one text for all: a single one bare, several in brackets, each text once (B046)."""
    texts = list(dict.fromkeys(str(violation) for violation in violations))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
