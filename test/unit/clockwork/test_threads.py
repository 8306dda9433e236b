"""Owned threads (informers.md 0.3)."""

from __future__ import annotations

import threading

from clockwork import OwnedThread, StopToken, join_all


def test_what_a_thread_raises_is_kept_and_told_to_its_owner() -> None:
    told: list[BaseException] = []
    error = SystemExit(3)

    def fail() -> None:
        raise error

    thread = OwnedThread("fails", fail, on_error=told.append).start()
    assert thread.join(10)
    assert thread.error is error
    assert told == [error]


def test_a_thread_is_no_daemon_and_knows_itself() -> None:
    seen: list[tuple[bool, bool]] = []
    thread = OwnedThread("knows", lambda: seen.append((threading.current_thread().daemon, thread.is_current())))
    assert thread.join(0), "one that never started has nothing to wait for"
    thread.start().join(10)
    assert seen == [(False, True)]
    assert not thread.is_current()


def test_join_all_names_those_that_are_still_alive() -> None:
    stop = StopToken()

    def wait() -> None:
        stop.wait()

    threads = [OwnedThread("ends", lambda: None).start(), OwnedThread("waits", wait).start()]
    threads[0].join(10)
    assert join_all(threads, 0.0) == ["waits"]
    stop.set("enough")
    assert join_all(threads, 10.0) == []
