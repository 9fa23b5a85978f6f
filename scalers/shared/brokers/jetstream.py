"""What the monitoring endpoints of a NATS server say: consumers of an account, and the servers of the cluster."""

from collections.abc import Sequence
from typing import TypeAlias

from scalers.shared.answers.json_fields import Object, child, children, json_object, string, whole

Consumer: TypeAlias = tuple[int, str]
"""Messages that wait or are not acknowledged, and the server that leads the consumer."""


def read_consumers(
    text: bytes, account: str, account_id: str, wanted: Sequence[Sequence[str]]
) -> tuple[bool, list[Consumer | None]]:
    """Whether it is a cluster, and each wanted (stream, consumer), None if missing.

    May run in another process. Raises ScalerError.
    """
    document = json_object(text)
    found: dict[tuple[str, str], Consumer] = {}
    for one in children(document, "account_details"):
        if string(one, "name") == account or string(one, "id") == account_id:
            for stream in children(one, "stream_detail"):
                found.update({(string(stream, "name"), name): value for name, value in _consumers(stream)})
    clustered = whole(child(document, "meta_cluster"), "cluster_size") > 1
    return clustered, [found.get((stream, consumer)) for stream, consumer in wanted]


def read_server(text: bytes) -> tuple[str, list[str], list[str]]:
    """Name, addresses for clients and of the cluster. May run in another process. Raises ScalerError."""
    document = json_object(text)
    urls = child(document, "cluster").get("urls")
    return string(document, "server_name"), _texts(document.get("connect_urls")), _texts(urls)


def _consumers(stream: Object) -> list[tuple[str, Consumer]]:
    return [
        (
            string(consumer, "name"),
            (
                whole(consumer, "num_pending") + whole(consumer, "num_ack_pending"),
                string(child(consumer, "cluster"), "leader"),
            ),
        )
        for consumer in children(stream, "consumer_detail")
    ]


def _texts(value: object) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []
