"""A user and a password, as HTTP's Basic has them."""

import base64

from pydantic import SecretStr


def basic(username: SecretStr, password: SecretStr) -> dict[str, str]:
    """The header Authorization."""
    pair = f"{username.get_secret_value()}:{password.get_secret_value()}"
    return {"Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}
