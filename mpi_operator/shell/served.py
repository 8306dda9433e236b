"""Whether the API server serves MPIJobs yet (B284)."""

from __future__ import annotations

import structlog

from clockwork import StopToken
from informers.api import Api
from informers.errors import ApiError, NotFound
from mpi_operator.shell.resources import MPI_JOBS

RETRY_SECONDS = 5.0
_MISSING = (
    f"the custom resource {MPI_JOBS.name} {MPI_JOBS.version} is not served; install the CRD, the operator waits for it"
)

_log = structlog.get_logger(__name__)


class ServedCheck:
    """Waits, without limit, until the CRD is installed, and says as a readiness check whether it is."""

    def __init__(self, api: Api, *, namespace: str) -> None:
        self._api = api
        self._path = MPI_JOBS.path(namespace=namespace)
        self._fault: str | None = "not asked yet"

    def check(self) -> str | None:
        """Return None once the resource is served, else what is missing."""
        return self._fault

    def wait(self, stop: StopToken) -> bool:
        """Ask until the resource is served; return False if `stop` is set first.

        Any failure but NotFound ends the wait as well: the informers deal with it, and tell it.
        """
        while not stop.is_set():
            try:
                self._api.request("GET", self._path, query={"limit": "1"}, action="look for MPIJobs", stop=stop)
            except NotFound:
                if self._fault != _MISSING:
                    _log.warning(_MISSING, retry_seconds=RETRY_SECONDS)
                self._fault = _MISSING
                stop.wait(RETRY_SECONDS)
                continue
            except ApiError as error:
                _log.warning("asking for MPIJobs failed", error=str(error))
            self._fault = None
            return not stop.is_set()
        return False
