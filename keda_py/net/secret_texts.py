"""Texts that may be secrets, wrapped in SecretStr from the moment they leave a Secret, a file or a vault.

What is read for a trigger (`auth/`) stays wrapped until `sdk/metadata/model.py` reads it into a field, or until it is
sent (`cloud/http_calls.py`): a repr, a log record or a traceback of any value between shows stars. Rule: the code that
needs the text calls `get_secret_value()` in one place and does not keep it.
"""

from collections.abc import Mapping

from pydantic import Secret, SecretStr

Secrets = Mapping[str, SecretStr]
"""Secret texts by the name of a variable or parameter."""

SecretData = Secret[Mapping[str, object]]
"""A document that contains secrets."""

EMPTY = SecretStr("")
"""A missing text; false, like every empty one."""


def as_secrets(texts: Mapping[str, str]) -> dict[str, SecretStr]:
    """Wrap texts."""
    return {name: SecretStr(text) for name, text in texts.items()}


def plain(texts: Mapping[str, str | SecretStr]) -> dict[str, str]:
    """Unwrap texts, immediately before they are sent."""
    return {name: text.get_secret_value() if isinstance(text, SecretStr) else text for name, text in texts.items()}
