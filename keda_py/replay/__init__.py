"""Time passes over plans: what the core decides at each instant at which something may change. The engine is pure.

In: a plan, one a namespace, and a period. Out: a `Preview` of timelines. To read: `plan.py`, `objects.py`,
`environments.py`, `namespaces.py`, `timeline.py`; `reading/` makes plans of manifests. Next: `preview/pages/`.
"""
