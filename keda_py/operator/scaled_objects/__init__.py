"""ScaledObjects: reconciled to an HPA and a scale loop, looked at, finalized.

In: a due key from `controller/`. `reconcile.py` is the whole-state pass, `look.py` observes, decides and applies.
Out: writes to the API server, Events, a status and an entry of the decision record.
"""
