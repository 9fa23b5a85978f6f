"""Environments and requests: what a decision wants of the slices of its Services, and the Overrides by requests.

In: decisions, and reports of wakers. Out: wishes for `operator/waking/`, Overrides. Read `settling.py` first.
"""
