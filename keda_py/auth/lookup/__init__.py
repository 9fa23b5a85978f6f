"""Lookups of one resolution of a trigger, with the objects read, so that their changes reach the trigger.

In: caches, named objects, requests. Out: objects and texts for `auth/sources/`, and dependencies for `readings/`.
"""
