"""The requests about one Lease."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import assert_never

from clockwork import StopToken
from informers.api import Answer, Api, LineStream
from mpi_operator.leader_election.attempt import Create, Read, Request, Update
from mpi_operator.leader_election.config import Options
from mpi_operator.leader_election.lease import LEASES, Lease, decode_lease


class LeaseClient:
    """Reads, writes and watches one Lease. Safe from any thread; every method raises `informers.errors.ApiError`."""

    def __init__(self, api: Api, options: Options) -> None:
        self._api = api
        self._collection = LEASES.path(namespace=options.namespace)
        self._path = LEASES.path(namespace=options.namespace, name=options.name)
        self._field_selector = f"metadata.name={options.name}"
        self._object = f"Lease {options.namespace}/{options.name}"

    def send(self, request: Request, *, timeout: float, stop: StopToken) -> Lease:
        """Send `request` and return the Lease as it then is; `timeout` is in seconds."""
        return decode_lease(self._answer(request, timeout, stop).body)

    def _answer(self, request: Request, timeout: float, stop: StopToken) -> Answer:
        match request:
            case Read():
                action = f"get {self._object}"
                return self._api.request("GET", self._path, timeout=timeout, action=action, stop=stop)
            case Create(body):
                action = f"create {self._object}"
                return self._api.request("POST", self._collection, body=body, timeout=timeout, action=action, stop=stop)
            case Update(body):
                action = f"update {self._object}"
                return self._api.request("PUT", self._path, body=body, timeout=timeout, action=action, stop=stop)
        assert_never(request)

    def watch(
        self, *, timeout_seconds: int, idle_timeout: float, stop: StopToken
    ) -> AbstractContextManager[LineStream]:
        """Watch the Lease from its present state on, for `timeout_seconds`."""
        query = {"watch": "1", "fieldSelector": self._field_selector, "timeoutSeconds": str(timeout_seconds)}
        return self._api.stream(
            self._collection, query=query, stop=stop, idle_timeout=idle_timeout, action=f"watch {self._object}"
        )
