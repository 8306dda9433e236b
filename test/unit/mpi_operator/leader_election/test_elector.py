from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from clockwork import FakeClock, StopToken
from informers.errors import ConnectionLost, Forbidden
from mpi_operator.leader_election.health import Health
from mpi_operator.leader_election.outcome import End
from test.builders.election import Bench, join_threads
from test.builders.lease_server import LeaseServer, a_spec


def fail_everything(_: str) -> None:
    raise ConnectionLost("no route to host")


@pytest.fixture(autouse=True)
def _no_thread_is_left() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    assert set(threading.enumerate()) <= before


def test_B293_a_clean_stop_releases_after_the_workers_have_ended() -> None:
    bench = Bench(LeaseServer()).lead()
    bench.stop.set("SIGTERM")
    outcome = bench.finish()
    assert (outcome.end, outcome.reason) == (End.STOPPED, "SIGTERM")
    assert (outcome.has_led, outcome.workers_ended, outcome.is_released) == (True, True, True)
    assert bench.server.operations == ["get", "create", "workers have ended", "get", "update"]
    assert bench.server.holder == ""
    assert bench.diary.entries[-1] == "stopped"


def test_B291_the_work_starts_only_on_the_leader_and_in_a_thread_of_its_own() -> None:
    threads: list[threading.Thread] = []
    bench = Bench(LeaseServer(a_spec("other")))
    bench.work = lambda _: threads.append(threading.current_thread())
    bench.start()
    bench.clock.await_waiters(1)
    assert not bench.elector.is_leader()
    assert "work started" not in bench.diary.entries
    bench.server.await_stream()
    bench.server.change(holderIdentity="")
    bench.diary.await_entry("work ended")
    assert bench.elector.is_leader()
    bench.stop.set("done")
    bench.finish()
    assert threads[0].name == "leader"


def test_1_9_5_renewals_come_every_retry_period() -> None:
    bench = Bench(LeaseServer()).lead()
    for _ in range(3):
        assert bench.clock.next_deadline() == 2
        bench.step(2)
    assert bench.server.operations == ["get", "create", "update", "update", "update"]
    assert bench.elector.must_stop_by == 16
    assert bench.elector.valid_until == 21
    bench.stop.set("done")
    bench.finish()


def test_1_9_5_within_the_renew_deadline_failing_renewals_are_repeated() -> None:
    bench = Bench(LeaseServer()).lead()
    bench.server.before = fail_everything
    for _ in range(4):
        bench.step(2)
        assert bench.elector.is_leader()
    bench.server.before = lambda _: None
    # The tenth second is the deadline itself; the renewal at 9.9 s is the last that can save the term.
    assert bench.elector.must_stop_by == 10
    bench.clock.step(1.9)
    assert bench.elector.is_leader()
    bench.stop.set("done")
    assert bench.finish().is_released


def test_1_9_6_leadership_ends_at_the_renew_deadline_counted_from_the_last_sending() -> None:
    bench = Bench(LeaseServer()).lead()
    bench.step(2)
    bench.server.before = fail_everything
    for _ in range(4):
        bench.step(2)
    bench.clock.step(1.99)
    assert bench.elector.is_leader()
    bench.clock.step(0.01)
    assert not bench.elector.is_leader()
    outcome = bench.finish()
    assert (outcome.end, outcome.workers_ended, outcome.is_released) == (End.LOST, True, False)
    assert "stop workers within 5 s" in bench.diary.entries


def test_1_9_6_a_hung_renewal_neither_prolongs_leadership_nor_hides_its_end_from_the_work() -> None:
    bench = Bench(LeaseServer()).lead()
    is_hung, go_on = threading.Event(), threading.Event()

    def hang(_: str) -> None:
        is_hung.set()
        go_on.wait(30)

    bench.server.before = hang
    bench.clock.step(2)
    assert is_hung.wait(30)
    bench.clock.step(8)
    assert not bench.elector.is_leader()
    bench.diary.await_entry("work ended")
    go_on.set()
    outcome = bench.finish()
    assert (outcome.end, bench.elector.is_leader()) == (End.LOST, False)
    assert "renew deadline" in outcome.reason


def test_1_9_7_seeing_another_holder_ends_the_term_at_once() -> None:
    bench = Bench(LeaseServer()).lead()
    bench.server.change(holderIdentity="other")
    might_act: list[bool] = []

    def stop_workers(_: float) -> bool:
        might_act.append(bench.elector.is_leader())
        return True

    bench.stop_workers = stop_workers
    bench.clock.step(2)
    outcome = bench.finish()
    assert might_act == [False]
    assert (outcome.end, outcome.reason) == (End.LOST, "the Lease is held by other")
    assert (outcome.workers_ended, outcome.is_released, bench.server.holder) == (True, False, "other")
    # The workers may not act any more, but get what is left of the lease to end.
    assert "stop workers within 13 s" in bench.diary.entries


def test_E11_a_stop_in_the_middle_of_the_renewing_put_still_releases() -> None:
    bench = Bench(LeaseServer()).lead()
    bench.server.before = lambda operation: bench.stop.set("SIGTERM") if operation == "update" else None
    bench.clock.step(2)
    outcome = bench.finish()
    assert (outcome.end, outcome.is_released, bench.server.holder) == (End.STOPPED, True, "")
    assert bench.server.operations == ["get", "create", "update", "workers have ended", "get", "update"]
    assert bench.recorder.messages == ["me became leader", "me stopped leading"]


def test_E11_a_stop_in_the_middle_of_a_get_still_releases() -> None:
    bench = Bench(LeaseServer()).lead()
    bench.server.put(bench.server.spec, labels={"some": "change"})
    bench.server.before = lambda operation: bench.stop.set("SIGTERM") if operation == "get" else None
    bench.clock.step(2)
    outcome = bench.finish()
    assert (outcome.end, outcome.is_released, bench.server.holder) == (End.STOPPED, True, "")
    assert bench.server.operations == ["get", "create", "update", "get", "workers have ended", "get", "update"]
    assert bench.recorder.messages == ["me became leader", "me stopped leading"]


def test_E11_the_release_has_a_deadline_of_its_own() -> None:
    bench = Bench(LeaseServer()).lead()
    gets = 0

    def note_and_fail(operation: str) -> None:
        nonlocal gets
        gets += 1
        bench.diary.note(f"{operation} {gets}")
        fail_everything(operation)

    bench.server.before = note_and_fail
    bench.stop.set("SIGTERM")
    for number in range(1, 6):
        bench.diary.await_entry(f"get {number}")
        bench.clock.await_waiters(1)
        bench.clock.step(2)
    outcome = bench.finish()
    assert (outcome.end, outcome.workers_ended, outcome.is_released) == (End.STOPPED, True, False)
    assert bench.server.operations == ["get", "create", "workers have ended", *["get"] * 5]
    assert bench.server.timeouts[-5:] == [5, 5, 5, 4, 2]


def test_E12_no_thread_starts_before_run() -> None:
    before = threading.active_count()
    Bench(LeaseServer())
    assert threading.active_count() == before


def test_E13_a_leader_that_renews_is_healthy_and_one_that_hangs_is_not() -> None:
    bench = Bench(LeaseServer()).lead()
    health = Health(bench.elector, lease_duration_seconds=15)
    is_hung, go_on = threading.Event(), threading.Event()
    bench.step(2)
    assert health.check() is None

    def hang(_: str) -> None:
        is_hung.set()
        # Asked in another thread than the renewing one, in the middle of its renewal.
        go_on.wait(30)

    bench.server.before = hang
    bench.clock.step(2)
    assert is_hung.wait(30)
    assert health.check() is None
    bench.clock.step(33)
    assert health.check() is None
    bench.clock.step(0.01)
    assert "last renewed 35 s ago" in (health.check() or "")
    go_on.set()
    bench.finish()
    assert health.check() is None


def test_E14_a_preferred_holder_makes_the_leader_step_down_at_its_deadline() -> None:
    bench = Bench(LeaseServer()).lead()
    bench.server.change(preferredHolder="better")
    before = bench.server.spec
    for _ in range(4):
        bench.step(2)
    bench.clock.step(2)
    assert bench.finish().end is End.LOST
    assert bench.server.spec == before


def test_E16_a_lost_answer_does_not_end_the_term() -> None:
    bench = Bench(LeaseServer()).lead()
    bench.server.after = lambda operation: fail_everything(operation) if operation == "update" else None
    bench.step(2)
    bench.server.after = lambda _: None
    bench.step(2)
    assert bench.elector.is_leader()
    assert (bench.elector.epoch, bench.server.spec["leaseTransitions"]) == (0, 0)
    bench.stop.set("done")
    bench.finish()


def test_E17_work_that_raises_releases_after_the_workers_ended_and_is_a_failure() -> None:
    bench = Bench(LeaseServer())

    def fail(_: StopToken) -> None:
        raise LookupError("no such controller")

    bench.work = fail
    outcome = bench.start().finish()
    assert outcome.end is End.FAILED
    assert isinstance(outcome.error, LookupError)
    assert "no such controller" in outcome.reason
    assert bench.server.operations == ["get", "create", "workers have ended", "get", "update"]
    assert (outcome.is_released, bench.server.holder) == (True, "")


def test_work_that_returns_goes_on_leading() -> None:
    bench = Bench(LeaseServer())
    bench.work = lambda _: None
    bench.lead()
    bench.diary.await_entry("work ended")
    bench.step(2)
    assert bench.elector.is_leader()
    bench.stop.set("done")
    assert bench.finish().end is End.STOPPED


def test_E18_a_stop_while_acquiring_returns_without_a_write_and_without_time_going_by() -> None:
    bench = Bench(LeaseServer(a_spec("other"))).start()
    bench.clock.await_waiters(1)
    bench.stop.set("SIGTERM")
    outcome = bench.finish()
    assert (outcome.end, outcome.reason, outcome.has_led) == (End.STOPPED, "SIGTERM", False)
    assert bench.diary.entries[-1] == "stopped"
    assert bench.server.operations == ["get"]
    assert bench.clock.monotonic() == 0
    assert bench.recorder.messages == []


def test_E18_a_stop_during_an_acquiring_request_returns_too() -> None:
    bench = Bench(LeaseServer(a_spec("other")))
    bench.server.before = lambda _: bench.stop.set("SIGTERM")
    outcome = bench.start().finish()
    assert (outcome.end, bench.server.operations) == (End.STOPPED, ["get"])


def test_E18_an_election_stopped_before_it_began_asks_nothing() -> None:
    bench = Bench(LeaseServer())
    bench.stop.set("SIGTERM")
    assert bench.start().finish().end is End.STOPPED
    assert (bench.server.operations, bench.diary.entries) == ([], ["stopped"])


def test_E19_workers_that_go_on_keep_the_lease_from_being_released() -> None:
    bench = Bench(LeaseServer()).lead()
    bench.stop_workers = lambda _: False
    bench.stop.set("SIGTERM")
    outcome = bench.finish()
    assert (outcome.end, outcome.workers_ended, outcome.is_released) == (End.STOPPED, False, False)
    assert bench.server.operations == ["get", "create", "workers go on"]
    assert bench.server.holder == "me"


def test_E19_workers_that_end_after_the_lease_has_expired_do_not_release_it() -> None:
    bench = Bench(LeaseServer()).lead()

    def end_late(timeout_seconds: float) -> bool:
        join_threads("leader")
        bench.clock.step(timeout_seconds)
        return True

    bench.stop_workers = end_late
    bench.stop.set("SIGTERM")
    outcome = bench.finish()
    assert (outcome.workers_ended, outcome.is_released) == (True, False)
    assert bench.server.operations == ["get", "create", "workers have ended"]


def test_E19_work_that_ignores_its_token_keeps_the_lease_from_being_released() -> None:
    bench = Bench(LeaseServer())
    go_on = threading.Event()
    bench.work = lambda _: go_on.wait(30)
    bench.lead()
    bench.stop.set("SIGTERM")
    bench.diary.await_entry("stop workers within 15 s")
    join_threads("leader-election-guard")
    bench.clock.await_waiters(1)
    bench.clock.step(15)
    outcome = bench.finish()
    assert (outcome.workers_ended, outcome.is_released, bench.server.holder) == (False, False, "me")
    go_on.set()
    join_threads("leader")


def test_1_9_5_a_standby_takes_over_at_once_when_the_holder_empties() -> None:
    bench = Bench(LeaseServer(a_spec("other"))).start()
    stream = bench.server.await_stream()
    bench.clock.await_waiters(1)
    bench.server.change(holderIdentity="", leaseDurationSeconds=1)
    bench.diary.await_entry("work started")
    assert bench.clock.monotonic() == 0
    assert stream.query["fieldSelector"] == "metadata.name=mpi-operator"
    bench.stop.set("done")
    bench.finish()


def test_1_9_5_a_standby_takes_over_at_once_when_the_lease_is_deleted() -> None:
    bench = Bench(LeaseServer(a_spec("other"))).start()
    bench.server.await_stream()
    bench.clock.await_waiters(1)
    bench.server.delete()
    bench.diary.await_entry("work started")
    assert bench.clock.monotonic() == 0
    bench.stop.set("done")
    bench.finish()


def test_1_9_5_a_standby_that_may_not_watch_tries_every_retry_period() -> None:
    bench = Bench(LeaseServer(a_spec("other")))
    bench.server.watch_error = Forbidden("leases may not be watched", code=403)
    bench.start()
    for _ in range(8):
        bench.clock.await_waiters(2)
        bench.clock.step(2)
    bench.diary.await_entry("work started")
    assert bench.server.operations == [*["get"] * 9, "update"][-len(bench.server.operations) :]
    assert bench.elector.epoch == 4
    bench.stop.set("done")
    bench.finish()


@pytest.mark.parametrize(("jitter", "delay"), [(0.0, 2.0), (0.5, 3.2), (0.999, 4.3976)])
def test_1_9_5_acquiring_waits_between_one_and_two_point_two_retry_periods(jitter: float, delay: float) -> None:
    bench = Bench(LeaseServer(a_spec("other")), jitter=jitter).start()
    bench.clock.await_waiters(1)
    assert bench.clock.next_deadline() == pytest.approx(delay)
    bench.stop.set("done")
    bench.finish()


def test_1_9_5_new_leaders_are_told_in_order_without_holding_up_the_election() -> None:
    bench = Bench(LeaseServer(a_spec("other")))
    go_on = threading.Event()
    bench.on_new_leader = lambda _: go_on.wait(30)
    bench.start()
    bench.diary.await_entry("new leader other")
    bench.server.await_stream()
    bench.server.change(holderIdentity="")
    bench.diary.await_entry("work started")
    assert "new leader me" not in bench.diary.entries
    go_on.set()
    bench.diary.await_entry("new leader me")
    bench.stop.set("done")
    bench.finish()


def test_B294_a_leader_is_told_once_however_often_it_is_seen() -> None:
    bench = Bench(LeaseServer()).lead()
    for _ in range(3):
        bench.step(2)
    bench.stop.set("done")
    bench.finish()
    assert bench.diary.entries.count("new leader me") == 1


def test_B259_the_events_are_on_the_lease() -> None:
    bench = Bench(LeaseServer()).lead()
    bench.stop.set("done")
    bench.finish()
    regarding, event_type, reason, _ = bench.recorder.events[0]
    assert (regarding.api_version, regarding.kind) == ("coordination.k8s.io/v1", "Lease")
    assert (regarding.namespace, regarding.name, regarding.uid) == ("mpi-operator", "mpi-operator", "lease-uid")
    assert (event_type, reason) == ("Normal", "LeaderElection")


def test_1_9_8_the_epoch_is_the_number_of_transitions() -> None:
    bench = Bench(LeaseServer(a_spec("", leaseTransitions=41)))
    assert bench.elector.epoch == -1
    bench.lead()
    assert bench.elector.epoch == 42
    bench.stop.set("done")
    bench.finish()
    assert bench.elector.epoch == 42


class Gauges:
    def __init__(self) -> None:
        self.seen: list[tuple[str, str, int]] = []

    def set_leader(self, name: str, *, is_leader: bool) -> None:
        self.seen.append(("leader", name, int(is_leader)))

    def set_transitions(self, name: str, transitions: int) -> None:
        self.seen.append(("transitions", name, transitions))

    def count_slow_renewal(self, name: str) -> None:
        self.seen.append(("slow", name, 1))


def test_1_9_9_the_gauges_follow_the_term() -> None:
    gauges = Gauges()
    bench = Bench(LeaseServer(a_spec("")), metrics=gauges).lead()
    assert bench.elector.last_renew_age_seconds() == 0
    bench.clock.step(1)
    assert bench.elector.last_renew_age_seconds() == 1
    bench.server.put(bench.server.spec, labels={"some": "change"})
    bench.step(1)
    bench.stop.set("done")
    bench.finish()
    assert ("transitions", "mpi-operator", 4) in gauges.seen
    assert gauges.seen.count(("slow", "mpi-operator", 1)) == 1
    assert [seen for seen in gauges.seen if seen[0] == "leader"] == [
        ("leader", "mpi-operator", 1),
        ("leader", "mpi-operator", 0),
    ]
    assert bench.elector.last_renew_age_seconds() is None


def test_an_elector_runs_once() -> None:
    bench = Bench(LeaseServer())
    bench.stop.set("done")
    bench.start().finish()
    with pytest.raises(RuntimeError, match="runs once"):
        bench.elector.run(StopToken(clock=FakeClock()))


def test_what_stop_workers_raises_comes_out_and_the_lease_is_left_to_expire() -> None:
    bench = Bench(LeaseServer()).lead()

    def fail(_: float) -> bool:
        raise LookupError("which worker?")

    bench.stop_workers = fail
    bench.stop.set("done")
    assert isinstance(bench.finish_with_error(), LookupError)
    assert (bench.server.holder, bench.diary.entries[-1]) == ("me", "stopped")
    assert not bench.elector.is_leader()


def test_an_error_nobody_expected_while_renewing_stops_the_work_too() -> None:
    bench = Bench(LeaseServer()).lead()

    def break_down(_: str) -> None:
        raise ZeroDivisionError

    bench.server.before = break_down
    bench.clock.step(2)
    assert isinstance(bench.finish_with_error(), ZeroDivisionError)
    assert "work ended" in bench.diary.entries
    assert not bench.elector.is_leader()


def test_1_9_2_a_request_may_take_half_the_renew_deadline() -> None:
    bench = Bench(LeaseServer()).lead()
    bench.step(2)
    bench.stop.set("done")
    bench.finish()
    assert set(bench.server.timeouts) == {5}
