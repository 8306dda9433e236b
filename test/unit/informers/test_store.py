from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clockwork import OwnedThread
from informers.metadata import key_of
from informers.store import Store
from test.builders.informers import Pod, a_pod


def by_phase(pod: Pod) -> Iterable[str]:
    return pod.phase.split(",") if pod.phase else ()


def a_store(*pods: Pod, index: Callable[[Pod], Iterable[str]] = by_phase) -> Store[Pod]:
    store = Store({"phase": index}, name="pods")
    for pod in pods:
        put(store, pod)
    return store


def put(store: Store[Pod], pod: Pod) -> Pod | None:
    return store.put(key_of(pod), pod, pod.metadata.resource_version)


def found(store: Store[Pod]) -> dict[str, list[str]]:
    return {value: sorted(store.index_keys("phase", value)) for value in sorted(store.index_values("phase"))}


def test_S1_objects_with_several_values_are_found_by_each_through_all_changes() -> None:
    store = a_store()
    put(store, a_pod("one", phase="foo"))
    assert found(store) == {"foo": ["ns/one"]}
    put(store, a_pod("two", phase="foo,bar"))
    assert found(store) == {"bar": ["ns/two"], "foo": ["ns/one", "ns/two"]}
    put(store, a_pod("tre", phase="bar"))
    assert found(store) == {"bar": ["ns/tre", "ns/two"], "foo": ["ns/one", "ns/two"]}
    put(store, a_pod("one", phase="bar"))
    assert found(store) == {"bar": ["ns/one", "ns/tre", "ns/two"], "foo": ["ns/two"]}
    store.delete("ns/two")
    assert found(store) == {"bar": ["ns/one", "ns/tre"]}
    store.delete("ns/one")
    assert found(store) == {"bar": ["ns/tre"]}
    store.delete("ns/tre")
    assert found(store) == {}


def test_S2_the_last_object_of_a_value_takes_the_value_with_it() -> None:
    store = a_store(a_pod("one", phase="foo"))
    store.delete("ns/one")
    assert store.index_values("phase") == []
    assert store._indices["phase"]._keys_by_value == {}
    assert store._indices["phase"]._values_by_key == {}


def test_S3_one_of_two_leaves_the_other() -> None:
    store = a_store(a_pod("one", phase="foo"), a_pod("two", phase="foo"))
    store.delete("ns/one")
    assert found(store) == {"foo": ["ns/two"]}


def test_S4_an_index_that_is_added_later_finds_what_is_there_and_what_comes() -> None:
    store = a_store(a_pod("one"))
    store.add_index("name", lambda pod: [pod.metadata.name])
    put(store, a_pod("two"))
    assert store.index_values("name") == ["one", "two"]


def test_S4_a_name_that_is_taken_is_refused_and_changes_nothing() -> None:
    store = a_store(a_pod("one", phase="foo"))
    with pytest.raises(ValueError, match="'pods' already has an index 'phase'"):
        store.add_index("phase", lambda _: ["other"])
    assert found(store) == {"foo": ["ns/one"]}


def test_a_repeated_value_counts_once() -> None:
    assert a_store(a_pod("one", phase="foo,foo")).by_index("phase", "foo") == [a_pod("one", phase="foo,foo")]


def test_S5_the_stores_version_follows_what_is_seen_and_only_a_replace_sets_it_back() -> None:
    store = a_store()
    seen = [store.last_resource_version]
    for step in (
        lambda: put(store, a_pod("a", 10)),
        lambda: put(store, a_pod("a", 10)),
        lambda: put(store, a_pod("a", 20)),
        lambda: store.delete("ns/a", "30"),
        lambda: store.put("ns/b", a_pod("b", "")),
        lambda: store.delete("ns/b"),
        lambda: [put(store, a_pod("c", version)) for version in (40, 30, 50)],
        lambda: put(store, a_pod("c", 20)),
        lambda: store.observe("60"),
        lambda: store.observe("9"),
        lambda: store.replace({"ns/d": a_pod("d", 40), "ns/e": a_pod("e", 30)}, "50"),
        lambda: put(store, a_pod("d", 20)),
        lambda: store.observe("letters"),
    ):
        step()
        seen.append(store.last_resource_version)
    assert seen == ["", "10", "10", "20", "30", "30", "30", "50", "50", "60", "60", "50", "50", "letters"]


def test_S6_readers_never_find_an_object_under_its_old_and_new_value_at_once() -> None:
    # A reader takes the lock inside the very update: between two dict operations it would see the torn state.
    store = a_store(a_pod("a", phase="red"))
    index = store._indices["phase"]
    torn: list[bool] = []
    take_out, lock = index._take_out, store._lock

    def look_then_take_out(key: str, value: str) -> None:
        torn.append(lock.acquire(blocking=False))
        take_out(key, value)

    index._take_out = look_then_take_out  # type: ignore[method-assign]
    put(store, a_pod("a", 2, phase="blue"))
    assert torn == [False], "the readers' lock was free while the index was half-way"
    assert found(store) == {"blue": ["ns/a"]}


def test_S6_S10_concurrent_readers_see_only_whole_states() -> None:
    small = {f"ns/{n}": a_pod(str(n), phase="small") for n in range(10)}
    large = {f"ns/{n}": a_pod(str(n), phase="large") for n in range(300)}
    store = a_store()
    store.replace(small, "1")
    done = threading.Event()
    wrong: list[object] = []

    def read() -> None:
        while not done.is_set():
            sizes = len(store.list()), len(store.by_index("phase", "small")), len(store.by_index("phase", "large"))
            if sizes[0] not in (10, 300) or sizes[1] not in (0, 10) or sizes[2] not in (0, 300):
                wrong.append(sizes)

    readers = [OwnedThread(f"reader {n}", read).start() for n in range(2)]
    for turn in range(60):
        store.replace(large if turn % 2 else small, str(turn + 2))
    done.set()
    assert all(reader.join(10) for reader in readers)
    assert wrong == []


def test_S7_an_unknown_index_is_an_error() -> None:
    store = a_store()
    for query in (
        lambda: store.by_index("no", ""),
        lambda: store.index_keys("no", ""),
        lambda: store.index_values("no"),
    ):
        with pytest.raises(KeyError, match=r"no index 'no'; it has \['phase'\]"):
            query()


def test_S8_an_index_function_that_raises_costs_only_its_own_index(logs: list[dict[str, str]]) -> None:
    def fails(pod: Pod) -> Iterable[str]:
        raise RuntimeError(f"cannot index {pod}")

    store = Store({"bad": fails, "phase": by_phase}, name="pods")
    put(store, a_pod("one", phase="foo"))
    put(store, a_pod("one", 2, phase="bar"))
    put(store, a_pod("two", phase="bar"))
    assert store.get("ns/one") == a_pod("one", 2, phase="bar")
    assert found(store) == {"bar": ["ns/one", "ns/two"]}
    assert store.index_values("bad") == []
    assert store.index_errors == 3
    assert [(entry["index"], entry["key"]) for entry in logs] == [("bad", "ns/one"), ("bad", "ns/two")]


def test_index_functions_run_before_the_readers_lock_is_taken() -> None:
    store: Store[Pod] = Store({"others": lambda _: [str(len(store.list()))]})
    put(store, a_pod("a"))
    put(store, a_pod("b"))
    store.replace({"ns/c": a_pod("c")}, "9")
    assert store.index_values("others") == ["2"]


def test_S10_replace_is_one_step_and_returns_what_was_there() -> None:
    store = a_store(a_pod("a", phase="foo"), a_pod("b", phase="foo"))
    former = store.replace({"ns/b": a_pod("b", 9, phase="bar")}, "9")
    assert list(former) == ["ns/a", "ns/b"]
    assert store.list() == [a_pod("b", 9, phase="bar")]
    assert found(store) == {"bar": ["ns/b"]}
    put(store, a_pod("a", 10))
    assert list(former) == ["ns/a", "ns/b"], "the former content is not the live one"


def test_a_list_that_is_returned_belongs_to_the_caller() -> None:
    store = a_store(a_pod("a", phase="foo"))
    store.list().clear()
    store.keys().clear()
    store.items().clear()
    store.by_index("phase", "foo").clear()
    assert (len(store), store.keys(), store.by_index("phase", "foo")) == (1, ["ns/a"], [a_pod("a", phase="foo")])


def test_a_missing_key_is_none() -> None:
    assert a_store().get("ns/a") is None


CHANGES = st.lists(st.tuples(st.sampled_from("abc"), st.none() | st.sampled_from(["", "x", "y", "x,y"])), max_size=20)


@given(CHANGES)
def test_the_index_always_equals_one_built_anew(changes: list[tuple[str, str | None]]) -> None:
    store = a_store()
    for name, phase in changes:
        if phase is None:
            store.delete(f"ns/{name}")
        else:
            put(store, a_pod(name, phase=phase))
    assert found(store) == found(a_store(*store.list()))
