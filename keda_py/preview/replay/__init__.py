"""Time passes over plans: what the core decides at each instant at which something may change. Pure.

In: a plan, one a namespace, and a period. Out: a `Preview` of timelines. To read: `plan.py`, `objects.py`,
`environments.py`, `namespaces.py`, `timeline.py`. Next: `preview/pages/`.
"""
