"""The zone in which an object's times are told."""

from collections.abc import Mapping
from typing import Any
from zoneinfo import ZoneInfo

from keda_py.apis.foreign import maps_at, text_at
from keda_py.core.cron.zones import load_zone
from keda_py.errors import ConfigError

CRON = "cron"


def zone_of(manifest: Mapping[str, Any] | None) -> ZoneInfo | None:
    """The zone in which the object's first window is written; None: it has none, or UTC."""
    for trigger in maps_at(manifest, "spec", "triggers"):
        if trigger.get("type") == CRON:
            try:
                zone = load_zone(text_at(trigger, "metadata", "timezone"))
            except ConfigError:
                continue
            return None if zone.key in ("UTC", "Etc/UTC") else zone
    return None
