"""Connection strings of Azure: `Name=value;Name=value`, the value of a key may hold equals signs."""

from collections.abc import Mapping

from keda_py.sdk.scaler import ConfigError


def read_connection_string(text: str, field: str) -> Mapping[str, str]:
    """The values by their names in small letters. Raises ConfigError, which shows none of it."""
    parts = [part for part in text.split(";") if part.strip()]
    pairs = [part.partition("=") for part in parts]
    if not pairs or not all(name.strip() and equals for name, equals, _ in pairs):
        form = "AccountName=...;AccountKey=... or what the portal of Azure shows for the service"
        raise ConfigError(f"{field}: the connection string is blank or malformed: write {form}", field=field)
    return {name.strip().lower(): value.strip() for name, _, value in pairs}
