"""The four ways to patch an object: JSON, merge, strategic merge, server-side apply.

In: a stored object and a patch. Out: the object as it should be, for `store/preparation.py`.
"""
