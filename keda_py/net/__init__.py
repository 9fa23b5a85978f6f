"""Where credentials may go, and what is kept under them. The rules of this room are pure: no I/O here.

In come credentials, from `auth/` and from scalers, and what a request says of redirects (`redirect_rule.py`); out go
keys to cache under (`credential_keys.py`). Next: `http/redirects.py`, which applies the redirect rules.
"""
