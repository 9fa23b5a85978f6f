"""Answers of a NATS server's monitoring endpoints: consumers of an account, and the servers of the cluster."""

from collections.abc import Sequence
from typing import TypeAlias

from scalers.shared.answers.json_fields import Object, child, children, json_object, string, whole

Consumer: TypeAlias = tuple[int, str, list[str]]
"""Messages that wait or are not acknowledged, the server that leads the consumer, and the subjects that it takes."""
# A consumer with more subjects, or longer ones, is polled alone.
_MOST_SUBJECTS, _LONGEST_SUBJECT = 32, 256


def read_consumers(
    text: bytes, account: str, account_id: str, wanted: Sequence[Sequence[str]]
) -> tuple[bool, list[Consumer | None]]:
    """Return whether it is a cluster, and each wanted (stream, consumer), None if missing.

    May run in another process. Raises ScalerError.
    """
    document = json_object(text)
    found: dict[tuple[str, str], tuple[Object, Object]] = {}
    for one in children(document, "account_details"):
        if string(one, "name") == account or string(one, "id") == account_id:
            for stream in children(one, "stream_detail"):
                name = string(stream, "name")
                for consumer in children(stream, "consumer_detail"):
                    found[name, string(consumer, "name")] = stream, consumer
    clustered = whole(child(document, "meta_cluster"), "cluster_size") > 1
    pairs = [found.get((stream, consumer)) for stream, consumer in wanted]
    return clustered, [pair and _consumer(*pair) for pair in pairs]


def read_client_port(text: bytes) -> int:
    """Read the port for clients. May run in another process. Raises ScalerError."""
    return whole(json_object(text), "port")


def read_server(text: bytes) -> tuple[str, list[str], list[str]]:
    """Name, addresses for clients and of the cluster. May run in another process. Raises ScalerError."""
    document = json_object(text)
    urls = child(document, "cluster").get("urls")
    return string(document, "server_name"), _texts(document.get("connect_urls")), _texts(urls)


def _consumer(stream: Object, consumer: Object) -> Consumer:
    waiting = whole(consumer, "num_pending") + whole(consumer, "num_ack_pending")
    return waiting, string(child(consumer, "cluster"), "leader"), _subjects(child(stream, "config"), consumer)


def _subjects(config: Object, consumer: Object) -> list[str]:
    """Subjects of the consumer, else of its stream; the consumer's do not count where the stream renames subjects."""
    own = child(consumer, "config")
    filters = (
        [] if config.get("subject_transform") else [string(own, "filter_subject"), *_texts(own.get("filter_subjects"))]
    )
    subjects = [one for one in filters if one] or _texts(config.get("subjects"))
    good = all(one.isprintable() and " " not in one and 0 < len(one) <= _LONGEST_SUBJECT for one in subjects)
    return subjects if good and len(subjects) <= _MOST_SUBJECTS else []


def _texts(value: object) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []
