"""The network below every client: names become numbers, and credentials go only where they belong.

In come the name of a source (`names.py`), credentials, from `auth/` and from scalers, and what a request says of
redirects (`redirect_rule.py`, pure); out go keys to cache under (`credential_keys.py`, pure). Next:
`http/transport.py` and `http/redirects.py`, which apply them.
"""
