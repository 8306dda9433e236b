from __future__ import annotations

import pytest

from clockwork import FakeClock
from informers.metadata import key_of
from informers.notifications import Deleted
from informers.overlay import Overlay
from informers.store import Store
from test.builders.informers import Pod, a_pod


class World:
    """A store whose informer tells the overlay what it stores."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.store: Store[Pod] = Store()
        self.overlay = Overlay(self.store, clock=self.clock, lifetime_seconds=300)

    def informed(self, pod: Pod) -> None:
        old = self.store.put(key_of(pod), pod)
        if old is None:
            self.overlay.on_add(pod, is_initial=False)
        else:
            self.overlay.on_update(old, pod)

    def deleted(self, pod: Pod) -> None:
        self.store.delete(key_of(pod))
        self.overlay.on_delete(Deleted(key_of(pod), pod, final=True))

    @property
    def seen(self) -> str:
        return str(self.overlay.get("ns/a"))


def test_S11_our_newer_write_wins_over_the_store() -> None:
    world = World()
    world.informed(a_pod("a", 1))
    world.overlay.note_written(a_pod("a", 2))
    assert world.seen == "a@2"
    world.informed(a_pod("a", 1, phase="again"))
    assert world.seen == "a@2"


@pytest.mark.parametrize("version", [2, 3])
def test_S11_news_as_new_as_our_write_takes_its_place(version: int) -> None:
    world = World()
    world.overlay.note_written(a_pod("a", 2))
    world.informed(a_pod("a", version, phase="informed"))
    assert world.overlay.get("ns/a") == a_pod("a", version, phase="informed")
    assert world.overlay._entries == {}


def test_S11_versions_compare_as_numbers() -> None:
    world = World()
    world.informed(a_pod("a", 9))
    world.overlay.note_written(a_pod("a", 10))
    assert world.seen == "a@10"


def test_a_write_older_than_the_store_is_not_kept() -> None:
    world = World()
    world.informed(a_pod("a", 5))
    world.overlay.note_written(a_pod("a", 4))
    assert world.seen == "a@5"


def test_an_older_answer_does_not_undo_a_newer_one() -> None:
    world = World()
    world.overlay.note_written(a_pod("a", 5))
    world.overlay.note_written(a_pod("a", 4))
    assert world.seen == "a@5"


def test_S11_a_late_answer_cannot_bring_back_what_was_deleted() -> None:
    world = World()
    world.informed(a_pod("a", 1))
    world.deleted(a_pod("a", 4))
    world.overlay.note_written(a_pod("a", 3))
    assert world.overlay.get("ns/a") is None


def test_S11_a_deletion_of_the_same_uid_removes_our_write_even_if_that_is_newer() -> None:
    world = World()
    world.overlay.note_written(a_pod("a", 9))
    world.deleted(a_pod("a", 4))
    assert world.overlay.get("ns/a") is None


def test_S11_an_old_deletion_of_another_uid_leaves_our_write() -> None:
    world = World()
    world.overlay.note_written(a_pod("a", 9, uid="new"))
    world.deleted(a_pod("a", 4, uid="old"))
    assert world.seen == "a@9"


def test_S11_a_newer_deletion_of_another_uid_removes_our_write() -> None:
    world = World()
    world.overlay.note_written(a_pod("a", 3, uid="old"))
    world.deleted(a_pod("a", 4, uid="new"))
    assert world.overlay.get("ns/a") is None


def test_a_new_incarnation_passes_the_tombstone() -> None:
    world = World()
    world.deleted(a_pod("a", 4, uid="old"))
    world.overlay.note_written(a_pod("a", 5, uid="new"))
    assert world.seen == "a@5"


def test_a_write_is_forgotten_after_its_lifetime() -> None:
    world = World()
    world.informed(a_pod("a", 1))
    world.overlay.note_written(a_pod("a", 2))
    world.clock.step(299)
    assert world.seen == "a@2"
    world.clock.step(1)
    assert world.seen == "a@1"
    assert world.overlay._entries == {}


def test_versions_without_an_order_leave_the_stores_answer() -> None:
    world = World()
    world.informed(a_pod("a", "x"))
    world.overlay.note_written(a_pod("a", "y"))
    assert world.seen == "a@x"


def test_a_deletion_whose_object_is_unknown_changes_nothing() -> None:
    world = World()
    world.overlay.note_written(a_pod("a", 2))
    world.overlay.on_delete(Deleted("ns/a", None, final=False))
    assert world.seen == "a@2"
