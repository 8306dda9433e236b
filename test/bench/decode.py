"""How fast pods are decoded, how small they are kept, and how long others wait: `python -m test.bench.decode`.

Each decoder runs in a process of its own, so that none pays for what another left in the heap. Times are the best of
three runs, as other programs only ever make them worse.
"""

from __future__ import annotations

import gc
import importlib
import json
import multiprocessing
import resource
import threading
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import msgspec

from clockwork import OwnedThread, StopToken
from informers.decode import ObjectDecoder
from informers.resource import Resource
from mpi_operator.api.observed import Pod
from test.builders.large_pods import a_large_pod, build_large_pages

PODS = Resource("", "v1", "pods", "Pod")
PAGE_SIZE = 500
RUNS = 3
DecodePage = Callable[[bytes], Any]
DecodeLine = Callable[[bytes], Any]


class Result(msgspec.Struct, frozen=True):
    """What one decoder achieves."""

    pods_per_second: float
    bytes_per_pod: float
    worst_pause_seconds: float
    events_per_second: float
    peak_rss_mib: float


def build_structs() -> tuple[DecodePage, DecodeLine]:
    decoder = ObjectDecoder(PODS, Pod)
    return decoder.decode_page, decoder.decode_event


def build_dicts() -> tuple[DecodePage, DecodeLine]:
    return json.loads, json.loads


def build_models() -> tuple[DecodePage, DecodeLine]:
    """The kubernetes package: text to dict, dict to models, as its list and Watch do."""
    client = importlib.import_module("kubernetes.client").ApiClient()

    def decode_page(body: bytes) -> Any:
        return client.deserialize(body.decode(), "V1PodList", "application/json").items

    def decode_line(line: bytes) -> Any:
        item = json.dumps(json.loads(line)["object"])
        return client.deserialize(item, "V1Pod", "application/json")

    return decode_page, decode_line


DECODERS = {
    "informers, Struct": (build_structs, 5_000),
    "json, dict": (build_dicts, 5_000),
    "kubernetes, models": (build_models, 1_000),
}


def measure(name: str) -> Result:
    build, pods = DECODERS[name]
    decode_page, decode_line = build()
    pages = build_large_pages(pods, PAGE_SIZE)
    decode_page(pages[0])
    gc.collect()
    runs = [measure_list(decode_page, pages) for _ in range(RUNS)]
    seconds, pause = (min(values) for values in zip(*runs, strict=True))
    size = measure_size(decode_page, pages, pods)
    lines = [msgspec.json.encode({"type": "MODIFIED", "object": a_large_pod(number)}) for number in range(pods)]
    events = measure_events(decode_line, lines)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return Result(pods / seconds, size, pause, events, peak)


def measure_list(decode_page: DecodePage, pages: list[bytes]) -> tuple[float, float]:
    """Decode all pages and keep them; return the time, and the longest that another thread then stood still."""
    stop, ready = StopToken(), threading.Event()
    gaps: list[float] = []

    def tick() -> None:
        last = time.perf_counter()
        while not stop.is_set():
            time.sleep(0.001)
            now = time.perf_counter()
            gaps.append(now - last - 0.001)
            last = now
            ready.set()

    ticker = OwnedThread("ticker", tick).start()
    ready.wait()
    gaps.clear()
    begun = time.perf_counter()
    kept = [decode_page(page) for page in pages]
    seconds = time.perf_counter() - begun
    stop.set("measured")
    ticker.join()
    del kept
    return seconds, max(gaps, default=0.0)


def measure_size(decode_page: DecodePage, pages: list[bytes], pods: int) -> float:
    gc.collect()
    tracemalloc.start()
    kept = [decode_page(page) for page in pages]
    gc.collect()
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del kept
    return size / pods


def measure_events(decode_line: DecodeLine, lines: list[bytes]) -> float:
    """Decode a watch's lines while as many objects are kept, as in a cache that is up to date."""
    kept = [decode_line(line) for line in lines]
    begun = time.perf_counter()
    for at, line in enumerate(lines):
        kept[at] = decode_line(line)
    return len(lines) / (time.perf_counter() - begun)


def main() -> None:
    """Print one line a decoder."""
    size = len(msgspec.json.encode(a_large_pod(0)))
    print(f"pods of {size:,} bytes of JSON, in pages of {PAGE_SIZE}")
    print(f"{'decoder':22}{'pods/s':>10}{'bytes/pod':>12}{'worst pause':>14}{'events/s':>12}{'peak RSS':>12}")
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        for name in DECODERS:
            result = pool.apply(measure, (name,))
            print(
                f"{name:22}{result.pods_per_second:10,.0f}{result.bytes_per_pod:12,.0f}"
                f"{1000 * result.worst_pause_seconds:11.1f} ms{result.events_per_second:12,.0f}"
                f"{result.peak_rss_mib:8,.0f} MiB"
            )


if __name__ == "__main__":
    main()
