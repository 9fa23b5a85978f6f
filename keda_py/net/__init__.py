"""The network below every client: names become numbers, and credentials go only where they belong.

In come the name of a source (`names.py`), addresses and credentials, from `auth/`, from scalers and from the HTTP
client; out go numbers, keys to cache under (`credential_keys.py`), a yes or a ConfigError for the operator's own
identity (`operator_identity.py`), and what a request says of redirects (`redirect_rule.py`). Keys and certificates of
tenants are read here before anything computes with them (`keys/private_keys.py`, by `keys/pem.py`, `keys/der.py`,
`keys/sealed_keys.py`). All but the names is pure. Next: `net/http/transport.py` and `net/http/redirects.py`, which
apply them, and `keda_py/net/tls.py`.
"""
