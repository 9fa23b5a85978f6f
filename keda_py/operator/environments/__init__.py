"""Environments: groups of workloads that sleep at night and wake in order, by calendars and Overrides.

In: the kinds of `keda-py.dev` and the state of workloads (`known/`, `members.py`). Out: counts, suspended CronJobs,
overlays of ScaledObjects, status and Events. `core/environment/` decides; read `kind.py` first.
"""
