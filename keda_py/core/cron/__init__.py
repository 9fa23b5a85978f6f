"""Schedules: cron expressions (`fields.py`) and the windows that a pair of them opens (`windows.py`).

In: expressions and a time zone. Out: whether a window is open at a moment, and when that changes next, for the cron
scaler. For people, without a moment: the openings of a week (`openings.py`), in words (`words.py`), and which
boundaries summer time skips (`windows.py`).
"""
