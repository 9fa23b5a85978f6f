"""What is asked of a Prometheus, what it answers, and a key for a token to ask with."""

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

VECTOR = '{"status":"success","data":{"resultType":"vector","result":[%s]}}'


def ask(url: str, query: str = "up", **metadata: str) -> dict[str, str]:
    return {"serverAddress": url, "query": query, "threshold": "5", **metadata}


def rsa_key() -> str:
    private = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    return private.private_bytes(encoding, form, serialization.NoEncryption()).decode()
