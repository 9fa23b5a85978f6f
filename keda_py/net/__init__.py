"""Where credentials may go, and what is kept under them. The rules of this room are pure: no I/O here.

In come addresses and credentials, from `auth/`, from scalers and from the HTTP client; out go keys to cache under
(`credential_keys.py`), a yes or a ConfigError for the operator's own identity (`operator_identity.py`), and what a
request says of redirects (`redirect_rule.py`). Next: `http/redirects.py`, which applies the last one.
"""
