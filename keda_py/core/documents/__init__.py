"""YAML and JSON that others wrote, read within bounds: the guards that validation, vaults and scalers share.

In: any text. Out: events no deeper than allowed, with scalars of the types that Kubernetes knows (`yaml_guard.py`), or
one plain value without anything that multiplies (`yaml_values.py`); JSON of no more parts than are cheap to read
(`json_guard.py`), or one value of an answer (`json_values.py`). Next: `keda_py/validation/documents.py` and
`scalers/shared/answers/location.py`.
"""
