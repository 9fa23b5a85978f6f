"""Deletion of namespaces that nothing has used for `deleteAfter`: counts that outlive the process, obstacles, writes.

In: decisions of `../kind.py`; what is decided is in `core/environment/deletion.py`. Begin with `namespaces.py`.
"""
