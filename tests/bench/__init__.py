"""Measurements: `python -m tests.bench` (or `make bench`). Nothing here is asserted; figures depend on the machine.

One file per bench, whose `run(options, say)` yields a row of figures a phase; lab/stand.py starts redis-server, a cluster
and the operator as processes of their own, lab/load.py asks over HTTPS, lab/figures.py counts.
"""
