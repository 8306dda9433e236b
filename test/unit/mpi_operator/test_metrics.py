"""The exported series (B261-B267)."""

from __future__ import annotations

import pytest
from prometheus_client.parser import text_string_to_metric_families

from informers.metrics import HandlerReadings, InformerReadings, Total
from mpi_operator.events import Counts
from mpi_operator.metrics import (
    EventCollector,
    InformerCollector,
    JobInfo,
    JobInfoCollector,
    Metrics,
    build_metrics_pages,
)


def scrape(metrics: Metrics) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    text = build_metrics_pages(metrics.registry)["/metrics"]({}).body.decode()
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


@pytest.mark.parametrize(
    ("attribute", "name"),
    [
        pytest.param("jobs_created", "mpi_operator_jobs_created_total", id="B262"),
        pytest.param("jobs_successful", "mpi_operator_jobs_successful_total", id="B263"),
        pytest.param("jobs_failed", "mpi_operator_jobs_failed_total", id="B264"),
    ],
)
def test_job_counters_are_there_from_the_start_and_count(attribute: str, name: str) -> None:
    metrics = Metrics()
    assert scrape(metrics)[name, ()] == 0
    getattr(metrics, attribute).inc()
    assert scrape(metrics)[name, ()] == 1


def test_B266_is_leader_follows_the_election() -> None:
    metrics = Metrics()
    assert scrape(metrics)["mpi_operator_is_leader", ()] == 0
    metrics.set_leader("mpi-operator", is_leader=True)
    assert scrape(metrics)["mpi_operator_is_leader", ()] == 1
    metrics.set_leader("mpi-operator", is_leader=False)
    assert scrape(metrics)["mpi_operator_is_leader", ()] == 0


def test_B265_job_info_names_the_launcher_and_goes_with_the_job() -> None:
    metrics = Metrics()
    jobs = [JobInfo("team", "pi-launcher", ("pi-launcher-x",)), JobInfo("team", "mu-launcher")]
    metrics.registry.register(JobInfoCollector(lambda: jobs))
    found = scrape(metrics)
    assert found["mpi_operator_job_info", (("launcher", "pi-launcher"), ("namespace", "team"))] == 1
    assert found["mpi_operator_job_info", (("launcher", "mu-launcher"), ("namespace", "team"))] == 1
    pod = (("launcher", "pi-launcher"), ("namespace", "team"), ("pod", "pi-launcher-x"))
    assert found["mpi_operator_job_launcher_pod_info", pod] == 1
    jobs.clear()
    assert not [name for name, _ in scrape(metrics) if name.startswith("mpi_operator_job_")]


def test_B267_the_process_and_its_interpreter_are_described() -> None:
    names = {name for name, _ in scrape(Metrics())}
    assert {"process_resident_memory_bytes", "python_info", "python_gc_collections_total"} <= names


def test_requests_are_counted_by_verb_resource_and_code() -> None:
    metrics = Metrics()
    metrics.record_request("POST", "pods", 201, 0.02)
    found = scrape(metrics)
    assert found["mpi_operator_api_requests_total", (("code", "201"), ("resource", "pods"), ("verb", "POST"))] == 1
    assert found["mpi_operator_api_request_duration_seconds_count", (("verb", "POST"),)] == 1


def test_informers_are_read_when_they_are_scraped() -> None:
    readings = InformerReadings(
        name="pods",
        lists={"ok": 2},
        list_time=Total(2, 0.5),
        list_items=3,
        watches={"closed": 1},
        watch_time=Total(1, 300.0),
        events={"ADDED": 4},
        last_event_age_seconds=7.0,
        store_objects=3,
        is_synced=True,
        decode_errors=1,
        index_errors=0,
        streaming_fallbacks=0,
        inconsistencies=0,
        handlers=(HandlerReadings("queue", depth=0, oldest_age_seconds=0.0, is_synced=True, errors=0),),
    )
    metrics = Metrics()
    metrics.registry.register(InformerCollector(lambda: [readings]))
    found = scrape(metrics)
    pods = ("informer", "pods")
    assert found["informer_lists_total", (pods, ("result", "ok"))] == 2
    assert found["informer_watches_total", (("end", "closed"), pods)] == 1
    assert found["informer_events_total", (pods, ("type", "ADDED"))] == 4
    assert found["informer_list_seconds_sum", (pods,)] == 0.5
    assert found["informer_store_objects", (pods,)] == 3
    assert found["informer_synced", (pods,)] == 1
    assert found["informer_last_event_age_seconds", (pods,)] == 7
    assert found["informer_decode_errors_total", (pods,)] == 1


def test_the_text_format_follows_what_the_scraper_accepts() -> None:
    answer = build_metrics_pages(Metrics().registry)["/metrics"]
    assert answer({"Accept": "application/openmetrics-text; version=1.0.0"}).content_type.startswith(
        "application/openmetrics-text"
    )
    assert answer({}).content_type.startswith("text/plain")


def test_V_events_are_counted_by_what_became_of_them() -> None:
    metrics = Metrics()
    metrics.registry.register(EventCollector(lambda: Counts(written=3, dropped_full=1)))
    found = scrape(metrics)
    assert found["mpi_operator_events_total", (("result", "written"),)] == 3
    assert found["mpi_operator_events_total", (("result", "dropped_full"),)] == 1
