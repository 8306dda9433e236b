"""Which objects of a gang scheduler this API server knows (G1, B065, B276)."""

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


def find_gang_resources(api: Api, gang_scheduling: str, stop: StopToken) -> GangResources:
    """Return the resources of the scheduler that the flag's value stands for, of the newest version that is served.

    Where the value leaves no choice they are returned served or not, since a gang that cannot be described is an
    error that users should see; else nothing is returned when no version is served, and pods are scheduled one by
    one. Asks again until the server answers or `stop` is set.
    """
    candidates = [build_resources(each) for each in find_candidates(gang_scheduling)] if gang_scheduling else []
    served = next((each for each in candidates if _are_served(api, each, stop)), ())
    if served:
        _log.info("gang scheduling", scheduler=gang_scheduling, api=served[0].api_version)
        return GangResources(served, are_served=True)
    if len(candidates) == 1:
        (only,) = candidates
        _log.error(
            "the gang scheduler's API is not served, so gangs cannot be described; install its CRDs",
            scheduler=gang_scheduling,
            api=only[0].api_version,
        )
        return GangResources(only)
    if candidates:
        _log.error(
            "no known version of the gang scheduler's API is served; pods are scheduled one by one",
            scheduler=gang_scheduling,
        )
    return GangResources()


def _are_served(api: Api, resources: Sequence[Resource], stop: StopToken) -> bool:
    path = f"/apis/{resources[0].api_version}"
    while not stop.is_set():
        try:
            body = api.request("GET", path, action=f"look for {resources[0].name}", stop=stop).body
            found = {each.name for each in _DECODER.decode(body).resources}
        except NotFound:
            return False
        except (ApiError, msgspec.MsgspecError) as error:
            _log.warning("asking for the gang scheduler's API failed", error=str(error), retry_seconds=RETRY_SECONDS)
            stop.wait(RETRY_SECONDS)
        else:
            return found >= {each.plural for each in resources}
    return False


_DECODER = msgspec.json.Decoder(_ServedResources)
