"""The objects, their history, and the rules that every writer obeys.

In: objects fit to be stored (`preparation.py`). Out: versions, and events for watchers and controllers.
"""
