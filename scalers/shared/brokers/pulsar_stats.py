"""The answer of Pulsar's admin interface to a question for the statistics of a topic."""

from keda_py.errors import ScalerError
from scalers.shared.answers.json_fields import child, json_object, whole_or_none


def backlog_of(text: bytes, subscription: str) -> int | None:
    """Messages that a subscription has not acknowledged, None where the answer leaves them out. Raises ScalerError."""
    subscriptions = child(json_object(text), "subscriptions")
    if subscription not in subscriptions:
        raise ScalerError(f"have not subscription found! {subscription}")
    return whole_or_none(child(subscriptions, subscription), "msgBacklog")
