"""Measurements: `python -m tests.bench` (or `make bench`). Nothing here is asserted; figures depend on the machine.

One file per bench, with `async def run(options, say)`; `world.py` starts redis-server, the embedded cluster and the
operator as processes of their own, `load.py` asks over HTTPS, `figures.py` counts.
"""
