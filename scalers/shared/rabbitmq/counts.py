"""Answers of the management interface about queues, and the one number that a mode makes of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from keda_py.errors import ScalerError
from scalers.shared.answers.json_fields import Object, child, children, json_object, number, string, whole

Mode = Literal[
    "QueueLength", "MessageRate", "DeliverGetRate", "PublishedToDeliveredRatio", "ExpectedQueueConsumptionTime"
]

Row: TypeAlias = tuple[str, int, int, float, float]
"""Name, messages, those of them that are ready, messages published and delivered per second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Counts and rates of one queue, or of several combined."""

    messages: int
    published: float = 0.0
    delivered: float = 0.0

    def measured(self, mode: Mode, activation: float) -> tuple[float, bool]:
        """Value and activity; a rate of 0 deliveries makes ratio and time unknown, which counts as `activation`.

        As in KEDA from 2.21 on, an empty queue takes no time: before, it was active until something was delivered.
        """
        messages, published, delivered = self.messages, self.published, self.delivered
        match mode:
            case "QueueLength":
                return float(messages), messages > activation
            case "MessageRate":
                return published, published > activation or messages > activation
            case "DeliverGetRate":
                return delivered, delivered > activation
            case "PublishedToDeliveredRatio":
                if not delivered:
                    return (activation, True) if published else (0.0, False)
                ratio = published / delivered
                return ratio, ratio > activation
            case "ExpectedQueueConsumptionTime":
                if not messages:
                    return 0.0, activation < 0
                if not delivered:
                    return activation, True
                eta = (published - delivered) / delivered + messages / delivered
                return eta, eta > activation


def read_queue(text: bytes) -> Row:
    """The answer about one queue. May run in another process. Raises ScalerError."""
    return _row(json_object(text))


def read_page(text: bytes) -> list[Row]:
    """The answer about the queues that match; all of them. May run in another process. Raises ScalerError."""
    page = json_object(text)
    if whole(page, "page_count") > 1:
        raise ScalerError("regex matches more queues than can be recovered at once: raise pageSize, 500 at most")
    return [_row(queue) for queue in children(page, "items")]


def counts_of(row: Row, *, ready_only: bool) -> Counts:
    """`ready_only`: messages that no consumer holds."""
    _, messages, ready, published, delivered = row
    return Counts(messages=ready if ready_only else messages, published=published, delivered=delivered)


def combined(queues: Sequence[Counts], operation: str) -> Counts:
    """sum, avg (of whole messages) or max; of no queue all are 0. Raises ScalerError for another operation."""
    messages, published, delivered = (
        [queue.messages for queue in queues],
        [queue.published for queue in queues],
        [queue.delivered for queue in queues],
    )
    match operation:
        case "sum":
            return Counts(messages=sum(messages), published=sum(published), delivered=sum(delivered))
        case "avg":
            size = len(queues) or 1
            total = combined(queues, "sum")
            # Cut towards zero, as Go divides whole numbers.
            average = abs(total.messages) // size * (1 if total.messages > 0 else -1)
            return Counts(messages=average, published=total.published / size, delivered=total.delivered / size)
        case "max":
            return Counts(
                messages=max(messages, default=0),
                published=max(published, default=0.0),
                delivered=max(delivered, default=0.0),
            )
    raise ScalerError(f"operation mode {operation} must be one of sum, avg, max")


def _row(queue: Object) -> Row:
    """A queue that has just been declared has no counts yet, which are 0; an answer about none is an error."""
    if "name" not in queue and "messages" not in queue:
        raise ScalerError("the answer tells of no queue: is the address that of the management interface?")
    stats = child(queue, "message_stats")
    published, delivered = (number(child(stats, f"{name}_details"), "rate") for name in ("publish", "deliver_get"))
    return string(queue, "name"), whole(queue, "messages"), whole(queue, "messages_ready"), published, delivered
