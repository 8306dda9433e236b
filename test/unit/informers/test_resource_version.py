import pytest
from hypothesis import given
from hypothesis import strategies as st

from informers.resource_version import compare, is_comparable


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        pytest.param("9", "10", -1, id="X13 nine is older than ten, unlike in string order"),
        pytest.param("10", "9", 1, id="X13 ten is newer than nine"),
        pytest.param("7", "7", 0, id="X13 equal"),
        pytest.param("0", "7", None, id="X13 zero is no version"),
        pytest.param("7", "0", None, id="X13 zero is no version on the right either"),
        pytest.param("010", "7", None, id="X13 a leading zero is refused"),
        pytest.param("", "7", None, id="X13 nothing is no version"),
        pytest.param("abc", "abd", None, id="X13 letters have no order"),
        pytest.param("abc", "abc", None, id="X13 equal letters have no order either"),
        pytest.param("-5", "7", None, id="X13 no sign"),
        pytest.param("٣", "7", None, id="X13 digits of other scripts are refused"),
        pytest.param("1" + "0" * 39, "9" * 39, 1, id="X13 forty digits"),
        pytest.param("1" + "0" * 9999, "9" * 9999, 1, id="X13 more digits than int() takes"),
    ],
)
def test_compare(left: str, right: str, expected: int | None) -> None:
    assert compare(left, right) == expected


@given(st.integers(min_value=1), st.integers(min_value=1))
def test_X13_the_order_is_that_of_the_integers(left: int, right: int) -> None:
    assert compare(str(left), str(right)) == (left > right) - (left < right)


@given(st.text())
def test_X13_whatever_is_comparable_is_a_positive_integer_in_its_one_spelling(text: str) -> None:
    assert is_comparable(text) == (text.isascii() and text.isdigit() and str(int(text or "0")) == text != "0")
