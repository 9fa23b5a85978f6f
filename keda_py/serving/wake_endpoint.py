"""The endpoint at which wakers ask for a wake: its path, its methods, and which of its requests have a body.

It is served on the port of the external metrics, behind the same authentication; nothing else of it is about metrics.
`external_metrics/server.py` and `external_metrics/routing.py` ask here which requests are for it,
`operator/standby/rights.py` which replica answers them, `operator/environments/waking/requests.py` answers, and
`waker/wake_calls.py` calls. The chart's ClusterRole of wakers names the path.
"""

from keda_py.serving.api_request import ApiRequest

PATH = "/wake"
METHODS = ("GET", "POST")
"""POST reports a request; GET only keeps the connection, and the review of the waker's token, warm."""


def is_wake(asked: ApiRequest) -> bool:
    """Return whether the request is for this endpoint, by whatever method."""
    return asked.path == PATH


def is_report(asked: ApiRequest) -> bool:
    """Return whether it reports a request that may wake something; no other request of a caller has a body."""
    return is_wake(asked) and asked.method == "POST"
