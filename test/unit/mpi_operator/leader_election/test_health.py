from __future__ import annotations

import pytest

from mpi_operator.leader_election.health import Health


class Renewed:
    def __init__(self, age: float | None) -> None:
        self._age = age

    def last_renew_age_seconds(self) -> float | None:
        return self._age


@pytest.mark.parametrize(
    ("age", "is_healthy"),
    [
        pytest.param(None, True, id="B297 who does not lead is healthy"),
        pytest.param(0.0, True, id="B297 a leader that renewed is healthy"),
        pytest.param(35.0, True, id="E13 up to the lease and the tolerance it is healthy"),
        pytest.param(35.1, False, id="E13 after the lease and the tolerance it is not"),
    ],
)
def test_B297_the_check(age: float | None, is_healthy: bool) -> None:
    assert (Health(Renewed(age), lease_duration_seconds=15).check() is None) is is_healthy


def test_B297_the_complaint_names_what_was_found_and_expected() -> None:
    complaint = Health(Renewed(61.0), lease_duration_seconds=15).check()
    assert complaint == (
        "the leader's Lease was last renewed 61 s ago, expected at most 35 s; "
        "the process is stuck and should be restarted"
    )
