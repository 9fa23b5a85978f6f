"""The objects, their history, and the rules that every writer obeys.

In: prepared objects (`preparation.py`). Out: versions, and events for watchers and controllers.
"""
