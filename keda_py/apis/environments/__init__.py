"""Kinds of `keda-py.dev`: calendars, environments, overrides and scaling schedules, as users write them.

Next: `core/environment/`, which evaluates these objects. `kinds/environments.py` has their rows.
"""
