"""Credentials, throttling, elections and events against a real API server (informers.md 1.1, 1.9, 1.10, 3.6)."""

from __future__ import annotations

import base64
import json
import stat
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path
from random import Random
from typing import Any

import pytest

from clockwork import OwnedThread, StopToken, SystemClock
from hack.cluster.component import await_true
from hack.cluster.control_plane import ControlPlane
from informers import Informer
from informers.api import JSON, Answer, LineStream
from informers.client import Client
from informers.errors import ConnectionLost, TooManyRequests, Unauthorized
from informers.resource import Resource
from informers.resource_list_watch import ResourceListWatch
from informers.sync import wait_for_sync
from informers.transport import ServerConfiguration, Transport, load_configuration
from informers.transport.credentials import FixedCredentials
from mpi_operator.events import Correlation, EventType, ObjectReference, Recorder, Series, Source
from mpi_operator.leader_election import Callbacks, Elector, End, Options, Outcome
from test.builders.items import Item

JSONObject = dict[str, Any]
LIMIT_SECONDS = 60.0
CROWD = 16
CLOSE_SECONDS = 30.0
CONFIG_MAPS = Resource("", "v1", "configmaps", "ConfigMap")
EVENTS = Resource("", "v1", "events", "Event")
NEW_EVENTS = Resource("events.k8s.io", "v1", "events", "Event")
LEASES = Resource("coordination.k8s.io", "v1", "leases", "Lease")
NAMESPACES = Resource("", "v1", "namespaces", "Namespace", namespaced=False)
ACCOUNTS = Resource("", "v1", "serviceaccounts", "ServiceAccount")
BINDINGS = Resource("rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False)
FLOW_GROUP = "flowcontrol.apiserver.k8s.io"
LEVELS = Resource(FLOW_GROUP, "v1", "prioritylevelconfigurations", "PriorityLevelConfiguration", namespaced=False)
SCHEMAS = Resource(FLOW_GROUP, "v1", "flowschemas", "FlowSchema", namespaced=False)


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    with ControlPlane() as plane:
        yield plane


@pytest.fixture(scope="module")
def transport(plane: ControlPlane) -> Iterator[Transport]:
    with Transport(load_configuration(kubeconfig=str(plane.kubeconfig), environ={})) as transport:
        yield transport


@pytest.fixture
def client(transport: Transport) -> Client:
    return Client(transport)


@pytest.fixture
def namespace(client: Client) -> str:
    manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"generateName": "libraries-"}}
    created: JSONObject = client.create(NAMESPACES, "", manifest, dict)
    return str(created["metadata"]["name"])


def _create(client: Client, resource: Resource, namespace: str, name: str, **fields: Any) -> JSONObject:
    manifest = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": name}, **fields}
    created: JSONObject = client.create(resource, namespace, manifest, dict)
    return created


def _bind(client: Client, name: str, subject: JSONObject) -> None:
    """Give all rights to a subject."""
    role = {"apiGroup": BINDINGS.group, "kind": "ClusterRole", "name": "cluster-admin"}
    _create(client, BINDINGS, "", name, roleRef=role, subjects=[subject])


def _await(is_true: Callable[[], bool], what: str) -> None:
    await_true(is_true, LIMIT_SECONDS, lambda: AssertionError(what))


def _who_am_i(transport: Transport) -> str:
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    answer = transport.request("POST", path, body=json.dumps(review).encode())
    return str(json.loads(answer.body)["status"]["userInfo"]["username"])


# --- credentials -----------------------------------------------------------------------------------------------------


class Account:
    """A service account with all rights, and the token file of a pod that runs as it."""

    def __init__(self, transport: Transport, namespace: str, directory: Path, authority: str) -> None:
        self.directory = directory
        self.namespace = namespace
        self._transport = transport
        self._client = Client(transport)
        (directory / "ca.crt").write_text(Path(authority).read_text())
        _create(self._client, ACCOUNTS, namespace, "runner")
        _bind(self._client, namespace, {"kind": "ServiceAccount", "name": "runner", "namespace": namespace})
        self.rotate()

    def rotate(self) -> str:
        """Put a new token into the file and return it."""
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 600}}
        path = ACCOUNTS.path(namespace=self.namespace, name="runner", subresource="token")
        answer = self._transport.request("POST", path, body=json.dumps(request).encode())
        token = str(json.loads(answer.body)["status"]["token"])
        (self.directory / "token").write_text(token)
        return token

    def revoke(self) -> None:
        """Make every token so far invalid: they name the account's uid."""
        self._client.delete(ACCOUNTS, self.namespace, "runner")
        _create(self._client, ACCOUNTS, self.namespace, "runner")


def test_a_rotated_service_account_token_is_read_again_after_a_401_and_the_watch_lives_on(
    plane: ControlPlane, transport: Transport, client: Client, namespace: str, tmp_path: Path
) -> None:
    account = Account(transport, namespace, tmp_path, str(plane.directory / "ca.crt"))
    first = (tmp_path / "token").read_text()
    environ = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(plane.port)}
    inside = load_configuration(environ=environ, service_account=tmp_path)
    errors: list[Exception] = []
    stop = StopToken()
    with Transport(inside) as pod, Transport(_with_token(inside, first)) as stale:
        source = ResourceListWatch(pod, CONFIG_MAPS, Item, namespace=namespace)
        informer = Informer(source, clock=SystemClock(), random=Random(0), stop_token=stop, on_error=errors.append)
        informer.start()
        wait_for_sync([informer], timeout_seconds=LIMIT_SECONDS, clock=SystemClock(), stop=stop)
        account.revoke()
        account.rotate()
        _await(lambda: _is_unauthorized(stale), "the server honours the first token still")
        assert _who_am_i(pod) == f"system:serviceaccount:{namespace}:runner"
        _create(client, CONFIG_MAPS, namespace, "after-rotation")
        _await(lambda: informer.store.get(f"{namespace}/after-rotation") is not None, "the watch has ended")
        assert informer.stop() == []
    assert errors == []


def _with_token(configuration: ServerConfiguration, token: str) -> ServerConfiguration:
    credentials = FixedCredentials({"Authorization": f"Bearer {token}"})
    return ServerConfiguration(url=configuration.url, ca_file=configuration.ca_file, credentials=credentials)


def _is_unauthorized(transport: Transport) -> bool:
    try:
        _who_am_i(transport)
    except Unauthorized:
        return True
    return False


def _client_certificate(plane: ControlPlane, user: str) -> JSONObject:
    found = json.loads(plane.user_kubeconfig(user).read_text())["users"][0]["user"]
    names = {"clientCertificateData": "client-certificate-data", "clientKeyData": "client-key-data"}
    return {ours: base64.b64decode(found[theirs]).decode() for ours, theirs in names.items()}


def test_a_plugin_that_hands_out_another_client_certificate_makes_another_user(
    plane: ControlPlane, tmp_path: Path
) -> None:
    answer = tmp_path / "answer.json"
    plugin = tmp_path / "plugin"
    plugin.write_text(f"#!{sys.executable}\nprint(open({str(answer)!r}).read())\n")
    plugin.chmod(stat.S_IRWXU)

    def hand_out(user: str) -> None:
        status = {**_client_certificate(plane, user), "expirationTimestamp": "2020-01-01T00:00:00Z"}
        api_version = "client.authentication.k8s.io/v1"
        answer.write_text(json.dumps({"apiVersion": api_version, "kind": "ExecCredential", "status": status}))

    kubeconfig = json.loads(plane.kubeconfig.read_text())
    run = {"apiVersion": "client.authentication.k8s.io/v1", "command": "./plugin", "interactiveMode": "Never"}
    kubeconfig["users"][0]["user"] = {"exec": run}
    path = tmp_path / "kubeconfig"
    path.write_text(json.dumps(kubeconfig))
    hand_out("alice")
    with Transport(load_configuration(kubeconfig=str(path), environ={})) as transport:
        assert _who_am_i(transport) == "alice"
        hand_out("bob")
        assert _who_am_i(transport) == "bob"


# --- throttling ------------------------------------------------------------------------------------------------------


def test_a_server_that_is_too_busy_says_when_to_come_again_and_is_obeyed(
    plane: ControlPlane, client: Client, namespace: str
) -> None:
    user = f"busy-{namespace}"
    limited = {"nominalConcurrencyShares": 0, "borrowingLimitPercent": 0, "limitResponse": {"type": "Reject"}}
    _create(client, LEVELS, "", user, spec={"type": "Limited", "limited": limited})
    subject = {"kind": "User", "user": {"name": user}}
    everything = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"], "clusterScope": True}
    spec = {
        "matchingPrecedence": 2,
        "priorityLevelConfiguration": {"name": user},
        "rules": [{"subjects": [subject], "resourceRules": [everything]}],
    }
    _create(client, SCHEMAS, "", user, spec=spec)
    # Not as a member of system:masters, whom the server never refuses.
    _bind(client, user, {"apiGroup": BINDINGS.group, "kind": "User", "name": user})
    kubeconfig = plane.user_kubeconfig(user)
    path = CONFIG_MAPS.path(namespace=namespace)
    with (
        Transport(load_configuration(kubeconfig=str(kubeconfig), environ={})) as busy,
        ThreadPoolExecutor(CROWD) as pool,
    ):

        def refusal(_: int) -> TooManyRequests | None:
            try:
                busy.request("GET", path, timeout=0.5)
            except TooManyRequests as error:
                return error
            return None

        # A level without seats serves one request at a time.
        refusals: list[TooManyRequests] = []

        def is_crowded() -> bool:
            refusals.extend(error for error in pool.map(refusal, range(CROWD)) if error is not None)
            return bool(refusals)

        _await(is_crowded, "the server serves all at once whom it should serve one by one")
        assert {error.retry_after for error in refusals} == {1.0}
        answers = list(pool.map(lambda _: busy.request("GET", path), range(CROWD)))
    assert [answer.code for answer in answers] == [200] * CROWD


# --- leader election -------------------------------------------------------------------------------------------------


class Partition:
    """A connection that can be cut off for good, as by the network or by the death of the process."""

    def __init__(self, transport: Transport) -> None:
        self.is_cut = False
        self._transport = transport

    def _check(self) -> None:
        if self.is_cut:
            raise ConnectionLost("cut off")

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str = JSON,
        timeout: float | None = None,
        action: str = "",
        stop: StopToken | None = None,
    ) -> Answer:
        """Send the request unless cut off."""
        self._check()
        return self._transport.request(
            method,
            path,
            query=query,
            body=body,
            content_type=content_type,
            timeout=timeout,
            action=action,
            stop=stop,
        )

    def stream(
        self,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        stop: StopToken,
        idle_timeout: float | None = None,
        action: str = "",
    ) -> AbstractContextManager[LineStream]:
        """Open the watch unless cut off."""
        self._check()
        return self._transport.stream(path, query=query, stop=stop, idle_timeout=idle_timeout, action=action)


class Silent:
    """An event recorder that records nothing."""

    def event(
        self,
        regarding: ObjectReference,
        event_type: EventType,
        reason: str,
        message: str,
        *,
        action: str = "",
        related: ObjectReference | None = None,
    ) -> None:
        """Do nothing."""


class Candidate:
    """An elector in a thread of its own."""

    def __init__(self, transport: Transport, namespace: str, identity: str) -> None:
        self.connection = Partition(transport)
        self.stop = StopToken()
        self.leads = StopToken()
        self.outcomes: list[Outcome] = []
        options = Options(
            namespace=namespace,
            identity=identity,
            lease_duration_seconds=3,
            renew_deadline_seconds=2,
            retry_period_seconds=0.5,
        )
        self.elector = Elector(
            self.connection,
            options,
            Callbacks(
                on_started=lambda _: self.leads.set("leads"), stop_workers=lambda _: True, on_stopped=lambda: None
            ),
            Silent(),
            clock=SystemClock(),
            random=Random(identity),
        )
        self._thread = OwnedThread(f"candidate {identity}", self._run).start()

    def _run(self) -> None:
        self.outcomes.append(self.elector.run(self.stop))

    def finish(self) -> Outcome:
        """Stop and return the outcome."""
        self.stop.set("the test is over")
        assert self._thread.join(LIMIT_SECONDS)
        return self.outcomes[0]

    def await_end(self) -> Outcome:
        """Return the outcome of an election that ends by itself."""
        assert self._thread.join(LIMIT_SECONDS)
        return self.outcomes[0]


def _lease(client: Client, namespace: str) -> JSONObject:
    lease: JSONObject = client.get(LEASES, namespace, "mpi-operator", dict)
    return dict(lease["spec"])


def test_E9_a_leader_that_stops_hands_over_and_the_epoch_grows(
    transport: Transport, client: Client, namespace: str
) -> None:
    one = Candidate(transport, namespace, "one")
    assert one.leads.wait(LIMIT_SECONDS)
    two = Candidate(transport, namespace, "two")
    outcome = one.finish()
    assert (outcome.end, outcome.is_released) == (End.STOPPED, True)
    assert two.leads.wait(LIMIT_SECONDS)
    assert (one.elector.epoch, two.elector.epoch) == (0, 1)
    assert _lease(client, namespace)["leaseTransitions"] == 1
    assert two.finish().is_released
    assert _lease(client, namespace)["holderIdentity"] == ""


def test_a_leader_cut_off_without_a_word_stops_before_another_leads(transport: Transport, namespace: str) -> None:
    one = Candidate(transport, namespace, "one")
    assert one.leads.wait(LIMIT_SECONDS)
    two = Candidate(transport, namespace, "two")
    both: list[bool] = []
    watching = StopToken()

    def watch() -> None:
        while not watching.wait(0.005):
            # In this order, so that a hand-over between the two questions is not taken for two leaders.
            both.append(two.elector.is_leader() and one.elector.is_leader())

    watcher = OwnedThread("watcher", watch).start()
    one.connection.is_cut = True
    assert two.leads.wait(LIMIT_SECONDS)
    watching.set("seen enough")
    assert watcher.join(LIMIT_SECONDS)
    outcome = one.await_end()
    assert (outcome.end, outcome.is_released) == (End.LOST, False)
    assert both
    assert not any(both)
    assert two.elector.epoch == 1
    two.finish()


# --- events ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def regarding(client: Client, namespace: str) -> ObjectReference:
    created = _create(client, CONFIG_MAPS, namespace, "subject")
    uid = str(created["metadata"]["uid"])
    return ObjectReference(api_version="v1", kind="ConfigMap", name="subject", namespace=namespace, uid=uid)


def _events(client: Client, namespace: str, resource: Resource = EVENTS) -> list[JSONObject]:
    answer: JSONObject = client.get(resource, namespace, "", dict)
    return list(answer["items"])


def test_V1_V3_V7_a_server_takes_counts_combinations_and_events_that_had_expired(
    transport: Transport, client: Client, namespace: str, regarding: ObjectReference
) -> None:
    def record(*messages: str) -> None:
        for message in messages:
            recorder.event(regarding, "Warning", "Failed", message)
        _await(lambda: recorder.counts().written == written + len(messages), "not all events were written")

    recorder = Recorder(transport, Correlation(Source("tester")), clock=SystemClock(), random=Random(0))
    written = 0
    record("same", "same")
    (event,) = _events(client, namespace)
    assert (event["count"], event["message"], event["reportingComponent"]) == (2, "same", "tester")
    client.delete(EVENTS, namespace, event["metadata"]["name"])
    written = 2
    record("same")
    (event,) = _events(client, namespace)
    assert event["count"] == 3, "the count goes on in a new object"
    written = 3
    record(*(f"message {number}" for number in range(11)))
    combined = [each for each in _events(client, namespace) if each["message"].startswith("(combined")]
    assert [each["count"] for each in combined] == [3], "of eleven new messages the ninth to eleventh are combined"
    assert recorder.close(CLOSE_SECONDS)
    assert recorder.counts().failed == 0


def test_V12_a_server_takes_a_series(
    transport: Transport, client: Client, namespace: str, regarding: ObjectReference
) -> None:
    clock = SystemClock()
    flavour = Series(Source("tester", "instance-1"), started_at=clock.monotonic())
    recorder = Recorder(transport, flavour, clock=clock, random=Random(0))
    for _ in range(5):
        recorder.event(regarding, "Normal", "Created", "created a thing", action="Create")
    assert recorder.close(CLOSE_SECONDS)
    assert recorder.counts().failed == 0
    (event,) = _events(client, namespace, NEW_EVENTS)
    assert event["series"]["count"] == 5
    assert (event["note"], event["action"]) == ("created a thing", "Create")


def test_V15_a_server_takes_the_longest_message_and_name(transport: Transport, client: Client, namespace: str) -> None:
    name = "a" * 253
    about = ObjectReference(api_version="v1", kind="ConfigMap", name=name, namespace=namespace, uid="u")
    for flavour in (Correlation(Source("tester")), Series(Source("tester"), started_at=0.0)):
        recorder = Recorder(transport, flavour, clock=SystemClock(), random=Random(0))
        recorder.event(about, "Normal", "R" * 200, "ä" * 1100, action="A" * 200)
        assert recorder.close(CLOSE_SECONDS)
        assert recorder.counts().written == 1
    assert len(_events(client, namespace)) == 2
