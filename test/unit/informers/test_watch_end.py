import pytest

from informers.errors import ApiError, Expired, InternalError
from informers.watch_end import CONSEQUENCES, Delay, WatchEnd, classify_end


def test_every_end_has_a_consequence() -> None:
    assert set(CONSEQUENCES) == set(WatchEnd)


def test_every_list_after_a_watch_waits_for_the_rounds_backoff() -> None:
    assert all((each.delay is Delay.ROUND) == each.relists for each in CONSEQUENCES.values())


@pytest.mark.parametrize(
    ("error", "is_connected", "is_within_retry_budget", "expected"),
    [
        pytest.param(None, True, False, WatchEnd.CLOSED, id="a close by the server"),
        pytest.param(InternalError("etcd"), True, True, WatchEnd.INTERNAL_ERROR, id="within the budget"),
        pytest.param(InternalError("etcd"), True, False, WatchEnd.ERROR, id="beyond the budget"),
        pytest.param(InternalError("etcd"), False, True, WatchEnd.ERROR, id="on connecting there is no budget"),
        pytest.param(Expired("old"), False, True, WatchEnd.EXPIRED, id="expired on connecting"),
        pytest.param(ApiError("anything"), True, True, WatchEnd.ERROR, id="any other error"),
    ],
)
def test_ends(error: ApiError | None, is_connected: bool, is_within_retry_budget: bool, expected: WatchEnd) -> None:
    found = classify_end(error, is_connected=is_connected, is_within_retry_budget=is_within_retry_budget)
    assert found is expected
