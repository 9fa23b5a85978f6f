"""The SDK for scaler authors, and how the engine finds and lends to scalers.

In: a trigger's metadata, its parameters, what the engine lends (`context.py`). Out: a scaler (`scaler.py`), found by
`registry.py`; `reference.py` and `checks.py` read what scalers declare of themselves. `readings/` asks them.
"""
