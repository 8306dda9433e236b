"""What was last seen of the jobs' ssh Secrets, so that not every sync asks for them (security.md)."""

from __future__ import annotations

import threading
from collections.abc import Callable

from cachetools import TTLCache

from mpi_operator.api.observed import Secret

REMEMBERED_SECONDS = 60.0
_MOST_REMEMBERED = 10_000


class SecretMemory:
    """Remembers, for a minute and by the job's uid, that a job's Secret is usable. Safe from any thread.

    It never holds a key: `Secret` says only that the pair is usable. Anything but a usable Secret is forgotten at
    once, so that it is looked at again.
    """

    def __init__(self, *, timer: Callable[[], float], remembered_seconds: float = REMEMBERED_SECONDS) -> None:
        self._lock = threading.Lock()
        self._secrets: TTLCache[str, Secret] = TTLCache(_MOST_REMEMBERED, remembered_seconds, timer=timer)

    def get(self, job_uid: str) -> Secret | None:
        """Return the Secret if it was usable when it was last seen, a short time ago."""
        with self._lock:
            return self._secrets.get(job_uid)

    def put(self, job_uid: str, secret: Secret) -> None:
        """Remember a usable Secret; forget one that is not."""
        with self._lock:
            if secret.is_usable:
                self._secrets[job_uid] = secret
            else:
                self._secrets.pop(job_uid, None)

    def forget(self, job_uid: str) -> None:
        """Forget the job's Secret."""
        with self._lock:
            self._secrets.pop(job_uid, None)
