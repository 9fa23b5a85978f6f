"""The validating webhook as the operator sees it: a port, a process that answers there, and what it has to know.

In: reviews, judged in the process of `webhook/`. Out: verdicts, counted and told as Events (`reviews.py`); the process
asks `related_objects.py` for an object's namespace.
"""
