"""The operator's side of the validating webhook: its port, the process that judges there, and the state that it needs.

In: reviews, judged in the process of `webhook/`. Out: verdicts, counted and recorded as Events (`reviews.py`); the
process asks `related_objects.py` for the neighbours of an object.
"""
