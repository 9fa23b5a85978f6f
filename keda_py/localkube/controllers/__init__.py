"""The controllers of a real control plane, run on events of the store.

`shared/loop.py` hands each event to the controllers that it concerns and syncs their keys one at a time; `cluster.py`
of the package above lists them. A controller reads and writes through the store alone, synchronously; only the HPA
controller, which asks for metrics over HTTPS, is asynchronous. Nothing here polls: time passes through the `Clock`'s
timers.
"""
