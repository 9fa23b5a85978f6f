"""A user and a password, as HTTP's Basic has them."""

import base64

from pydantic import SecretStr


def basic(username: str | SecretStr, password: str | SecretStr) -> dict[str, str]:
    """Return the header Authorization; secrets are unwrapped here, to be sent at once."""
    pair = ":".join(one.get_secret_value() if isinstance(one, SecretStr) else one for one in (username, password))
    return {"Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}
