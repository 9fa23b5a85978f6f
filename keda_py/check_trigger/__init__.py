"""`keda-py check-trigger`: one trigger built as the operator builds it, read once, from the user's machine.

In: the manifests of files, and the objects of a cluster that they refer to (`references.py`). Out: one `TriggerTrial`
for each trigger (`trial.py`), which `cli/check_trigger.py` prints.
"""
