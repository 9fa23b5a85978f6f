"""Libraries that only some trigger types need: an optional extra each, imported when the first trigger opens."""

from collections.abc import Iterator
from contextlib import contextmanager

from keda_py.sdk.scaler import ConfigError


@contextmanager
def needs_extra(extra: str) -> Iterator[None]:
    """Wrap late imports. Raises ConfigError that says what to install."""
    try:
        yield
    except ImportError as error:
        missing = error.name or "a library"
        raise ConfigError(f"{missing} is not installed: pip install 'keda-py[{extra}]'", field="type") from None
