from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clockwork import FakeClock
from informers.backoff import Backoff, BackoffOptions
from test.builders.informers import FixedRandom

MILLISECOND = 0.001
SMALL = BackoffOptions(base_seconds=MILLISECOND, cap_seconds=50 * MILLISECOND)


def delays(options: BackoffOptions, count: int, random: Random, clock: FakeClock | None = None) -> list[float]:
    backoff = Backoff(options, clock=clock or FakeClock(), random=random)
    return [backoff.next_delay() for _ in range(count)]


def test_the_defaults_are_those_of_client_go() -> None:
    assert BackoffOptions() == BackoffOptions(
        base_seconds=0.8, factor=2.0, cap_seconds=30.0, jitter_factor=1.0, reset_after_seconds=120.0
    )


def test_delays_double_up_to_the_cap() -> None:
    assert delays(BackoffOptions(), 8, FixedRandom(0)) == [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30, 30]


@pytest.mark.parametrize(
    ("count", "low", "high"),
    [
        pytest.param(5, 0.032, 0.064, id="R18 five failures grow exponentially"),
        pytest.param(40, 3.5, 4.0, id="R18 forty failures stay at up to twice the cap"),
    ],
)
def test_the_longest_total(count: int, low: float, high: float) -> None:
    assert low <= sum(delays(SMALL, count, FixedRandom(0.999999))) <= high


def test_R19_without_jitter_the_delays_are_exact() -> None:
    options = BackoffOptions(base_seconds=0.010, cap_seconds=0.100, jitter_factor=0)
    assert 0.250 <= sum(delays(options, 5, Random(1))) <= 0.300


@given(st.integers(min_value=0, max_value=12), st.randoms(use_true_random=False))
def test_every_delay_lies_between_the_exponential_and_twice_that(position: int, random: Random) -> None:
    exponential = min(30.0, 0.8 * 2**position)
    assert exponential <= delays(BackoffOptions(), position + 1, random)[position] <= 2 * exponential


@pytest.mark.parametrize(
    ("quiet_seconds", "expected"),
    [pytest.param(121, 0.8, id="more than two quiet minutes reset"), pytest.param(120, 3.2, id="exactly two do not")],
)
def test_reset(quiet_seconds: float, expected: float) -> None:
    clock = FakeClock()
    backoff = Backoff(BackoffOptions(), clock=clock, random=FixedRandom(0))
    backoff.next_delay()
    backoff.next_delay()
    clock.step(quiet_seconds)
    assert backoff.next_delay() == expected


def test_R34_a_thousand_reflectors_spread_over_the_backoff_window() -> None:
    firsts = [delays(BackoffOptions(), 1, Random(seed))[0] for seed in range(1000)]
    buckets = [sum(0.8 + 0.1 * n <= delay < 0.9 + 0.1 * n for delay in firsts) for n in range(8)]
    assert sum(buckets) == len(firsts)
    assert max(buckets) <= 2 * len(firsts) / len(buckets)
