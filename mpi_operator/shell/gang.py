"""Which objects of a gang scheduler this API server knows, and whether it knows them yet (G1, B065, B276)."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import structlog

from clockwork import StopToken
from informers.api import Api
from informers.errors import ApiError, NotFound
from informers.resource import Resource
from mpi_operator.children.pod_group.choice import find_candidates
from mpi_operator.children.pod_group.scheduler import GangScheduler

RETRY_SECONDS = 5.0

_log = structlog.get_logger(__name__)


class _ServedResource(msgspec.Struct, frozen=True):
    name: str = ""


class _ServedResources(msgspec.Struct, frozen=True):
    resources: tuple[_ServedResource, ...] = ()


class GangResources(msgspec.Struct, frozen=True):
    """The resources of a gang scheduler's objects, none without gang scheduling, and whether they are served."""

    resources: tuple[Resource, ...] = ()
    are_served: bool = False


def build_resources(scheduler: GangScheduler) -> tuple[Resource, ...]:
    """Return the API resources of a scheduler's objects."""
    return tuple(Resource(each.group, each.version, each.plural, each.kind) for each in scheduler.resources)


class GangDiscovery:
    """Finds the objects of the scheduler that --gang-scheduling names, and says as a readiness check if it has.

    Logs what was found, and what is missing when that changes. One thread asks; any may check.
    """

    def __init__(self, api: Api, gang_scheduling: str) -> None:
        self._api = api
        self._gang_scheduling = gang_scheduling
        self._candidates = [build_resources(each) for each in find_candidates(gang_scheduling)]
        self._fault: str | None = "not asked yet"

    def check(self) -> str | None:
        """Return None once the scheduler's API is served, else what is missing."""
        return self._fault

    def find(self, stop: StopToken) -> GangResources:
        """Return the resources, of the newest version that is served.

        Where the flag's value leaves no choice they are returned served or not, since a gang that cannot be described
        is an error that users should see; else nothing is returned when no version is served, and pods are scheduled
        one by one. Asks again until the server answers or `stop` is set.
        """
        served = next((each for each in self._candidates if self._are_served(each, stop)), ())
        if served:
            _log.info("gang scheduling", scheduler=self._gang_scheduling, api=served[0].api_version)
            self._fault = None
            return GangResources(served, are_served=True)
        fault = self._explain()
        if fault != self._fault and not stop.is_set():
            _log.error(fault, scheduler=self._gang_scheduling, retry_seconds=RETRY_SECONDS)
        self._fault = fault
        return GangResources(self._candidates[0] if len(self._candidates) == 1 else ())

    def wait(self, stop: StopToken) -> GangResources:
        """Ask until the API is served, and return its resources; those of an API that is not served when stopped."""
        while not stop.wait(RETRY_SECONDS):
            found = self.find(stop)
            if found.are_served:
                return found
        return GangResources()

    def _explain(self) -> str:
        apis = " or ".join(f"{each[-1].name} {each[-1].version}" for each in self._candidates)
        if len(self._candidates) == 1:
            return f"{apis} is not served, so no gang can be described; install its CRD, the operator waits for it"
        return f"{apis} is not served, so pods are scheduled one by one; turn it on, the operator waits for it"

    def _are_served(self, resources: Sequence[Resource], stop: StopToken) -> bool:
        path = f"/apis/{resources[0].api_version}"
        while not stop.is_set():
            try:
                body = self._api.request("GET", path, action=f"look for {resources[0].name}", stop=stop).body
                found = {each.name for each in _DECODER.decode(body).resources}
            except NotFound:
                return False
            except (ApiError, msgspec.MsgspecError) as error:
                self._fault = f"asking for the gang scheduler's API failed: {error}"
                _log.warning(
                    "asking for the gang scheduler's API failed", error=str(error), retry_seconds=RETRY_SECONDS
                )
                stop.wait(RETRY_SECONDS)
            else:
                return found >= {each.plural for each in resources}
        return False


_DECODER = msgspec.json.Decoder(_ServedResources)
