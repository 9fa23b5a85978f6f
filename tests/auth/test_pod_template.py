"""A cached pod template takes the memory of its text, because thousands of workloads are cached."""

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
