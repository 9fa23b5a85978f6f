"""The flag --bearer-token-file of commands that ask a Prometheus."""

from pathlib import Path

from keda_py.errors import ConfigError


def bearer_headers(path: str) -> dict[str, str]:
    """What goes with each question; nothing without a file. Raises ConfigError for one that cannot be read."""
    if not path:
        return {}
    try:
        token = Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"--bearer-token-file: {path} cannot be read: {error}") from None
    return {"Authorization": f"Bearer {token}"}
