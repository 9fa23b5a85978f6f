"""YAML that others wrote, read within bounds: the guard that `keda-py validate` and the scalers share.

In: any text. Out: events no deeper than allowed, with scalars of the types that Kubernetes knows (`yaml_guard.py`), or
one plain value without anything that multiplies (`yaml_values.py`). Next: `keda_py/validation/documents.py` and
`scalers/shared/location.py`.
"""
