"""`keda-py migrate check`: what would be different if keda-py took over from an installed KEDA.

installation.py (what there is: a cluster, read only, or files) -> check.py (the table of contents) -> deployments.py,
cluster.py, objects.py (one kind of question each) -> findings, printed by `keda_py/cli/migrate.py`. Nothing is written.
"""
