"""The answer of Pulsar's admin interface to a question for the statistics of a topic."""

from keda_py.errors import ScalerError
from scalers.shared.answers.counts import count_in, inner, json_object


def backlog_of(text: bytes, subscription: str) -> int | None:
    """Messages that a subscription has not acknowledged, None where the answer leaves them out. Raises ScalerError."""
    subscriptions = inner(json_object(text), "subscriptions")
    if subscription not in subscriptions:
        raise ScalerError(f"have not subscription found! {subscription}")
    return count_in(inner(subscriptions, subscription), "msgBacklog")
