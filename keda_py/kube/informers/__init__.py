"""Local copies of the API server's objects: listed, watched, indexed, trimmed.

In: lists and watches of `kube/client.py`, believed as far as `received.py` does. Out: caches that controllers read, and
events for who subscribes; `named_watches.py` follows single objects by name.
"""
