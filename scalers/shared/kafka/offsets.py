"""Answers of brokers, combined; pure. Errors are values here, so that each fails its own questions only."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from aiokafka.errors import for_code

from keda_py.sdk.scaler import ScalerError
from scalers.shared.kafka.lag import Offsets, Partition

Address: TypeAlias = tuple[str, int]
Known: TypeAlias = "dict[Partition, int | ScalerError]"
Answer: TypeAlias = "Mapping[Partition, Offsets] | ScalerError"


@dataclass(frozen=True, slots=True)
class GroupQuestion:
    """A consumer group and the topics to look at; without any, those for which it has committed."""

    group: str
    topics: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Layout:
    """Partitions of each topic, or why there are none; and the broker that leads each."""

    topics: Mapping[str, "Sequence[Partition] | ScalerError"]
    leaders: Mapping[Partition, Address | None]

    def partitions(self, topics: Iterable[str]) -> list[Partition]:
        """List all partitions of the topics. Raises ScalerError for a missing topic."""
        found: list[Partition] = []
        for topic in topics:
            partitions = self.topics.get(topic, ScalerError(f'kafka: no metadata of topic "{topic}"'))
            if isinstance(partitions, ScalerError):
                raise partitions
            found += partitions
        return found


@dataclass(frozen=True, slots=True)
class OffsetQuestions:
    """Questions; `known` are the committed offsets of the groups that are asked about without topics."""

    questions: Collection[GroupQuestion]
    known: "Mapping[str, Known | ScalerError]"

    def partitions(self, layout: Layout) -> "dict[GroupQuestion, list[Partition] | ScalerError]":
        """List the partitions that each question is about."""
        return {one: _partitions_of(one, self.known.get(one.group), layout) for one in self.questions}


@dataclass(frozen=True, slots=True)
class OffsetNumbers:
    """Committed offsets for each question, and where partitions end."""

    committed: "Mapping[GroupQuestion, Known | ScalerError]"
    ends: Known


def _partitions_of(
    question: GroupQuestion, known: "Known | ScalerError | None", layout: Layout
) -> "list[Partition] | ScalerError":
    try:
        if question.topics:
            return layout.partitions(question.topics)
        if isinstance(known, ScalerError):
            raise known
        topics = dict.fromkeys(topic for topic, _ in known or ())
        if not topics:
            message = "has committed no offsets, so its topics are not known: name them in topic"
            raise ScalerError(f'kafka, group "{question.group}": {message}')
        return layout.partitions(topics)
    except ScalerError as error:
        return error


def answer_to(partitions: "list[Partition] | ScalerError", committed: "Known | ScalerError", ends: Known) -> Answer:
    """Both offsets of each partition; the first that is not known makes an error of the whole."""
    if isinstance(partitions, ScalerError):
        return partitions
    if isinstance(committed, ScalerError):
        return committed
    offsets = {}
    for partition in partitions:
        missing = ScalerError(f"kafka: no answer for partition {partition[1]} of {partition[0]}")
        position, end = committed.get(partition, -1), ends.get(partition, missing)
        if isinstance(position, ScalerError):
            return position
        if isinstance(end, ScalerError):
            return end
        offsets[partition] = Offsets(committed=position, end=end)
    return offsets


def by_topic(partitions: Iterable[Partition]) -> dict[str, list[int]]:
    """Group by topic, as requests need it."""
    found: defaultdict[str, list[int]] = defaultdict(list)
    for topic, number in sorted(partitions):
        found[topic].append(number)
    return dict(found)


def layout_of(answer: Mapping[str, Any]) -> Layout:
    """Read the layout from the answer to a metadata request."""
    brokers = {one["node_id"]: (one["host"], one["port"]) for one in answer["brokers"] or ()}
    topics: dict[str, Sequence[Partition] | ScalerError] = {}
    leaders: dict[Partition, Address | None] = {}
    for topic in answer["topics"] or ():
        name = str(topic["topic"])
        if code := topic["error_code"]:
            topics[name] = ScalerError(f'kafka, topic "{name}": {for_code(code).__name__}')
            continue
        partitions = {(name, one["partition"]): brokers.get(one["leader"]) for one in topic["partitions"] or ()}
        topics[name] = list(partitions)
        leaders |= partitions
    return Layout(topics, leaders)


def numbers_in(answer: Mapping[str, Any], field: str) -> Known:
    """A number for each partition of an answer, or the reason why it is missing."""
    found: Known = {}
    for topic in answer["topics"] or ():
        for one in topic["partitions"] or ():
            what = f"kafka: partition {one['partition']} of {topic['topic']}"
            code = one["error_code"]
            found[str(topic["topic"]), one["partition"]] = (
                ScalerError(f"{what}: {for_code(code).__name__}") if code else one[field]
            )
    return found
