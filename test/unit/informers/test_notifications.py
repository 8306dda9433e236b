import pytest
from hypothesis import given
from hypothesis import strategies as st

from informers.metadata import build_key, key_of, split_key
from informers.notifications import Added, Deleted, Notification, Updated, plan_delete, plan_put, plan_replace
from test.builders.informers import Pod, a_pod

OLD, NEW = a_pod("a", 1), a_pod("a", 2)
OTHER = a_pod("a", 3, uid="another")


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(None, NEW, [Added(NEW)], id="what was not there is added"),
        pytest.param(OLD, NEW, [Updated(OLD, NEW)], id="a new version is an update"),
        pytest.param(OLD, OLD, [Updated(OLD, OLD, is_resync=True)], id="the same version is only a repetition"),
        pytest.param(
            OLD, OTHER, [Deleted("ns/a", OLD, final=False), Added(OTHER)], id="another uid is a delete and an add"
        ),
        pytest.param(
            a_pod("a", ""), a_pod("a", ""), [Updated(a_pod("a", ""), a_pod("a", ""))], id="no versions, so maybe new"
        ),
    ],
)
def test_put(old: Pod | None, new: Pod, expected: list[Notification[Pod]]) -> None:
    assert list(plan_put("ns/a", old, new)) == expected


@pytest.mark.parametrize(
    ("old", "final", "expected"),
    [
        pytest.param(OLD, NEW, [Deleted("ns/a", NEW, final=True)], id="the event carries the final state"),
        pytest.param(None, NEW, [], id="a deletion is not told twice"),
        pytest.param(OLD, None, [Deleted("ns/a", OLD, final=False)], id="without a final state, the last one known"),
        pytest.param(OLD, OTHER, [Deleted("ns/a", OLD, final=False)], id="the final state of a namesake is not ours"),
    ],
)
def test_delete(old: Pod | None, final: Pod | None, expected: list[Notification[Pod]]) -> None:
    assert list(plan_delete("ns/a", old, final)) == expected


def contents(*pods: Pod) -> dict[str, Pod]:
    return {key_of(pod): pod for pod in pods}


def test_F4_a_replace_tells_deletions_first_then_the_list_in_its_order() -> None:
    before = contents(a_pod("foo", 1), a_pod("bar", 2), a_pod("baz", 3))
    after = contents(a_pod("new", 6), a_pod("foo", 5))
    assert plan_replace(before, after, is_initial=True) == [
        Deleted("ns/bar", a_pod("bar", 2), final=False),
        Deleted("ns/baz", a_pod("baz", 3), final=False),
        Added(a_pod("new", 6), is_initial=True),
        Updated(a_pod("foo", 1), a_pod("foo", 5)),
    ]


def test_a_replaced_uid_in_a_list_is_a_deletion_among_the_deletions() -> None:
    before = contents(OLD, a_pod("b", 2))
    assert plan_replace(before, contents(a_pod("b", 9), OTHER), is_initial=False) == [
        Deleted("ns/a", OLD, final=False),
        Updated(a_pod("b", 2), a_pod("b", 9)),
        Added(OTHER),
    ]


STATES = st.dictionaries(st.sampled_from("abcd"), st.tuples(st.integers(1, 3), st.sampled_from("uv")), max_size=4)


def states(drawn: dict[str, tuple[int, str]]) -> dict[str, Pod]:
    return {f"ns/{name}": a_pod(name, version, uid=uid) for name, (version, uid) in drawn.items()}


@given(STATES, STATES)
def test_what_a_replace_tells_leads_from_the_old_state_to_the_new(
    old: dict[str, tuple[int, str]], new: dict[str, tuple[int, str]]
) -> None:
    view, after = states(old), states(new)
    for note in plan_replace(states(old), after, is_initial=False):
        if isinstance(note, Deleted):
            assert view.pop(note.key) == note.last_known
        elif isinstance(note, Added):
            assert key_of(note.object) not in view
            view[key_of(note.object)] = note.object
        else:
            assert view[key_of(note.new)] == note.old
            assert note.old.metadata.uid == note.new.metadata.uid
            view[key_of(note.new)] = note.new
    assert view == after


def test_F5_F16_a_deletion_without_an_object_still_has_key_namespace_and_name() -> None:
    gone: Deleted[Pod] = Deleted("ns/a", None, final=False)
    assert (gone.key, gone.namespace, gone.name, gone.last_known) == ("ns/a", "ns", "a", None)
    assert Deleted[Pod]("node", None, final=False).namespace == ""


@pytest.mark.parametrize("garbage", ["", "a/b/c", "/a", "a/", "/"])
def test_F16_garbage_is_no_key(garbage: str) -> None:
    with pytest.raises(ValueError, match="is no key"):
        split_key(garbage)


def test_keys() -> None:
    assert key_of(a_pod("a")) == "ns/a"
    assert key_of(a_pod("node", namespace="")) == "node"
    assert split_key(build_key("ns", "a")) == ("ns", "a")
    with pytest.raises(ValueError, match=r"no metadata\.name"):
        key_of(a_pod(""))
