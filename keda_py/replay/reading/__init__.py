"""Plans of manifests, which come from files or a cluster, with the calendars that they name.

In: bodies, or a client. Out: plans, and sentences about what cannot be read. Next: `replay/namespaces.py`.
"""
