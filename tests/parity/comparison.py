"""When two pictures of a case are equal, and where they differ.

What runs by chance is left out: times, the version label, failure counts, and one more ScaledObjectCheckFailed. Of a
message only what stands before its first colon is compared, where the reference quotes it: the rest is ours to word.
"""

from collections.abc import Iterator, Mapping
from typing import Any

Picture = Mapping[str, Any]

STATUS_FIELDS = (
    "externalMetricNames",
    "resourceMetricNames",
    "hpaName",
    "scaleTargetKind",
    "scaleTargetGVKR",
    "originalReplicaCount",
    "triggersTypes",
    "authenticationsTypes",
    "pausedReplicaCount",
    "compositeScalerName",
    "triggersActivity",
)
VERSION_LABEL = "app.kubernetes.io/version"
BY_CHANCE = {"ScaledObjectCheckFailed"}


def differences(recorded: Picture, ours: Picture) -> list[str]:
    """One line for each part that differs; empty when the cases are equal."""
    wanted, found = view(recorded), view(ours)
    found["events"] = sorted(set(found["events"]) - (BY_CHANCE - set(wanted["events"])))
    return [*_unequal("", wanted, found), *_worded_differently(recorded, ours)]


def view(picture: Picture) -> dict[str, Any]:
    """What has to be the same, by name."""
    scaled_object = picture.get("scaledObject") or {}
    status, metadata = scaled_object.get("status") or {}, scaled_object.get("metadata") or {}
    parts = {
        "rejected": bool(picture.get("rejected")),
        "hpa": [_hpa(hpa) for hpa in picture.get("hpa", ())],
        "conditions": {one["type"]: (one.get("status"), one.get("reason")) for one in status.get("conditions", ())},
        "targetReplicas": picture.get("targetReplicas"),
        "events": sorted({reason for _, reason, _ in picture.get("events", ())}),
        "finalizers": metadata.get("finalizers"),
        "labels": metadata.get("labels"),
        "authentications": [_authentication(one) for one in picture.get("authentications") or ()],
    }
    return parts | {name: status.get(name) for name in STATUS_FIELDS}


def _unequal(path: str, wanted: Any, found: Any) -> Iterator[str]:
    """One line for each leaf that differs."""
    match wanted, found:
        case dict(), dict():
            for key in [*wanted, *(key for key in found if key not in wanted)]:
                yield from _unequal(f"{path}.{key}" if path else key, wanted.get(key), found.get(key))
        case list(), list() if len(wanted) == len(found):
            for index, (one, other) in enumerate(zip(wanted, found, strict=True)):
                yield from _unequal(f"{path}[{index}]", one, other)
        case _ if wanted != found:
            yield f"{path}: {wanted!r} != {found!r}"


def _hpa(hpa: Picture) -> dict[str, Any]:
    metadata = hpa["metadata"]
    labels = metadata.get("labels") or {}
    return {
        "name": metadata["name"],
        "labels": {key: value for key, value in labels.items() if key != VERSION_LABEL},
        "annotations": metadata.get("annotations") or {},
        "owner": metadata.get("ownerReferences"),
        "spec": hpa["spec"],
    }


def _authentication(authentication: Picture) -> tuple[Any, ...]:
    return authentication["kind"], authentication["name"], authentication.get("status") or {}


def _worded_differently(recorded: Picture, ours: Picture) -> Iterator[str]:
    """Condition messages and Event notes: each of ours begins like the recorded one of the same type or reason."""
    said = {one["type"]: one.get("message", "") for one in _conditions(ours)}
    for one in _conditions(recorded):
        wanted, found = one.get("message", ""), said.get(one["type"], "")
        if _stem(wanted) != _stem(found):
            yield f"message of {one['type']}: {wanted!r} != {found!r}"
    notes = {(kind, reason, _stem(note)) for kind, reason, note in ours.get("events", ())}
    for kind, reason, note in recorded.get("events", ()):
        if _is_quoted(note) and (kind, reason, _stem(note)) not in notes:
            yield f"event {kind} {reason} {note!r} is missing"
    if recorded.get("rejected") and ours.get("rejected") and _refusal(recorded) not in ours["rejected"]:
        yield f"rejected: {recorded['rejected']!r} != {ours['rejected']!r}"


def _conditions(picture: Picture) -> list[Picture]:
    status = (picture.get("scaledObject") or {}).get("status") or {}
    return list(status.get("conditions", ()))


def _stem(message: str) -> str:
    return message.partition(":")[0]


def _is_quoted(note: str) -> bool:
    """An Event whose note begins with an error of a scaler or of an HTTP library is worded as we like."""
    return not note.startswith(("Get ", "error ", "no scaler"))


def _refusal(picture: Picture) -> str:
    """What a webhook or the API server said, without kubectl's words around it and the position in a formula."""
    text: str = picture["rejected"]
    for lead in ("denied the request: ", "is invalid: "):
        text = text.rpartition(lead)[2]
    return text.partition("\n")[0]
