"""Simulations: a ScaledObject replayed over metrics, with the operator's own decisions and the HPA's arithmetic.

In: versions of an object (`subject.py`) and what its triggers would read (`sources.py`). Out: counts over time
(`recording.py`) and figures made of them. `replay/engine` moves time; every decision is the core's. Pure: no clock, no
files, no sockets.
"""
