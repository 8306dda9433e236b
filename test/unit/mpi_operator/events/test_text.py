from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpi_operator.events.text import MESSAGE_BYTES, fit


def test_V15_a_note_of_1100_bytes_in_two_byte_characters_is_cut_between_characters() -> None:
    cut = fit("x" + "é" * 550, MESSAGE_BYTES)
    assert cut == "x" + "é" * 511
    assert len(cut.encode()) == 1023


@pytest.mark.parametrize("text", ["", "short", "é" * 512])
def test_what_fits_is_left_as_it_is(text: str) -> None:
    assert fit(text, MESSAGE_BYTES) == text


@given(st.text(), st.integers(0, 50))
def test_V15_the_cut_is_the_longest_beginning_that_fits(text: str, limit: int) -> None:
    cut = fit(text, limit)
    assert text.startswith(cut)
    assert len(cut.encode()) <= limit
    assert cut == text or len((cut + text[len(cut)]).encode()) > limit


def test_what_utf_8_cannot_express_becomes_a_question_mark() -> None:
    assert fit("a\ud800b", 10) == "a?b"
