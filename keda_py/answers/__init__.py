"""What sources answer and tenants write, held and read within bounds, so that no text stops the operator.

In: bytes on their way into the HTTP client (`ledger.py` bounds how many of them a process holds, and shares the room
between tenants), and text that a scaler has in its hand. Out: plain values. `bounds.py` is the front door; small text
is read where it is, large text by a process of its own with limits on CPU and memory (`workers.py`, `process.py`;
`worker.py` is what runs there). Next in the flow: `keda_py/sdk/context.py`, which lends it to scalers.

Rule: this file and `worker.py` import almost nothing, since the other process starts with them.
"""
