from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

from mpi_operator.events.naming import Naming

WALL = datetime(2030, 6, 1, 12, 0, 0, 5, tzinfo=UTC)
NANOSECONDS = 1_906_545_600_000_005_000


def test_a_name_is_the_object_and_the_nanoseconds_in_hex() -> None:
    assert Naming().name("pi", WALL) == f"pi.{NANOSECONDS:x}"


def test_a_zone_does_not_change_the_name() -> None:
    assert Naming().name("pi", WALL.astimezone(timezone(timedelta(hours=3)))) == f"pi.{NANOSECONDS:x}"


def test_events_of_one_instant_have_different_names() -> None:
    naming = Naming()
    names = {naming.name("pi", WALL) for _ in range(5)}
    assert names == {f"pi.{NANOSECONDS + number:x}" for number in range(5)}


def test_a_clock_set_back_makes_no_name_twice() -> None:
    naming = Naming()
    first = naming.name("pi", WALL)
    assert naming.name("pi", WALL - timedelta(seconds=1)) == f"pi.{NANOSECONDS + 1:x}" != first


def test_a_long_name_is_cut_to_what_a_name_may_have() -> None:
    name = Naming().name("a" * 235 + "." * 18, WALL)
    assert len(name) <= 253
    assert ".." not in name
