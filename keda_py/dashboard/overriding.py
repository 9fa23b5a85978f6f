"""The buttons: an Override for a while, with a reason, created with the rights of the user. Pure but for its name."""

from collections.abc import Mapping
from secrets import token_hex
from typing import Any

from keda_py.apis.foreign import text_at
from keda_py.errors import ConfigError
from keda_py.kube.resources import safe_segment

STATES = ("Awake", "Asleep")
KINDS = ("Environment", "ScaledObject")
MOST_HOURS = 72
MOST_REASON = 300


def override_of(asked: Any) -> dict[str, Any]:
    """The manifest of what the page asked for. Raises ConfigError that says which field is wrong."""
    if not isinstance(asked, Mapping):
        raise ConfigError("the question is not a JSON object")
    texts = {field: text_at(asked, field).strip() for field in ("namespace", "kind", "name", "state", "reason")}
    if wrong := [field for field, text in texts.items() if not text]:
        raise ConfigError(f"{wrong[0]}: is missing")
    if texts["state"] not in STATES or texts["kind"] not in KINDS:
        raise ConfigError(f"state is {' or '.join(STATES)}, kind is {' or '.join(KINDS)}")
    hours = asked.get("hours")
    if not isinstance(hours, int) or isinstance(hours, bool) or not 1 <= hours <= MOST_HOURS:
        raise ConfigError(f"hours: is not a whole number from 1 to {MOST_HOURS}")
    if len(texts["reason"]) > MOST_REASON:
        raise ConfigError(f"reason: is longer than {MOST_REASON} characters")
    namespace, name = (safe_segment(field, texts[field]) for field in ("namespace", "name"))
    own = f"{texts['state'].lower()}-{name[:200].rstrip('.-')}-{token_hex(3)}"
    spec = {
        "target": {"kind": texts["kind"], "name": name},
        "state": texts["state"],
        "for": f"{hours}h",
        "reason": texts["reason"],
    }
    metadata = {"namespace": namespace, "name": own}
    return {"apiVersion": "keda-py.dev/v1alpha1", "kind": "Override", "metadata": metadata, "spec": spec}
