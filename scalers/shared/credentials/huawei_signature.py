"""Questions signed by a key pair of Huawei Cloud (SDK-HMAC-SHA256)."""

import hmac
from datetime import datetime
from hashlib import sha256

import httpx
from pydantic import SecretStr

_ALGORITHM = "SDK-HMAC-SHA256"


def huawei_headers(url: str, body: bytes, key: SecretStr, secret: SecretStr, now: datetime) -> dict[str, str]:
    """The headers of a POST of JSON to an address without a query."""
    address, date = httpx.URL(url), now.strftime("%Y%m%dT%H%M%SZ")
    signed = {"content-type": "application/json", "host": address.netloc.decode(), "x-sdk-date": date}
    names = ";".join(signed)
    lines = "".join(f"{name}:{value}\n" for name, value in signed.items())
    path = address.raw_path.decode().rstrip("/") + "/"
    request = f"POST\n{path}\n\n{lines}\n{names}\n{sha256(body).hexdigest()}"
    text = f"{_ALGORITHM}\n{date}\n{sha256(request.encode()).hexdigest()}"
    signature = hmac.new(secret.get_secret_value().encode(), text.encode(), sha256).hexdigest()
    proof = f"{_ALGORITHM} Access={key.get_secret_value()}, SignedHeaders={names}, Signature={signature}"
    return {"Content-Type": "application/json", "X-Sdk-Date": date, "Authorization": proof}
