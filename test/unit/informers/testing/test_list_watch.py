from collections.abc import Iterator

import pytest

from clockwork import StopToken
from informers.errors import Expired, Stopped
from informers.list_watch import ListOptions, Page, WatchEvent, WatchOptions
from informers.testing import FakeListWatch, FakeWatch
from test.builders.tasks import LIMIT_SECONDS, running

BOOKMARK: WatchEvent[str] = WatchEvent("BOOKMARK", None, "7")


@pytest.fixture
def stop() -> Iterator[StopToken]:
    stop = StopToken()
    yield stop
    stop.set("the test is over")


def test_lists_are_answered_from_the_script_and_remembered(stop: StopToken) -> None:
    source: FakeListWatch[str] = FakeListWatch("widgets")
    source.script_list(Page(("a",), "5"), Expired("too old"))
    assert source.list(ListOptions(limit=1), stop).items == ("a",)
    with pytest.raises(Expired):
        source.list(ListOptions(), stop)
    assert source.lists == (ListOptions(limit=1), ListOptions())


def test_a_watch_yields_what_it_is_sent_and_ends_as_it_is_told(stop: StopToken) -> None:
    source: FakeListWatch[str] = FakeListWatch()
    source.open_watch().send(BOOKMARK).close()
    source.script_watch(FakeWatch[str]().fail(Expired("too old")), Expired("at once"))
    with source.watch(WatchOptions(resource_version="5"), stop) as stream:
        assert list(stream) == [BOOKMARK]
    with source.watch(WatchOptions(), stop) as stream, pytest.raises(Expired, match="too old"):
        list(stream)
    with pytest.raises(Expired, match="at once"), source.watch(WatchOptions(), stop):
        pass
    assert [options.resource_version for options in source.watches] == ["5", "", ""]


def test_past_the_script_a_request_waits_for_its_stop(stop: StopToken) -> None:
    source: FakeListWatch[str] = FakeListWatch()
    with running(lambda: source.list(ListOptions(), stop)) as waiting:
        source.await_lists(1)
        stop.set("enough")
        with pytest.raises(Stopped):
            waiting.result(LIMIT_SECONDS)


def test_R26_a_watch_counts_its_stops(stop: StopToken) -> None:
    source: FakeListWatch[str] = FakeListWatch()
    watch = source.open_watch()
    with source.watch(WatchOptions(), stop) as stream, running(lambda: list(stream)) as reading:
        source.await_watches(1)
        stop.set("enough")
        assert reading.result(LIMIT_SECONDS) == []
    assert watch.stops == 1
