"""Sending events to the server: what is tried again, what is given up (informers.md 1.10.1, write policy)."""

from __future__ import annotations

from enum import StrEnum
from random import Random

import structlog
from tenacity import RetryCallState, Retrying, retry_if_exception

from clockwork import StopToken
from informers.api import MERGE_PATCH, Api
from informers.errors import AlreadyExists, ApiError, NamespaceTerminating, NotFound, Stopped, TransportError
from mpi_operator.events.write import Write

TRIES = 12
RETRY_SECONDS = 10.0
_REQUEST_TIMEOUT_SECONDS = 10.0

_log = structlog.get_logger(__name__)


class Result(StrEnum):
    """What became of a write: done, refused by the server, or given up because the server could not be reached."""

    WRITTEN = "written"
    REFUSED = "refused"
    UNREACHABLE = "unreachable"


class Writer:
    """Sends writes, one at a time; belongs to one thread.

    `hurry` set means that nobody waits any longer: every write gets the one try it is in, or its next. `abort` set
    ends even that one.
    """

    def __init__(self, api: Api, api_path: str, *, random: Random, hurry: StopToken, abort: StopToken) -> None:
        self._api = api
        self._api_path = api_path
        self._random = random
        self._hurry = hurry
        self._abort = abort

    def write(self, write: Write) -> Result:
        """Send `write`; return what became of it. Raises nothing that a server or a network can cause."""
        retrying = Retrying(
            retry=retry_if_exception(_is_unanswered),
            stop=self._is_last_try,
            wait=self._choose_delay,
            sleep=self._sleep,
            reraise=True,
        )
        event = f"{write.namespace}/{write.name}"
        try:
            retrying(self._send, write)
        except AlreadyExists:
            # An earlier try whose answer was lost.
            return Result.WRITTEN
        except NamespaceTerminating:
            return Result.REFUSED
        except ApiError as error:
            result = Result.UNREACHABLE if _is_unanswered(error) or isinstance(error, Stopped) else Result.REFUSED
            _log.warning("an event was not written", event_object=event, result=result.value, error=str(error))
            return result
        return Result.WRITTEN

    def _send(self, write: Write) -> None:
        collection = f"{self._api_path}/namespaces/{write.namespace}/events"
        about = f"event {write.namespace}/{write.name}"
        if write.patch is not None:
            try:
                self._api.request(
                    "PATCH",
                    f"{collection}/{write.name}",
                    body=write.patch,
                    content_type=MERGE_PATCH,
                    timeout=_REQUEST_TIMEOUT_SECONDS,
                    action=f"patch {about}",
                    stop=self._abort,
                )
            except NotFound:
                # Events live for an hour; this one starts anew.
                pass
            else:
                return
        self._api.request(
            "POST",
            collection,
            body=write.manifest,
            timeout=_REQUEST_TIMEOUT_SECONDS,
            action=f"create {about}",
            stop=self._abort,
        )

    def _is_last_try(self, state: RetryCallState) -> bool:
        return state.attempt_number >= TRIES or self._hurry.is_set()

    def _sleep(self, seconds: float) -> None:
        self._hurry.wait(seconds)

    def _choose_delay(self, state: RetryCallState) -> float:
        # The first delay is random, so that the clients of a restarted server do not come back in one wave.
        return self._random.random() * RETRY_SECONDS if state.attempt_number == 1 else RETRY_SECONDS


def _is_unanswered(error: BaseException) -> bool:
    """Return whether the server has given no verdict, so that another try makes sense."""
    if not isinstance(error, ApiError) or isinstance(error, Stopped):
        return False
    return isinstance(error, TransportError) or error.code == 0
