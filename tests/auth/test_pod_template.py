"""What the caches keep of a pod template costs what its text does: thousands of workloads are kept."""

import tracemalloc

from keda_py.auth.lookup.pod_template import keep_pod
from tests.builders import deployment

WORKLOADS = 500
BYTES = 300
"""Its text has about 80."""


def test_a_kept_template_takes_no_more_room_than_its_text() -> None:
    live = deployment()
    tracemalloc.start(1)
    try:
        before, _ = tracemalloc.get_traced_memory()
        kept = [keep_pod(live) for _ in range(WORKLOADS)]
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept[0] == kept[-1] != b""
    assert (after - before) / WORKLOADS < BYTES
