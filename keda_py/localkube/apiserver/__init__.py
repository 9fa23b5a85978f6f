"""The HTTP API: from a request to what is read, written or watched.

In: requests (`server.py`), routed by `routes.py`. Out: answers as a real API server words them.
"""
