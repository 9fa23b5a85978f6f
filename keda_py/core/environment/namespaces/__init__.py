"""One policy for many namespaces: which of them a ClusterEnvironment covers, and what is to be done in each. Pure.

In: ClusterEnvironments, namespaces and their Environments. Out: the write that a namespace needs (`coverage.py`), the
turn of an Environment by `order` (`order.py`), the status (`report.py`). Next: `operator/cluster_environments/`.
"""
