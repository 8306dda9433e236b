"""Whether the process lives and is ready, as the kubelet asks (B296-B300, lifecycle.md 11)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from http import HTTPStatus

from mpi_operator.http_server import Page, Pages

Check = Callable[[], str | None]
"""Returns None when all is well, else what is wrong, in one line. Called from any thread; must not block."""

LEADER_ELECTION = "leaderElection"


def build_health_pages(*, leader_election: Check, readiness: Mapping[str, Check]) -> Pages:
    """Return `/healthz`, `/healthz/leaderElection` and `/readyz`.

    The first two are `ok` or, with 500, the reason; `/readyz` is 200 or 503 with a line for each check.
    """
    liveness = {LEADER_ELECTION: leader_election}
    return {
        "/healthz": lambda _: _answer_health(liveness),
        f"/healthz/{LEADER_ELECTION}": lambda _: _answer_health(liveness),
        "/readyz": lambda _: _answer_readiness(readiness),
    }


def _answer_health(checks: Mapping[str, Check]) -> Page:
    lines, is_good = _run(checks)
    return Page(b"ok") if is_good else Page(lines.encode(), HTTPStatus.INTERNAL_SERVER_ERROR)


def _answer_readiness(checks: Mapping[str, Check]) -> Page:
    lines, is_good = _run(checks)
    return Page(lines.encode(), HTTPStatus.OK if is_good else HTTPStatus.SERVICE_UNAVAILABLE)


def _run(checks: Mapping[str, Check]) -> tuple[str, bool]:
    faults = {name: check() for name, check in checks.items()}
    lines = [
        f"[+]{name} ok" if fault is None else f"[-]{name}: {' '.join(fault.split())}" for name, fault in faults.items()
    ]
    return "\n".join(lines) + "\n", all(fault is None for fault in faults.values())
