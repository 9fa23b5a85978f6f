"""What the caches keep of a pod template costs what its text does: thousands of workloads are kept."""

from keda_py.auth.lookup.pod_template import keep_pod
from tests.builders import deployment
from tests.costs import bytes_kept_by

WORKLOADS = 500
BYTES = 300
"""Its text has about 80."""


def test_a_kept_template_takes_no_more_room_than_its_text() -> None:
    live = deployment()
    assert keep_pod(live) == keep_pod(live) != b""
    assert bytes_kept_by(lambda: [keep_pod(live) for _ in range(WORKLOADS)]) / WORKLOADS < BYTES
