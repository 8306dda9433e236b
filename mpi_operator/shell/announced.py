"""Which events this process has emitted that must not be repeated (lifecycle.md 10)."""

from __future__ import annotations

import threading


class Announced:
    """Keys of emitted events by the uid of their job, from the first until the job is deleted. Safe from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._keys: dict[str, frozenset[str]] = {}

    def keys(self, job_uid: str) -> frozenset[str]:
        """Return the keys that were announced for the job."""
        with self._lock:
            return self._keys.get(job_uid, frozenset())

    def announce(self, job_uid: str, key: str) -> bool:
        """Remember the key; return whether it is new. The empty key is always new."""
        if not key:
            return True
        with self._lock:
            known = self._keys.get(job_uid, frozenset())
            if key in known:
                return False
            self._keys[job_uid] = known | {key}
            return True

    def forget(self, job_uid: str) -> None:
        """Forget a job that is gone."""
        with self._lock:
            self._keys.pop(job_uid, None)
