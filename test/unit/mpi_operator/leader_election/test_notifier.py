from __future__ import annotations

import threading

from mpi_operator.leader_election.notifier import Notifier


def test_everything_told_is_passed_on_in_order() -> None:
    heard: list[str] = []
    notifier = Notifier(heard.append)
    for identity in ("a", "b", "c"):
        notifier.tell(identity)
    notifier.close()
    assert heard == ["a", "b", "c"]


def test_telling_does_not_wait_for_the_callback() -> None:
    go_on = threading.Event()
    heard: list[bool] = []
    notifier = Notifier(lambda _: heard.append(go_on.wait(30)))
    notifier.tell("a")
    notifier.tell("b")
    assert heard == []
    go_on.set()
    notifier.close()
    assert heard == [True, True]


def test_a_callback_that_raises_does_not_end_the_telling() -> None:
    heard: list[str] = []

    def hear(identity: str) -> None:
        heard.append(identity)
        raise LookupError(identity)

    notifier = Notifier(hear)
    notifier.tell("a")
    notifier.tell("b")
    notifier.close()
    assert heard == ["a", "b"]


def test_without_anything_told_there_is_no_thread() -> None:
    before = threading.active_count()
    notifier = Notifier(lambda _: None)
    assert threading.active_count() == before
    notifier.close()
    notifier.close()
