from __future__ import annotations

import pytest

from mpi_operator.leader_election.term import build_term, is_leading
from test.builders.lease_server import options


def test_1_9_6_everything_counts_from_the_sending() -> None:
    term = build_term(4, 100.0, options())
    assert (term.epoch, term.renew_sent_at, term.must_stop_by, term.valid_until) == (4, 100.0, 110.0, 115.0)


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        pytest.param(100.0, True, id="as soon as it was sent"),
        pytest.param(109.999, True, id="just before the renew deadline"),
        pytest.param(110.0, False, id="at the renew deadline"),
        pytest.param(114.0, False, id="while the lease is still good"),
    ],
)
def test_1_9_6_leading_is_a_comparison(now: float, expected: bool) -> None:
    assert is_leading(build_term(0, 100.0, options()), now) is expected


def test_nobody_leads_without_a_term() -> None:
    assert not is_leading(None, 0.0)
