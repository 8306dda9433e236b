from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from mpi_operator.events.timestamps import build_micro_time, build_time

MOMENT = datetime(2030, 6, 1, 12, 0, 0, 5, tzinfo=UTC)


@pytest.mark.parametrize("hours", [-11, 0, 5.5, 14])
def test_E20_every_zone_writes_the_same_time(hours: float) -> None:
    local = MOMENT.astimezone(timezone(timedelta(hours=hours)))
    assert build_micro_time(local) == "2030-06-01T12:00:00.000005Z"
    assert build_time(local) == "2030-06-01T12:00:00Z"


def test_E20_a_whole_second_keeps_its_six_decimals() -> None:
    assert build_micro_time(MOMENT.replace(microsecond=0)) == "2030-06-01T12:00:00.000000Z"


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="without a zone"):
        build_micro_time(datetime(2030, 6, 1))  # noqa: DTZ001 - a naive time is the point
