from collections.abc import Iterator

import pytest

from clockwork import FakeClock, StopToken
from informers import errors
from informers.list_watch import WatchEvent, WatchOptions
from informers.resource_list_watch import ResourceListWatch
from informers.testing import FakeApiServer, faults
from informers.transport import Transport
from test.builders.items import PODS, Item, an_item
from test.builders.tasks import LIMIT_SECONDS, running

PATH = PODS.path()
WATCH = {"watch": "1", "allowWatchBookmarks": "true"}
SHORT_SECONDS = 0.2


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


def put(server: FakeApiServer, *names: str) -> None:
    for name in names:
        server.put(PODS, {"metadata": {"name": name, "namespace": "team"}})


def names(events: list[WatchEvent[Item]]) -> list[str]:
    return [event.object.metadata.name for event in events if event.object]


def watch_all(api: Transport, stop: StopToken, *, idle_timeout: float = 30.0) -> list[WatchEvent[Item]]:
    with ResourceListWatch(api, PODS, Item, idle_timeout=idle_timeout).watch(WatchOptions(), stop) as stream:
        return list(stream)


def read_lines(api: Transport, stop: StopToken, *, idle_timeout: float | None = None) -> list[bytes]:
    with api.stream(PATH, query=WATCH, stop=stop, idle_timeout=idle_timeout, action="watch pods") as lines:
        return list(lines)


class TestReading:
    def test_lines_come_until_the_server_closes(self, server: FakeApiServer, api: Transport) -> None:
        put(server, "a", "b")
        server.script(faults.CloseStream(), after_events=2)
        assert names(watch_all(api, StopToken())) == ["a", "b"]

    def test_3_6_row_11_a_watch_read_to_its_end_leaves_its_connection_to_others(
        self, server: FakeApiServer, api: Transport
    ) -> None:
        server.script(faults.CloseStream())
        assert read_lines(api, StopToken()) == []
        api.request("GET", PATH)
        assert server.accepted_connections == 1

    def test_3_6_row_11_a_watch_left_in_the_middle_gives_its_connection_up(
        self, server: FakeApiServer, api: Transport
    ) -> None:
        put(server, "a", "b")
        with api.stream(PATH, query=WATCH, stop=StopToken()) as lines:
            assert b'"a"' in next(iter(lines))
        assert b"PodList" in api.request("GET", PATH).body
        assert server.accepted_connections == 2

    def test_3_6_row_13_a_watch_is_not_compressed(self, server: FakeApiServer, api: Transport) -> None:
        server.script(faults.CloseStream())
        read_lines(api, StopToken())
        assert server.requests[0].headers["accept-encoding"] == "identity"

    @pytest.mark.parametrize("chunk_bytes", [1, 2, 7], ids=lambda size: f"R32 chunks of {size}")
    def test_R32_objects_do_not_depend_on_chunks_that_split_characters(
        self, server: FakeApiServer, api: Transport, chunk_bytes: int
    ) -> None:
        put(server, "größe", "日本語")
        server.script(faults.Drip(chunk_bytes=chunk_bytes))
        server.script(faults.CloseStream(), after_events=2)
        assert names(watch_all(api, StopToken())) == ["größe", "日本語"]

    def test_R33_a_malformed_line_is_a_decode_error(self, server: FakeApiServer, api: Transport) -> None:
        server.script(faults.SendRaw(b'{"type":"ADDED","object":{"kind":"Pod"\n'))
        with pytest.raises(errors.DecodeError, match="watch pods"):
            watch_all(api, StopToken())


class TestEnds:
    @pytest.mark.parametrize("fault", [faults.DropStream(), faults.ResetStream()], ids=["closed", "reset"])
    def test_0_4_a_broken_stream_is_a_lost_connection(
        self, server: FakeApiServer, api: Transport, fault: faults.StreamFault
    ) -> None:
        put(server, "a")
        server.script(fault, after_events=1)
        with pytest.raises(errors.ConnectionLost, match="watch pods"):
            read_lines(api, StopToken())

    def test_half_a_line_before_an_orderly_end_is_a_lost_connection(
        self, server: FakeApiServer, api: Transport
    ) -> None:
        server.script(faults.SendRaw(b'{"type":"ADD'))
        server.script(faults.CloseStream())
        with pytest.raises(errors.ConnectionLost, match="middle of a line"):
            read_lines(api, StopToken())

    def test_R30_a_silent_server_ends_the_stream_and_one_new_connection_resumes(
        self, server: FakeApiServer, api: Transport
    ) -> None:
        put(server, "a")
        server.script(faults.SilenceStream(), after_events=1)
        source = ResourceListWatch(api, PODS, Item, idle_timeout=SHORT_SECONDS)
        with source.watch(WatchOptions(), StopToken()) as stream:
            events = iter(stream)
            seen = next(events)
            with pytest.raises(errors.IdleTimeout):
                next(events)
        put(server, "b")
        server.script(faults.CloseStream(), after_events=1)
        with source.watch(WatchOptions(resource_version=seen.resource_version), StopToken()) as stream:
            assert names(list(stream)) == ["b"]
        assert names([seen]) == ["a"]
        assert server.accepted_connections == 2

    def test_R31_a_watch_that_is_never_silent_for_long_goes_on(self, server: FakeApiServer, api: Transport) -> None:
        # Each pause is a tenth of the idle timeout, all of them together are more than twice as long.
        for _ in range(3):
            server.script(faults.SendBookmark())
        server.script(faults.Drip(chunk_bytes=16, pause_seconds=SHORT_SECONDS / 10))
        server.script(faults.CloseStream())
        events = watch_all(api, StopToken(), idle_timeout=SHORT_SECONDS)
        assert [event.type for event in events] == ["BOOKMARK"] * 3

    @pytest.mark.parametrize("how", ["token", "stop()"])
    def test_3_6_row_10_stop_wakes_the_reader_from_any_thread(
        self, server: FakeApiServer, api: Transport, how: str
    ) -> None:
        put(server, "a")
        stop = StopToken()
        with api.stream(PATH, query=WATCH, stop=stop, action="watch pods") as lines:
            reader = iter(lines)
            next(reader)
            with running(lambda: next(reader)) as waiting:
                if how == "token":
                    stop.set("enough")
                else:
                    lines.stop()
                with pytest.raises(errors.Stopped):
                    waiting.result(LIMIT_SECONDS)

    def test_R26_no_line_is_delivered_after_stop(self, server: FakeApiServer, api: Transport) -> None:
        put(server, "a", "b")
        with api.stream(PATH, query=WATCH, stop=StopToken()) as lines:
            reader = iter(lines)
            next(reader)
            lines.stop()
            lines.stop()
            with pytest.raises(errors.Stopped):
                next(reader)

    def test_R26_stop_before_connecting(self, server: FakeApiServer, api: Transport) -> None:
        stop = StopToken()
        stop.set("before")
        with pytest.raises(errors.Stopped):
            read_lines(api, stop)
        assert server.requests == ()

    def test_R26_stop_while_waiting_for_the_headers(self, server: FakeApiServer, api: Transport) -> None:
        stop = StopToken()
        server.script(faults.IgnoreRequest())
        with running(lambda: read_lines(api, stop)) as waiting:
            server.await_requests(1)
            stop.set("enough")
            with pytest.raises(errors.Stopped):
                waiting.result(LIMIT_SECONDS)


class TestConnecting:
    @pytest.mark.parametrize(
        ("fault", "error_type"),
        [
            pytest.param(faults.Respond(429, "TooManyRequests"), errors.TooManyRequests, id="R20 429"),
            pytest.param(faults.Respond(410, "Expired"), errors.Expired, id="W7 Expired"),
            pytest.param(faults.Respond(403, "Forbidden"), errors.Forbidden, id="R35 403"),
        ],
    )
    def test_0_4_a_refusal_is_raised_on_entering(
        self, server: FakeApiServer, api: Transport, fault: faults.Fault, error_type: type[Exception]
    ) -> None:
        server.script(fault)
        with pytest.raises(error_type, match="watch pods"):
            read_lines(api, StopToken())
        assert len(server.requests) == 1

    def test_R18_a_refused_connection_is_not_tried_again(self, server: FakeApiServer, api: Transport) -> None:
        with server.refusing(), pytest.raises(errors.ConnectionRefused):
            read_lines(api, StopToken())

    def test_1_1_6_a_watch_waits_as_long_as_the_server_asks(
        self, server: FakeApiServer, api: Transport, clock: FakeClock
    ) -> None:
        server.script(faults.Respond(429, "TooManyRequests", retry_after=3))
        server.script(faults.CloseStream())
        with running(lambda: read_lines(api, StopToken())) as call:
            clock.await_waiters(1)
            assert clock.next_deadline() == 3
            clock.step(3)
            assert call.result(LIMIT_SECONDS) == []
        assert len(server.requests) == 2

    @pytest.mark.parametrize("fault", [faults.DropRequest(), faults.ResetRequest()], ids=["closed", "reset"])
    def test_1_1_6_a_cut_connection_is_tried_again_after_a_second(
        self, server: FakeApiServer, api: Transport, clock: FakeClock, fault: faults.RequestFault
    ) -> None:
        put(server, "a")
        server.script(fault)
        server.script(faults.CloseStream(), skip=0, after_events=1)
        with running(lambda: read_lines(api, StopToken())) as call:
            clock.await_waiters(1)
            assert clock.next_deadline() == 1
            clock.step(1)
            assert len(call.result(LIMIT_SECONDS)) == 1

    def test_1_1_6_after_ten_times_the_watch_is_an_empty_one(
        self, server: FakeApiServer, api: Transport, clock: FakeClock
    ) -> None:
        server.script(faults.DropRequest(), times=100)
        with running(lambda: read_lines(api, StopToken())) as call:
            for attempt in range(1, 11):
                server.await_requests(attempt)
                clock.await_waiters(1)
                clock.step(1)
            assert call.result(LIMIT_SECONDS) == []
        assert len(server.requests) == 11


class TestResourceListWatch:
    def test_its_scope_goes_with_every_request(self, server: FakeApiServer, api: Transport) -> None:
        source = ResourceListWatch(
            api, PODS, Item, namespace="team", label_selector="app=x", field_selector="metadata.name=a"
        )
        labelled = an_item("a")
        labelled["metadata"]["labels"] = {"app": "x"}
        server.put(PODS, labelled)
        put(server, "b")
        server.script(faults.CloseStream(), after_events=1)
        with source.watch(WatchOptions(timeout_seconds=301, send_initial_events=True), StopToken()) as stream:
            assert names(list(stream)) == ["a"]
        assert source.name == "pods in team"
        assert server.requests[0].path == "/api/v1/namespaces/team/pods"
        assert server.requests[0].query == {
            "labelSelector": "app=x",
            "fieldSelector": "metadata.name=a",
            "watch": "1",
            "allowWatchBookmarks": "true",
            "timeoutSeconds": "301",
            "sendInitialEvents": "true",
            "resourceVersionMatch": "NotOlderThan",
        }
