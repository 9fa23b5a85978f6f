"""The four kinds of patches: JSON, merge, strategic merge, server-side apply.

In: a stored object and a patch. Out: the wanted object, for `store/preparation.py`.
"""
