"""How long a key waits after each failure."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clockwork import FakeClock
from workqueue import (
    BucketLimiter,
    ExponentialLimiter,
    FastSlowLimiter,
    Limiter,
    MaxOfLimiter,
    MaxWaitLimiter,
    default_limiter,
)


def delays(limiter: Limiter[str], count: int, key: str = "one") -> list[float]:
    return [limiter.when(key) for _ in range(count)]


def test_L1_the_exponential_doubles_by_key_until_it_forgets() -> None:
    limiter: ExponentialLimiter[str] = ExponentialLimiter(0.001, 1.0)
    assert delays(limiter, 5) == [0.001, 0.002, 0.004, 0.008, 0.016]
    assert limiter.failures("one") == 5
    assert delays(limiter, 2, "two") == [0.001, 0.002]
    limiter.forget("one")
    assert limiter.failures("one") == 0
    assert delays(limiter, 1) == [0.001]
    assert limiter.failures("two") == 2


def test_L2_the_exponential_stops_exactly_at_its_cap() -> None:
    limiter: ExponentialLimiter[str] = ExponentialLimiter(0.001, 1000.0)
    delays(limiter, 3000)
    assert limiter.when("one") == 1000.0


@given(seed=st.integers(), failures=st.integers(0, 40), jitter=st.floats(0.0, 0.5))
def test_jitter_stays_within_its_share_of_the_delay(seed: int, failures: int, jitter: float) -> None:
    plain: ExponentialLimiter[str] = ExponentialLimiter()
    jittered: ExponentialLimiter[str] = ExponentialLimiter(jitter=jitter, random=Random(seed))
    for expected, actual in zip(delays(plain, failures), delays(jittered, failures), strict=True):
        assert expected * (1 - jitter) <= actual * (1 + 1e-9)
        assert actual <= expected * (1 + jitter) * (1 + 1e-9)


def test_the_default_spreads_keys_that_failed_together() -> None:
    limiter = default_limiter(clock=FakeClock(), random=Random(1))
    first = [limiter.when(key) for key in range(100)]
    assert len(set(first)) == 100
    assert all(0.0045 <= delay <= 0.0055 for delay in first)


def test_L3_fast_then_slow_until_it_forgets() -> None:
    limiter: FastSlowLimiter[str] = FastSlowLimiter(0.005, 10.0, 3)
    assert delays(limiter, 5) == [0.005, 0.005, 0.005, 10.0, 10.0]
    assert limiter.failures("one") == 5
    assert delays(limiter, 1, "two") == [0.005]
    limiter.forget("one")
    assert delays(limiter, 1) == [0.005]


def test_L4_the_longest_of_all_and_all_of_them_advance() -> None:
    fast_slow: FastSlowLimiter[str] = FastSlowLimiter(0.005, 3.0, 3)
    exponential: ExponentialLimiter[str] = ExponentialLimiter(0.001, 1.0)
    limiter: MaxOfLimiter[str] = MaxOfLimiter(fast_slow, exponential)
    assert delays(limiter, 5) == [0.005, 0.005, 0.005, 3.0, 3.0]
    assert [fast_slow.failures("one"), exponential.failures("one"), limiter.failures("one")] == [5, 5, 5]
    assert delays(limiter, 1, "two") == [0.005]
    limiter.forget("one")
    assert [fast_slow.failures("one"), exponential.failures("one"), limiter.failures("one")] == [0, 0, 0]
    assert delays(limiter, 1) == [0.005]


def test_L4_the_failures_are_the_most_that_any_child_knows() -> None:
    first: ExponentialLimiter[str] = ExponentialLimiter()
    first.when("one")
    assert MaxOfLimiter(BucketLimiter(clock=FakeClock()), first).failures("one") == 1


def test_L5_a_longest_wait_caps_another_limiter() -> None:
    exponential: ExponentialLimiter[str] = ExponentialLimiter(0.001, 1000.0)
    limiter: MaxWaitLimiter[str] = MaxWaitLimiter(exponential, 0.003)
    assert delays(limiter, 4) == [0.001, 0.002, 0.003, 0.003]
    assert limiter.failures("one") == 4
    limiter.forget("one")
    assert exponential.failures("one") == 0


def test_L7_a_bucket_reserves_a_token_for_each_call() -> None:
    clock = FakeClock()
    limiter = BucketLimiter(10.0, 2, clock=clock)
    assert [limiter.when(key) for key in "abcd"] == pytest.approx([0.0, 0.0, 0.1, 0.2])
    clock.step(0.1)
    assert limiter.when("a") == pytest.approx(0.2)
    clock.step(1000.0)
    assert [limiter.when(key) for key in "abc"] == pytest.approx([0.0, 0.0, 0.1])
    limiter.forget("a")
    assert limiter.failures("a") == 0


@given(
    rate=st.floats(0.1, 1000.0),
    burst=st.integers(1, 50),
    steps=st.lists(st.floats(0.0, 10.0), min_size=1, max_size=50),
)
def test_a_bucket_never_grants_more_than_its_burst_and_rate(rate: float, burst: int, steps: list[float]) -> None:
    clock = FakeClock()
    limiter = BucketLimiter(rate, burst, clock=clock)
    granted = []
    for step in steps:
        clock.step(step)
        granted.append(clock.monotonic() + limiter.when("any"))
    assert all(later - earlier > -1e-6 for earlier, later in pairwise(granted))
    for first in range(len(granted)):
        for last in range(first, len(granted)):
            assert last - first + 1 <= burst + (granted[last] - granted[first]) * rate + 1 + 1e-3


def test_the_default_is_the_longer_of_exponential_and_bucket() -> None:
    limiter = default_limiter(clock=FakeClock(), random=Random(1))
    first = [limiter.when(key) for key in range(102)]
    assert first[100:] == pytest.approx([0.1, 0.2])
    assert [limiter.when(1) for _ in range(10)][-1] >= 0.9 * 0.005 * 2**10


@pytest.mark.parametrize(
    "build",
    [
        ExponentialLimiter,
        lambda: FastSlowLimiter(1.0, 2.0, 3),
        lambda: MaxOfLimiter(ExponentialLimiter(), FastSlowLimiter(1.0, 2.0, 3)),
        lambda: MaxWaitLimiter(ExponentialLimiter(), 5.0),
    ],
    ids=["exponential", "fast-slow", "max-of", "max-wait"],
)
@given(calls=st.lists(st.tuples(st.sampled_from(["when", "forget"]), st.sampled_from("abc")), max_size=30))
def test_every_limiter_counts_the_failures_of_each_key_since_it_was_forgotten(
    build: Callable[[], Limiter[str]], calls: list[tuple[str, str]]
) -> None:
    limiter = build()
    counts = dict.fromkeys("abc", 0)
    for call, key in calls:
        if call == "when":
            assert limiter.when(key) >= 0.0
            counts[key] += 1
        else:
            limiter.forget(key)
            counts[key] = 0
        assert {key: limiter.failures(key) for key in "abc"} == counts
