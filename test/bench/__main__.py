"""Measure the libraries and print one table in Markdown, beside the same work with the kubernetes package's models.

`python -m test.bench` takes a few minutes; nothing else should be busy. A figure in bold misses its goal. The operator
itself is measured by `python -m test.bench.operator`.
"""

from __future__ import annotations

import logging
import os
import platform
import statistics
from collections.abc import Iterator
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path

import structlog

from test.bench import decode, informer, queue, sync
from test.bench.row import HEADER, Row


def measure_decoding() -> Iterator[Row]:
    """Yield the rows about decoding pods and keeping them."""
    with get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        ours = pool.apply(decode.measure, ("informers, Struct",))
        theirs = pool.apply(decode.measure, ("kubernetes, models",))
        events = pool.apply(informer.measure_events_per_second)
    pages = f"in pages of {decode.PAGE_SIZE}"
    yield Row(
        f"pods decoded, {pages}",
        ">= 60,000/s",
        f"{ours.pods_per_second:,.0f}/s",
        f"{theirs.pods_per_second:,.0f}/s",
        meets=ours.pods_per_second >= 60_000,
    )
    yield Row(
        "bytes a cached pod",
        "<= 6,144",
        f"{ours.bytes_per_pod:,.0f}",
        f"{theirs.bytes_per_pod:,.0f}",
        meets=ours.bytes_per_pod <= 6 * 1024,
    )
    yield Row(
        f"worst pause of another thread, {decode.DECODERS['informers, Struct'][1]:,} pods "
        f"(the package: {decode.DECODERS['kubernetes, models'][1]:,})",
        "<= 20 ms",
        f"{1000 * ours.worst_pause_seconds:.1f} ms",
        f"{1000 * theirs.worst_pause_seconds:.1f} ms",
        meets=ours.worst_pause_seconds <= 0.020,
    )
    yield Row(
        "watch events decoded and applied (the package: only decoded)",
        ">= 50,000/s",
        f"{events:,.0f}/s",
        f"{theirs.events_per_second:,.0f}/s",
        meets=events >= 50_000,
    )


def measure_queue() -> Iterator[Row]:
    """Yield the rows about the work queue, which the kubernetes package has none of."""
    cycles = max(queue.measure_cycles_per_second(queue.build_plain()) for _ in range(3))
    wake = statistics.median(queue.measure_wakes_seconds(queue.build_plain()))
    yield Row("queue add + get + done, one thread", ">= 100,000/s", f"{cycles:,.0f}/s", meets=cycles >= 100_000)
    yield Row("an idle worker's waking, median", "<= 1 ms", f"{1000 * wake:.3f} ms", meets=wake <= 0.001)


def describe_machine() -> str:
    """Return what the figures depend on."""
    models = {
        line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line
    }
    load = os.getloadavg()[0]
    return (
        f"{os.cpu_count()} cores ({', '.join(models) or platform.machine()}), load {load:.1f} at the start, "
        f"CPython {platform.python_version()}, msgspec {version('msgspec')}, kubernetes {version('kubernetes')}"
    )


def main() -> None:
    """Print the table, row by row as they are known."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    print(describe_machine(), end="\n\n")
    print(HEADER, flush=True)
    for measure in (measure_decoding, measure_queue, sync.measure):
        for row in measure():
            print(row.format(), flush=True)


if __name__ == "__main__":
    main()
