"""Quantities: what Kubernetes takes for one, what it adds up to, and how it is written."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpi_operator.children.pod_group.quantity import ZERO, Quantity, parse_quantity

SUFFIXES = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e3", "E-2", "e0"]


def quantities() -> st.SearchStrategy[str]:
    numbers = st.integers(-(10**6), 10**6).map(str) | st.decimals(
        -1000, 1000, places=3, allow_nan=False, allow_infinity=False
    ).map(str)
    return st.builds(lambda number, suffix: number + suffix, numbers, st.sampled_from(SUFFIXES))


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        pytest.param("2", 2, id="B164 a whole number"),
        pytest.param(2, 2, id="B162 a JSON number, as some write cpu"),
        pytest.param(0.5, Fraction(1, 2), id="B162 a JSON fraction"),
        pytest.param("1500m", Fraction(3, 2), id="B164 thousandths"),
        pytest.param("0.1", Fraction(1, 10), id="B164 a decimal fraction is exact"),
        pytest.param(".5", Fraction(1, 2), id="B164 without a leading zero"),
        pytest.param("1.", 1, id="B164 without digits after the point"),
        pytest.param("1Ki", 1024, id="B164 a binary suffix"),
        pytest.param("1.5Gi", 1610612736, id="B164 a binary suffix of a fraction"),
        pytest.param("1Ei", 2**60, id="B164 the largest binary suffix"),
        pytest.param("1E", 10**18, id="B164 E alone is exa"),
        pytest.param("1E2", 100, id="B164 E with digits is an exponent"),
        pytest.param("12e-1", Fraction(6, 5), id="B164 a negative exponent"),
        pytest.param("1n", Fraction(1, 10**9), id="B164 the smallest unit"),
        pytest.param("0.1n", Fraction(1, 10**9), id="B164 what is smaller is rounded up, away from zero"),
        pytest.param("-0.1n", Fraction(-1, 10**9), id="B164 also below zero"),
        pytest.param("+3", 3, id="B164 a sign"),
    ],
)
def test_a_quantity_is_read_exactly(text: object, amount: Fraction) -> None:
    assert parse_quantity(text).amount == amount


@pytest.mark.parametrize(
    "text", ["", " 1", "1 Gi", "1gi", "1K", "Gi", ".", "-", "1e", "1e1000", "0x1", "\u0661", "9" * 101, None, True]
)
def test_what_is_no_quantity_is_refused_by_name(text: object) -> None:
    with pytest.raises(ValueError, match="is not a quantity"):
        parse_quantity(text)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("1000m", "1"),
        ("1500m", "1500m"),
        ("0.5", "500m"),
        ("1000", "1k"),
        ("100000", "100k"),
        ("1024Mi", "1Gi"),
        ("1.5Gi", "1536Mi"),
        ("512Ki", "512Ki"),
        ("1024", "1024"),
        ("0.5Ki", "512"),
        ("1e3", "1e3"),
        ("100e1", "1e3"),
        ("5e0", "5"),
        ("0", "0"),
        ("0Gi", "0"),
        ("-2k", "-2k"),
        ("2048Ei", "2048Ei"),
    ],
)
def test_B164_a_quantity_is_written_as_the_API_server_writes_it(text: str, written: str) -> None:
    assert str(parse_quantity(text)) == written


@pytest.mark.parametrize(
    ("left", "right", "total"),
    [
        pytest.param("20Gi", "10Gi", "30Gi", id="B172 sums keep their suffix"),
        pytest.param("1Gi", "1Mi", "1025Mi", id="B172 to the largest that needs no fraction"),
        pytest.param("1G", "1Gi", "2073741824", id="B172 the first one's way of writing stays"),
        pytest.param("0", "1Gi", "1Gi", id="B172 but not that of nothing"),
        pytest.param("0.1", "0.2", "300m", id="B172 without the error of binary fractions"),
    ],
)
def test_quantities_add_up(left: str, right: str, total: str) -> None:
    assert str(parse_quantity(left) + parse_quantity(right)) == total


@given(quantities())
def test_writing_loses_nothing(text: str) -> None:
    quantity = parse_quantity(text)
    assert parse_quantity(str(quantity)).amount == quantity.amount


@given(st.lists(quantities(), max_size=4), st.integers(0, 1000))
def test_sums_and_products_are_exact(texts: list[str], times: int) -> None:
    parts = [parse_quantity(text) for text in texts]
    total = sum(parts, ZERO)
    assert total.amount == sum((part.amount for part in parts), Fraction(0))
    assert (total * times).amount == total.amount * times
    assert Quantity(total.amount) + ZERO == Quantity(total.amount)
