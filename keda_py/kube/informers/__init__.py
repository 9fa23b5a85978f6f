"""Informers: local copies of the API server's objects, listed, watched, indexed and trimmed.

In: lists and watches of `kube/client.py`, checked by `response_checks.py`. Out: caches that controllers read, and
change notifications for subscribers; `named_watches.py` follows single objects by name.
"""
