"""When a cache is too old to reconcile on."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from informers.owner import Owner
from informers.written_versions import WrittenVersions

OWNER = Owner("team/job", "uid-1")
NAMESAKE = Owner("team/job", "uid-2")


@pytest.fixture
def written() -> WrittenVersions:
    return WrittenVersions()


def test_an_owner_that_wrote_nothing_is_not_held_up(written: WrittenVersions) -> None:
    assert written.find_stale(OWNER, {}) == ()


def test_X11_a_cache_older_than_our_write_holds_the_owner_until_it_has_caught_up(written: WrittenVersions) -> None:
    written.record(OWNER, "pods", "20")
    assert written.find_stale(OWNER, {"pods": "10"}) == ("pods",)
    assert written.find_stale(OWNER, {"pods": "9"}) == ("pods",), "compared as numbers"
    assert written.find_stale(OWNER, {"pods": "20"}) == ()
    assert written.find_stale(OWNER, {"pods": "25"}) == (), "a bookmark is enough"
    assert written.stale_total == 2


@pytest.mark.parametrize("last_versions", [{}, {"pods": ""}], ids=["no store", "an empty store"])
def test_X11_a_cache_that_has_seen_nothing_is_stale(written: WrittenVersions, last_versions: dict[str, str]) -> None:
    written.record(OWNER, "pods", "20")
    assert written.find_stale(OWNER, last_versions) == ("pods",)


@pytest.mark.parametrize("version", ["abc", "", "0", "010"])
def test_X11_a_written_version_without_order_leaves_the_barrier_open(written: WrittenVersions, version: str) -> None:
    written.record(OWNER, "pods", version)
    assert written.find_stale(OWNER, {"pods": "10"}) == ()
    assert written.incomparable_total == 1


def test_X11_a_cached_version_without_order_leaves_the_barrier_open(written: WrittenVersions) -> None:
    written.record(OWNER, "pods", "20")
    assert written.find_stale(OWNER, {"pods": "abc"}) == ()
    assert written.incomparable_total == 1
    assert written.stale_total == 0


def test_each_resource_has_its_own_version(written: WrittenVersions) -> None:
    written.record(OWNER, "services", "7")
    written.record(OWNER, "pods", "20")
    written.record(OWNER, "jobs.batch", "30")
    assert written.find_stale(OWNER, {"pods": "19", "jobs.batch": "30", "services": "6"}) == ("pods", "services")


def test_owners_do_not_hold_up_one_another(written: WrittenVersions) -> None:
    written.record(OWNER, "pods", "20")
    assert written.find_stale(Owner("team/other", "uid-3"), {"pods": "10"}) == ()


def test_X12_a_deleted_owner_is_forgotten(written: WrittenVersions) -> None:
    written.record(OWNER, "pods", "20")
    written.forget(OWNER)
    assert written.find_stale(OWNER, {"pods": "10"}) == ()


def test_X12_the_delete_of_a_namesake_changes_nothing(written: WrittenVersions) -> None:
    written.record(OWNER, "pods", "20")
    written.forget(NAMESAKE)
    assert written.find_stale(OWNER, {"pods": "10"}) == ("pods",)
    assert written.find_stale(NAMESAKE, {"pods": "10"}) == ()


def test_X12_a_write_of_a_namesake_replaces_what_was_known(written: WrittenVersions) -> None:
    written.record(OWNER, "pods", "20")
    written.record(NAMESAKE, "services", "5")
    assert written.find_stale(NAMESAKE, {}) == ("services",)
    assert written.find_stale(OWNER, {}) == ()


@given(versions=st.lists(st.integers(1, 10**40), min_size=1), seen=st.integers(1, 10**40))
def test_X13_the_highest_version_counts_in_whatever_order_the_answers_came(versions: list[int], seen: int) -> None:
    written = WrittenVersions()
    for version in versions:
        written.record(OWNER, "pods", str(version))
    assert bool(written.find_stale(OWNER, {"pods": str(seen)})) == (seen < max(versions))
