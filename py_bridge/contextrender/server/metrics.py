"""What the server counts, for /metrics. With several workers every process adds to the same figures."""

import os
import tempfile
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""prometheus_client looks here when it is imported."""

REQUESTS = Histogram(
    "contextrender_request_seconds",
    "Requests by endpoint and status class: from the first byte in to the last byte out",
    ("endpoint", "status"),
    buckets=(0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60),
)
RENDERS = Counter("contextrender_renders_total", "Renders")
HISTORY = Counter("contextrender_history_tokens_total", "History tokens of all renders: in full, and sent", ("kind",))
PROVIDER = Counter(
    "contextrender_provider_tokens_total",
    "Tokens that providers counted: uncached, cached (read from the prompt cache), written (to it), output",
    ("kind",),
)
LOADS = Counter("contextrender_session_loads_total", "Sessions read from the store as a whole")
CATCH_UPS = Counter("contextrender_session_catch_ups_total", "Resident sessions that took in another process's events")
CONFLICTS = Counter("contextrender_conflicts_total", "Transactions that met another writer and were tried again")
RESIDENTS = Gauge("contextrender_resident_sessions", "Sessions in memory", multiprocess_mode="livesum")
RESIDENT_BYTES = Gauge(
    "contextrender_resident_bytes", "Memory that sessions are counted at", multiprocess_mode="livesum"
)


def share_between_processes() -> None:
    """Let the processes that this one starts count together. To be called before any of them is started."""
    os.environ[FOLDER] = tempfile.mkdtemp(prefix="contextrender-metrics-")


def text() -> bytes:
    """All figures in Prometheus' text format."""
    if not os.environ.get(FOLDER):
        return generate_latest()
    registry = CollectorRegistry()
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return generate_latest(registry)


def forget_process() -> None:
    """This process ends: its sessions are no longer in memory."""
    if (folder := os.environ.get(FOLDER)) and Path(folder).is_dir():
        mark_process_dead(os.getpid())  # type: ignore[no-untyped-call]
