"""KedaDefaults and ClusterKedaDefaults in the operator: what is known of them, and their statuses.

In: watch events of both kinds and of namespaces. Out: the layers of each namespace, below all manifests there
(`known.py`, then `core/defaults/filling.py`), and objects that are due because their layers have changed.
"""
