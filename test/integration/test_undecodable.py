"""An MPIJob that cannot be read, as a server with a lax CRD may store it (A2.14)."""

from __future__ import annotations

import http.client

from hack.cluster.control_plane import free_ports
from informers.testing import FakeApiServer
from mpi_operator.shell.resources import MPI_JOBS, PODS, RESOURCES
from test.builders.jobs import a_raw_job
from test.integration.operator_process import LEADING, OperatorProcess
from test.integration.server import EVENTS, LEASES


def test_A2_14_a_job_that_cannot_be_read_is_told_of_and_stops_no_other() -> None:
    (port,) = free_ports(1)
    with FakeApiServer(*RESOURCES.values(), EVENTS, LEASES) as server:
        with OperatorProcess(f"--monitoring-port={port}", kubeconfig=server.kubeconfig) as operator:
            operator.await_log(LEADING)
            broken = a_raw_job(name="broken", metadata={"uid": "broken-uid"})
            broken["spec"]["slotsPerWorker"] = "many"
            server.put(MPI_JOBS, broken)
            server.put(MPI_JOBS, a_raw_job())
            server.await_requests(2, "create", PODS)
            server.await_requests(2, "create", EVENTS)
            assert operator.stop() == 0
        events = {event["involvedObject"]["name"]: event for event in server.objects(EVENTS) if "reason" in event}
        assert (events["broken"]["type"], events["broken"]["reason"]) == ("Warning", "DecodeError")
        assert "slotsPerWorker" in events["broken"]["message"]
        assert events["broken"]["involvedObject"]["uid"] == "broken-uid"
        assert {pod["metadata"]["name"] for pod in server.objects(PODS)} == {"pi-worker-0", "pi-worker-1"}


def test_A2_14_it_is_counted() -> None:
    (port,) = free_ports(1)
    broken = a_raw_job(name="broken", metadata={"uid": "broken-uid"})
    broken["spec"]["slotsPerWorker"] = "many"
    with FakeApiServer(*RESOURCES.values(), EVENTS, LEASES) as server:
        server.put(MPI_JOBS, broken)
        with OperatorProcess(f"--monitoring-port={port}", kubeconfig=server.kubeconfig) as operator:
            operator.await_log(LEADING)
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
            connection.request("GET", "/metrics")
            text = connection.getresponse().read().decode()
            connection.close()
            assert "mpi_operator_jobs_undecodable_total 1.0" in text
            assert 'informer_decode_errors_total{informer="mpijobs.kubeflow.org"} 1.0' in text
