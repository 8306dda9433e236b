"""Worker pods sorted into groups, by controller and name alone (lifecycle.md 2)."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mpi_operator.api.observed import Pod
from mpi_operator.children.workers.classify import Workers, classify_workers
from test.builders.jobs import a_job
from test.builders.pods import a_worker

WANTED = 3


def classify(*pods: Pod) -> Workers:
    return classify_workers(a_job(workers=WANTED), pods, WANTED)


def test_each_pod_is_in_the_group_that_it_belongs_to() -> None:
    alive, ended, surplus = a_worker(0), a_worker(1, phase="Failed"), a_worker(5)
    workers = classify(surplus, ended, alive)
    assert [worker.pod for worker in workers.alive] == [alive]
    assert [worker.pod for worker in workers.ended] == [ended]
    assert [worker.pod for worker in workers.surplus] == [surplus]
    assert workers.missing == (2,)


def test_a_terminating_pod_holds_its_name_and_is_in_no_group() -> None:
    workers = classify(a_worker(0, terminating=True), a_worker(5, terminating=True))
    assert (workers.alive, workers.surplus, workers.missing) == ((), (), (1, 2))
    assert len(workers.owned) == 2


def test_A1_1_the_ordinal_is_in_the_name_not_in_the_label() -> None:
    mislabelled = a_worker(2, labels={"training.kubeflow.org/replica-index": "7"})
    assert [worker.ordinal for worker in classify(mislabelled).alive] == [2]


def test_B136_A1_2_a_foreign_pod_without_labels_changes_nothing() -> None:
    workers = classify(a_worker(0), a_worker(9, owned=False, labels={}))
    assert len(workers.owned) == 1
    assert workers.missing == (1, 2)


def test_a_name_that_somebody_holds_is_not_missing() -> None:
    workers = classify(a_worker(0, owned=False), a_worker(1, owner_uid="a predecessor"))
    assert workers.missing == (2,)
    assert [pod.metadata.name for pod in workers.foreign] == ["pi-worker-0"]
    assert [pod.metadata.name for pod in workers.predecessors] == ["pi-worker-1"]


def test_all_running_and_all_ready_need_every_wanted_worker() -> None:
    running = [a_worker(ordinal, ready=False) for ordinal in range(WANTED)]
    assert classify(*running).are_all_running
    assert not classify(*running).are_all_ready
    assert not classify(*running[:2]).are_all_running
    assert classify(*(a_worker(ordinal) for ordinal in range(WANTED))).are_all_ready


STATES: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {
        "phase": st.sampled_from(["Pending", "Running", "Succeeded", "Failed"]),
        "terminating": st.booleans(),
        "owned": st.booleans(),
    }
)


@given(
    states=st.dictionaries(st.integers(0, 5), STATES, max_size=6),
    order=st.randoms(use_true_random=False),
)
def test_every_wanted_ordinal_is_accounted_for_in_any_order(states: dict[int, dict[str, Any]], order: Any) -> None:
    pods = [a_worker(ordinal, **state) for ordinal, state in states.items()]
    workers = classify(*pods)
    members = [worker.ordinal for worker in (*workers.alive, *workers.ended)]
    going = [pod for pod in workers.owned if pod.metadata.is_terminating and int(pod.metadata.name[-1]) < WANTED]
    assert len(members) + len(workers.missing) + len(workers.foreign) + len(going) == WANTED
    assert not set(members) & set(workers.missing)
    order.shuffle(pods)
    assert classify(*pods) == workers
