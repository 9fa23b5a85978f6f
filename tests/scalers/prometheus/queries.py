"""Queries and answers of a Prometheus, and a private key for tokens."""

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

VECTOR = '{"status":"success","data":{"resultType":"vector","result":[%s]}}'


def ask(url: str, query: str = "up", **metadata: str) -> dict[str, str]:
    return {"serverAddress": url, "query": query, "threshold": "5", **metadata}


def rsa_key() -> str:
    private = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    return private.private_bytes(encoding, form, serialization.NoEncryption()).decode()
