"""Bounds on text that sources answer and tenants write, so that no text stops the operator.

In: bytes on their way into the HTTP client (`ledger.py` bounds how many a process holds, and divides the room between
tenants), and text that a scaler has received. Out: plain values. `bounds.py` is the entry point; small text is parsed
in place, large text by a separate process with limits on CPU and memory (`workers.py`, `process.py`; `worker.py` runs
there). `work_context.py` names the tenant of the work at hand, and `fairness.py` divides between tenants. Next in the
flow: `keda_py/sdk/context.py`, which offers it to scalers. Rule: this file and `worker.py` import almost nothing,
because the worker process starts with them.
"""
