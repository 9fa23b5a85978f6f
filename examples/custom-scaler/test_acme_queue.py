"""The scaler and a server of the test's own: no cluster and no operator. `pytest examples/custom-scaler`."""

from asyncio import run

from acme_queue.scaler import AcmeQueueScaler

from keda_py.testing import json_server, read_once


def test_the_jobs_that_wait_are_counted() -> None:
    """The value is the server's count, and the token was shown."""
    with json_server({"/queues/jobs": {"waiting": 12}}) as server:
        reading = run(read_once(AcmeQueueScaler, {"url": server.url, "queue": "jobs"}, auth={"token": "sesame"}))
    assert reading.value == 12
    assert server.asked[0][1]["Authorization"] == "Bearer sesame"
