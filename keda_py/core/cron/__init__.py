"""Schedules: cron expressions (`fields.py`) and the windows that a pair of them opens (`windows.py`).

In: expressions and a time zone. Out: whether it is open at a moment, and when that changes next; read by the cron
scaler.
"""
