"""Deletion of namespaces that nothing has used for `deleteAfter`: counts that outlive the process, obstacles, writes.

In: decisions of `../kind.py`, and what `core/environment/decision/deletion.py` decides. Begin with `namespaces.py`.
"""
