"""Sources of parameters: one source of a TriggerAuthentication per file.

In: a source as its author wrote it, and the lookup of one resolution. Out: parameters for `auth/cluster_resolver.py`;
`all_sources.py` reads them in KEDA's order.
"""
