"""The HTTP API: requests become reads, writes, deletions and watches of the store.

In: requests (`server.py`), routed by `routes.py`. Out: answers in the words of a real API server.
"""
