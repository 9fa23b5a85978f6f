"""Untrusted YAML and JSON, parsed within bounds: the guards that validation, vaults and scalers share.

In: any text. Out: events of a bounded depth, with scalars of the types that Kubernetes knows (`yaml_guard.py`), or one
plain value in which nothing multiplies (`yaml_values.py`); JSON of a bounded number of parts (`json_guard.py`), or one
value of an answer (`json_values.py`). Next: `keda_py/validation/documents.py` and `scalers/shared/answers/location.py`.
"""
