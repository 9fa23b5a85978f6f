"""`keda-py check-trigger`: one trigger built as the operator builds it, read once, from the user's machine.

In: the manifests of files, and what they refer to in a cluster (`references.py`). Out: one `Answer` for each trigger
(`trial.py`), which `cli/check_trigger.py` prints.
"""
