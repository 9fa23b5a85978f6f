"""Overrides of the page's buttons: for a while, with a reason, with the user's rights. Pure but for the random name."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from secrets import token_hex
from typing import Any

from keda_py.apis.foreign import text_at
from keda_py.core.values.durations import parse_time
from keda_py.core.values.times import write_time
from keda_py.errors import ConfigError
from keda_py.kube.resources import safe_segment

FIELDS = ("namespace", "kind", "name", "state", "until", "reason")
STATES = ("Awake", "Asleep")
KINDS = ("Environment", "ScaledObject")
MOST = timedelta(days=31)
MOST_REASON = 300


def override_of(asked: Any, now: datetime) -> dict[str, Any]:
    """Build the manifest of a request of the page. Raises ConfigError that says which field is wrong."""
    if not isinstance(asked, Mapping):
        raise ConfigError("the question is not a JSON object")
    texts = {field: text_at(asked, field).strip() for field in FIELDS}
    if wrong := [field for field, text in texts.items() if not text]:
        raise ConfigError(f"{wrong[0]}: is missing")
    if texts["state"] not in STATES or texts["kind"] not in KINDS:
        raise ConfigError(f"state is {' or '.join(STATES)}, kind is {' or '.join(KINDS)}")
    until = parse_time(texts["until"], field="until")
    if not now < until <= now + MOST:
        raise ConfigError(f"until: {write_time(until)} is not within the next {MOST.days} days; choose a later time")
    if len(texts["reason"]) > MOST_REASON:
        raise ConfigError(f"reason: is longer than {MOST_REASON} characters")
    namespace, name = (safe_segment(field, texts[field]) for field in ("namespace", "name"))
    own = f"{texts['state'].lower()}-{name[:200].rstrip('.-')}-{token_hex(3)}"
    spec = {
        "target": {"kind": texts["kind"], "name": name},
        "state": texts["state"],
        "until": write_time(until),
        "reason": texts["reason"],
    }
    metadata = {"namespace": namespace, "name": own}
    return {"apiVersion": "keda-py.dev/v1alpha1", "kind": "Override", "metadata": metadata, "spec": spec}
