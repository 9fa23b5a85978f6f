"""What one resolution of a trigger reads, and which objects it was made of, so that their changes reach it.

In: caches, named objects, requests. Out: objects and texts for `auth/sources/`, and dependencies for `readings/`.
"""
