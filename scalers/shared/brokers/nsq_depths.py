"""Answers of nsqlookupd and nsqd about a topic."""

from scalers.shared.answers.json_fields import Object, children, json_object, string, whole


def read_producers(text: bytes) -> list[str]:
    """`host:port` of each nsqd that has the topic. May run in another process. Raises ScalerError."""
    producers = children(json_object(text), "producers")
    return [f"{_host(producer)}:{whole(producer, 'http_port')}" for producer in producers]


def read_depth(text: bytes, topic: str, channel: str) -> int:
    """Messages of the channel; of the topic where no consumer has made the channel yet; 0 while it is paused."""
    depth = 0
    for one in children(json_object(text), "topics"):
        if string(one, "topic_name") != topic:
            continue
        found = next((c for c in children(one, "channels") if string(c, "channel_name") == channel), None)
        if found is None:
            depth += whole(one, "depth")
        elif not found.get("paused"):
            depth += whole(found, "depth")
    return depth


def _host(producer: Object) -> str:
    host = string(producer, "broadcast_address")
    return f"[{host}]" if ":" in host else host
