"""The kinds of `keda-py.dev`: calendars, environments, overrides and scaling schedules, as they are written.

Next: `core/environment/`, which decides what these objects ask for. `kinds/environments.py` has their rows.
"""
