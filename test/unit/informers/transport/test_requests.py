import gzip
import threading
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from clockwork import FakeClock, StopToken
from informers import errors
from informers.testing import FakeApiServer, faults
from informers.transport import ServerConfiguration, Transport, TransportOptions
from test.builders.items import PODS
from test.builders.tasks import LIMIT_SECONDS, running

PATH = PODS.path(namespace="team")


@pytest.fixture
def server() -> Iterator[FakeApiServer]:
    with FakeApiServer(PODS) as server:
        yield server


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def api(server: FakeApiServer, clock: FakeClock) -> Iterator[Transport]:
    with server.transport(clock=clock) as api:
        yield api


def a_pod(name: str = "a") -> bytes:
    return msgspec.json.encode({"metadata": {"name": name}})


class HastyClock(FakeClock):
    """A clock by which every look at it takes 31 s."""

    def monotonic(self) -> float:
        self.step(31)
        return super().monotonic()


class TestAnswers:
    def test_a_request_reaches_the_server_as_it_is_meant(self, server: FakeApiServer, api: Transport) -> None:
        answer = api.request("POST", PATH, query={"dryRun": "All", "x": "a b"}, body=a_pod(), action="create pod")
        assert answer.code == 201
        assert msgspec.json.decode(answer.body)["metadata"]["name"] == "a"
        (seen,) = server.requests
        assert (seen.method, seen.path, seen.query) == ("POST", PATH, {"dryRun": "All", "x": "a b"})
        assert seen.headers["content-type"] == "application/json"
        assert seen.headers["user-agent"] == "informers"

    @pytest.mark.parametrize(
        ("fault", "error_type"),
        [
            pytest.param(faults.Respond(410, "Expired"), errors.Expired, id="0.4 410 is Expired"),
            pytest.param(faults.Respond(400, "Expired"), errors.Expired, id="0.4 reason Expired is, whatever the code"),
            pytest.param(faults.Respond(504, "Gone"), errors.Expired, id="0.4 reason Gone is"),
            pytest.param(
                faults.Respond(504, "Timeout", causes=("ResourceVersionTooLarge",)),
                errors.TooLargeResourceVersion,
                id="0.4 cause too large",
            ),
            pytest.param(faults.Respond(429, "TooManyRequests"), errors.TooManyRequests, id="0.4 429"),
            pytest.param(faults.Respond(409, "Conflict"), errors.Conflict, id="0.4 409 Conflict"),
            pytest.param(faults.Respond(409, "AlreadyExists"), errors.AlreadyExists, id="0.4 409 AlreadyExists"),
            pytest.param(faults.Respond(404, "NotFound"), errors.NotFound, id="0.4 404"),
            pytest.param(faults.Respond(403, "Forbidden"), errors.Forbidden, id="0.4 403"),
            pytest.param(
                faults.Respond(403, "Forbidden", causes=("NamespaceTerminating",)),
                errors.NamespaceTerminating,
                id="0.4 namespace terminating",
            ),
            pytest.param(faults.Respond(401, "Unauthorized"), errors.Unauthorized, id="0.4 401"),
            pytest.param(faults.Respond(422, "Invalid"), errors.Invalid, id="0.4 422"),
            pytest.param(faults.Respond(400, "BadRequest"), errors.BadRequest, id="0.4 400"),
            pytest.param(faults.Respond(500, "InternalError"), errors.InternalError, id="0.4 500 InternalError"),
            pytest.param(faults.Respond(500, ""), errors.ServerError, id="0.4 500 of another reason"),
            pytest.param(faults.Respond(503, "ServiceUnavailable"), errors.ServerError, id="0.4 503"),
            pytest.param(faults.Respond(302, ""), errors.ServerError, id="a redirect is not followed"),
        ],
    )
    def test_0_4_a_status_answer_is_raised_as_its_class(
        self,
        server: FakeApiServer,
        api: Transport,
        fault: faults.Respond,
        error_type: type[errors.ApiError],
    ) -> None:
        server.script(msgspec.structs.replace(fault, message="the reason in words"))
        with pytest.raises(errors.ApiError, match="list pods: the reason in words") as caught:
            api.request("GET", PATH, action="list pods")
        assert type(caught.value) is error_type
        assert (caught.value.code, caught.value.reason) == (fault.code, fault.reason)
        assert len(server.requests) == 1

    @pytest.mark.parametrize(
        "message", ["Too large resource version: 100, current: 90", "too large resource version"], ids=["R5 a", "R5 b"]
    )
    def test_R5_older_servers_say_too_large_only_in_the_message(
        self, server: FakeApiServer, api: Transport, message: str
    ) -> None:
        server.script(faults.Respond(504, "Timeout", message))
        with pytest.raises(errors.TooLargeResourceVersion):
            api.request("GET", PATH)

    def test_an_answer_that_is_no_status_is_told_as_text(self, server: FakeApiServer, api: Transport) -> None:
        server.script(faults.Respond(502, body=b"<html>bad gateway</html>"))
        with pytest.raises(errors.ServerError, match="bad gateway"):
            api.request("GET", PATH)

    def test_warnings_are_handed_on_and_each_is_logged_once(
        self, server: FakeApiServer, api: Transport, logs: list[Any]
    ) -> None:
        server.script(faults.Warn("v1alpha1 is deprecated"), times=2)
        assert [api.request("GET", PATH).warnings for _ in range(2)] == [("v1alpha1 is deprecated",)] * 2
        assert [entry["warning"] for entry in logs] == ["v1alpha1 is deprecated"]

    def test_3_6_row_13_compressed_answers_are_asked_for_only_by_option(self, server: FakeApiServer) -> None:
        body = gzip.compress(b'{"kind":"PodList"}')
        server.script(faults.Respond(200, body=body, headers={"Content-Encoding": "gzip"}))
        with server.transport(TransportOptions(accept_gzip=True)) as compressed, server.transport() as plain:
            assert compressed.request("GET", PATH).body == b'{"kind":"PodList"}'
            plain.request("GET", PATH)
        assert [each.headers["accept-encoding"] for each in server.requests] == ["gzip", "identity"]


class TestRepetition:
    @pytest.mark.parametrize("code", [429, 500, 503])
    def test_1_1_6_a_request_is_repeated_after_exactly_what_the_server_asked(
        self, server: FakeApiServer, api: Transport, clock: FakeClock, code: int
    ) -> None:
        server.script(faults.Respond(code, "Busy", retry_after=7))
        with running(lambda: api.request("POST", PATH, body=a_pod())) as call:
            clock.await_waiters(1)
            assert clock.next_deadline() == 7
            assert len(server.requests) == 1
            clock.step(7)
            assert call.result(LIMIT_SECONDS).code == 201
        assert [each.body for each in server.requests] == [a_pod()] * 2

    def test_1_1_6_at_most_ten_times(self, server: FakeApiServer, api: Transport) -> None:
        server.script(faults.Respond(429, "TooManyRequests", retry_after=0), times=100)
        with pytest.raises(errors.TooManyRequests):
            api.request("GET", PATH)
        assert len(server.requests) == 11

    @pytest.mark.parametrize(
        ("code", "retry_after"),
        [
            pytest.param(503, None, id="1.1.6 no header"),
            pytest.param(429, None, id="1.1.6 429 without header"),
            pytest.param(409, 0, id="1.1.6 a code that no repetition helps"),
        ],
    )
    def test_1_1_6_nothing_else_is_repeated(
        self, server: FakeApiServer, api: Transport, code: int, retry_after: int | None
    ) -> None:
        server.script(faults.Respond(code, "No", retry_after=retry_after), times=100)
        with pytest.raises(errors.ApiError):
            api.request("GET", PATH)
        assert len(server.requests) == 1

    def test_the_callers_limit_is_not_waited_beyond(self, server: FakeApiServer, api: Transport) -> None:
        server.script(faults.Respond(429, "TooManyRequests", retry_after=7))
        with pytest.raises(errors.TooManyRequests) as caught:
            api.request("GET", PATH, timeout=5)
        assert caught.value.retry_after == 7

    def test_stop_ends_the_wait(self, server: FakeApiServer, api: Transport, clock: FakeClock) -> None:
        stop = StopToken()
        server.script(faults.Respond(429, "TooManyRequests", retry_after=7))
        with running(lambda: api.request("GET", PATH, stop=stop)) as call:
            clock.await_waiters(1)
            stop.set("enough")
            with pytest.raises(errors.Stopped):
                call.result(LIMIT_SECONDS)
        assert len(server.requests) == 1

    @pytest.mark.parametrize("fault", [faults.DropRequest(), faults.ResetRequest()], ids=["closed", "reset"])
    def test_3_6_row_15_a_request_that_may_have_taken_effect_is_not_repeated(
        self, server: FakeApiServer, api: Transport, fault: faults.RequestFault
    ) -> None:
        server.script(fault)
        with pytest.raises(errors.ConnectionLost, match="create pod"):
            api.request("POST", PATH, body=a_pod(), action="create pod")
        assert len(server.requests) == 1


class TestFailures:
    def test_0_4_a_refused_connection(self, server: FakeApiServer, api: Transport) -> None:
        with server.refusing(), pytest.raises(errors.ConnectionRefused, match="nobody listens at http"):
            api.request("GET", PATH)
        api.request("GET", PATH)

    def test_0_4_half_an_answer_is_a_lost_connection(self, server: FakeApiServer, api: Transport) -> None:
        server.script(faults.TruncateAnswer())
        with pytest.raises(errors.ConnectionLost):
            api.request("GET", PATH)
        assert api.request("GET", PATH).code == 200

    def test_0_4_a_server_that_never_answers(self, server: FakeApiServer, api: Transport) -> None:
        server.script(faults.IgnoreRequest())
        with pytest.raises(errors.IdleTimeout):
            api.request("GET", PATH, timeout=0.05)

    def test_0_4_an_answer_that_trickles_past_the_timeout_is_given_up(self, server: FakeApiServer) -> None:
        with (
            server.transport(TransportOptions(request_timeout=30), clock=HastyClock()) as api,
            pytest.raises(errors.IdleTimeout, match="not complete after 30 s"),
        ):
            api.request("GET", PATH)

    def test_0_4_a_name_that_does_not_resolve(self) -> None:
        configuration = ServerConfiguration(url="http://nowhere.invalid")
        with Transport(configuration) as api, pytest.raises(errors.ConnectionLost, match=r"nowhere\.invalid"):
            api.request("GET", PATH)

    def test_3_6_row_10_stop_wakes_a_request_that_waits_for_its_answer(
        self, server: FakeApiServer, api: Transport
    ) -> None:
        stop = StopToken()
        server.script(faults.IgnoreRequest())
        with running(lambda: api.request("GET", PATH, stop=stop)) as call:
            server.await_requests(1)
            stop.set("enough")
            with pytest.raises(errors.Stopped):
                call.result(LIMIT_SECONDS)

    def test_a_stop_token_that_is_set_lets_nothing_out(self, server: FakeApiServer, api: Transport) -> None:
        stop = StopToken()
        stop.set("before")
        with pytest.raises(errors.Stopped):
            api.request("GET", PATH, stop=stop)
        assert server.requests == ()

    def test_a_token_set_later_does_not_touch_the_connection_of_others(
        self, server: FakeApiServer, api: Transport
    ) -> None:
        stop = StopToken()
        api.request("GET", PATH, stop=stop)
        stop.set("done with it")
        api.request("GET", PATH)
        assert server.accepted_connections == 1

    def test_close_ends_what_is_under_way_and_what_comes_after(self, server: FakeApiServer, api: Transport) -> None:
        server.script(faults.IgnoreRequest())
        with running(lambda: api.request("GET", PATH)) as call:
            server.await_requests(1)
            api.close()
            with pytest.raises(errors.Stopped):
                call.result(LIMIT_SECONDS)
        with pytest.raises(errors.Stopped):
            api.request("GET", PATH)


class TestPool:
    def test_3_6_row_14_connections_are_reused(self, server: FakeApiServer, api: Transport) -> None:
        for _ in range(5):
            api.request("GET", PATH)
        assert server.accepted_connections == 1

    def test_3_6_row_14_a_full_pool_makes_nobody_wait(self, server: FakeApiServer) -> None:
        server.script(faults.IgnoreRequest())
        stop = StopToken()
        with (
            server.transport(TransportOptions(pool_size=1)) as api,
            running(lambda: api.request("GET", PATH, stop=stop)) as hanging,
        ):
            server.await_requests(1)
            assert api.request("GET", PATH).code == 200
            stop.set("done")
            assert isinstance(hanging.exception(LIMIT_SECONDS), errors.Stopped)

    def test_a_connection_that_the_server_closed_is_replaced(self, server: FakeApiServer, api: Transport) -> None:
        api.request("GET", PATH)
        with server.refusing():
            pass
        assert api.request("GET", PATH).code == 200

    def test_1_12_a_second_transport_has_connections_of_its_own(self, server: FakeApiServer) -> None:
        with server.transport() as one, server.transport() as other:
            one.request("GET", PATH)
            other.request("GET", PATH)
            assert server.accepted_connections == 2

    def test_3_6_row_17_no_thread_is_left(self, server: FakeApiServer) -> None:
        before = [thread for thread in threading.enumerate() if not thread.name.startswith("fake-api-server")]
        with server.transport() as api:
            api.request("GET", PATH)
            assert [t for t in threading.enumerate() if not t.name.startswith("fake-api-server")] == before


class TestThrottle:
    def test_1_12_there_is_none_by_default(self, server: FakeApiServer, api: Transport) -> None:
        for _ in range(30):
            api.request("GET", PATH)
        assert len(server.requests) == 30

    def test_1_12_past_the_burst_a_request_waits_for_its_own_token(
        self, server: FakeApiServer, clock: FakeClock
    ) -> None:
        waited: list[float] = []
        options = TransportOptions(qps=4, burst=2)
        with Transport(server.configuration(), options, clock=clock, on_throttled=waited.append) as api:
            for _ in range(2):
                api.request("GET", PATH)
            with running(lambda: api.request("GET", PATH)) as call:
                clock.await_waiters(1)
                assert clock.next_deadline() == 0.25
                assert len(server.requests) == 2
                clock.step(0.25)
                call.result(LIMIT_SECONDS)
        assert waited == [0.25]

    def test_1_12_a_wait_of_more_than_a_second_is_logged(
        self, server: FakeApiServer, clock: FakeClock, logs: list[Any]
    ) -> None:
        with server.transport(TransportOptions(qps=0.5, burst=1), clock=clock) as api:
            api.request("GET", PATH)
            with running(lambda: api.request("GET", PATH, action="list pods")) as call:
                clock.await_waiters(1)
                clock.step(2)
                call.result(LIMIT_SECONDS)
        assert [(entry["action"], entry["seconds"]) for entry in logs] == [("list pods", 2.0)]

    def test_1_1_5_watches_do_not_pass_through_it(self, server: FakeApiServer, clock: FakeClock) -> None:
        with server.transport(TransportOptions(qps=0.5, burst=1), clock=clock) as api:
            api.request("GET", PATH)
            with api.stream(PATH, query={"watch": "1"}, stop=StopToken()):
                server.await_watches(1)
