import pytest

from clockwork import FakeClock, OwnedThread, StopToken
from informers.mutation_detector import MutatedObjectsError, MutationDetector
from informers.notifications import Deleted
from test.builders.informers import Pod, a_pod


def a_detector(*pods: Pod) -> MutationDetector[Pod]:
    detector: MutationDetector[Pod] = MutationDetector()
    for pod in pods:
        detector.on_add(pod, is_initial=True)
    return detector


def test_S9_a_changed_container_is_found_and_named() -> None:
    pod = a_pod("a", labels={"colour": "red"})
    detector = a_detector(pod, a_pod("b"))
    detector.check()
    pod.metadata.labels["colour"] = "blue"
    with pytest.raises(MutatedObjectsError, match="ns/a;") as caught:
        detector.check()
    assert caught.value.keys == ("ns/a",)


def test_S9_a_resync_does_not_hide_a_change() -> None:
    pod = a_pod("a", labels={"colour": "red"})
    detector = a_detector(pod)
    pod.metadata.labels["colour"] = "blue"
    detector.on_update(pod, pod)
    with pytest.raises(MutatedObjectsError):
        detector.check()


def test_a_new_state_and_a_deletion_are_no_mutation() -> None:
    old, new = a_pod("a", labels={"colour": "red"}), a_pod("a", 2, labels={"colour": "blue"})
    detector = a_detector(old)
    detector.on_update(old, new)
    old.metadata.labels["colour"] = "green"
    detector.check()
    detector.on_delete(Deleted("ns/a", new, final=True))
    new.metadata.labels["colour"] = "green"
    detector.check()


def test_S9_it_is_checked_on_a_timer_and_at_shutdown() -> None:
    clock = FakeClock()
    stop = StopToken(clock=clock)
    pod = a_pod("a", labels={"colour": "red"})
    detector = a_detector(pod)
    thread = OwnedThread("mutation detector", lambda: detector.run(stop, period_seconds=60)).start()
    clock.await_waiters(1)
    clock.step(60)
    clock.await_waiters(1)
    assert thread.is_alive()
    pod.metadata.labels["colour"] = "blue"
    stop.set("the end")
    assert thread.join(10)
    assert isinstance(thread.error, MutatedObjectsError)


def test_S9_the_timer_finds_a_change() -> None:
    clock = FakeClock()
    pod = a_pod("a", labels={"colour": "red"})
    detector = a_detector(pod)
    thread = OwnedThread("detector", lambda: detector.run(StopToken(clock=clock), period_seconds=60)).start()
    clock.await_waiters(1)
    pod.metadata.labels["colour"] = "blue"
    clock.step(60)
    assert thread.join(10)
    assert isinstance(thread.error, MutatedObjectsError)
