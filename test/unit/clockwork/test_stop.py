"""Stop tokens (informers.md 0.2)."""

from __future__ import annotations

import pytest

from clockwork import StopToken


def test_a_token_is_set_once_and_keeps_its_first_reason() -> None:
    token = StopToken()
    token.set("first")
    token.set("second")
    assert token.is_set()
    assert token.reason == "first"
    assert token.wait()


def test_a_child_is_set_with_its_parent_and_leaves_it_alone() -> None:
    parent = StopToken()
    one, other = parent.child(), parent.child()
    one.set("only this one")
    assert not parent.is_set()
    assert not other.is_set()
    parent.set("all")
    assert (one.reason, other.reason) == ("only this one", "all")


def test_a_child_of_a_set_token_is_set() -> None:
    parent = StopToken()
    parent.set("done")
    assert parent.child().reason == "done"


def test_a_closed_child_is_forgotten_by_its_parent() -> None:
    parent = StopToken()
    child = parent.child()
    child.close()
    child.close()
    parent.set("all")
    assert not child.is_set()
    assert parent._callbacks == {}


def test_callbacks_run_once_in_order_and_may_be_forgotten() -> None:
    token = StopToken()
    told: list[str] = []
    token.on_set(lambda: told.append("one"))
    forget = token.on_set(lambda: told.append("forgotten"))
    token.on_set(lambda: told.append("two"))
    forget()
    token.set("now")
    token.on_set(lambda: told.append("late"))
    assert told == ["one", "two", "late"]


def test_callbacks_run_without_the_tokens_lock() -> None:
    token = StopToken()
    seen: list[bool] = []
    token.on_set(lambda: seen.append(token.child().is_set()))
    token.set("now")
    assert seen == [True]


def test_a_callback_that_raises_does_not_stop_the_others() -> None:
    token = StopToken()
    told: list[str] = []

    def fail() -> None:
        raise ValueError("broken")

    token.on_set(fail)
    token.on_set(lambda: told.append("told"))
    with pytest.raises(ExceptionGroup) as raised:
        token.set("now")
    assert told == ["told"]
    assert [str(error) for error in raised.value.exceptions] == ["broken"]
