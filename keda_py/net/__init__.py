"""Network below every client: name resolution, TLS, and rules for where credentials may go.

In: names of sources (`names.py`), addresses and credentials, from `auth/`, scalers and the HTTP client. Out: IP
addresses, cache keys (`credential_keys.py`), a yes or a ConfigError for the operator's own identity
(`operator_identity.py`), and a request's rule for redirects (`redirect_rule.py`). Tenants' keys and certificates are
checked here before anything computes with them (`keys/`). Everything but name resolution is pure. Next:
`net/http/transport.py` and `net/http/redirects.py`, which apply these rules, and `keda_py/net/tls.py`.
"""
