"""Environments: what sleeps together at night and wakes in order, by calendars and Overrides.

In: the kinds of `keda-py.dev` and what is seen of workloads (`known/`, `members.py`). Out: counts,
suspended CronJobs, overlays of ScaledObjects, status and Events. `core/environment/` decides; read `kind.py` first.
"""
